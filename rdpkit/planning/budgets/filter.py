"""A budget that is spent release by release, however the releases are chosen."""

from __future__ import annotations

import math
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Any

from rdpkit import _validate, analysis
from rdpkit.accountants.event_tree import check_adjacency
from rdpkit.adjacency import Adjacency
from rdpkit.events import Event
from rdpkit.events.composition import composed_of
from rdpkit.formats.numbers import how_many
from rdpkit.formats.tables import event_from_table, event_to_table
from rdpkit.planning.budgets.ledger import LedgerFile
from rdpkit.planning.budgets.order_mixture import (
    OrderMixture,
    around,
    charged,
    equal_weights,
    odometer_epsilon,
    usual_centre,
)
from rdpkit.planning.budgets.rules import (
    COMPOSITIONS,
    BasicRule,
    BudgetRule,
    LimitRule,
    RenyiRule,
    largest_limit,
)

_VERSION = 1  # Of the file
_LARGEST_COUNT = 10**12  # Of releases that :meth:`affordable` tries
_NO_COUNT = 0


class BudgetExceededError(ValueError):
    """A release was refused because it would exceed the budget. Nothing was spent.

    Parameters
    ----------
    message : str
        What was refused, and what is left.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetLeft:
    """What is left of a budget."""

    epsilon: float
    """The budget's epsilon less the smallest epsilon of a budget that would have allowed the same
    releases. It says how much is left, and is no guarantee for what may still be spent, because
    epsilons do not add up.
    """
    noise_multiplier: float | None
    """One more Gaussian release is allowed if its noise is at least this many times its
    sensitivity; inf if none is. None where Gaussian releases are not charged for.
    """
    delta: float  # What is left for releases that are spent with a delta


@dataclass(frozen=True, slots=True)
class Charge:
    """One release that was charged."""

    event: Event  # What was released
    count: int  # How many times
    delta: float  # The delta that each release was given
    label: str  # What the user calls it


class PrivacyFilter:
    """A budget for releases that are chosen as one goes, which refuses whatever exceeds it.

    Guarantee
    ---------
    All releases that :meth:`spend` allows are, together, (epsilon, delta)-DP under ``adjacency``.
    Each of them may be chosen after the outputs of earlier ones were seen, *its parameters
    included*, and one may stop at any time, unless ``composition`` is "fixed-schedule".

    Assumes
    -------
    Each release is charged before it is made, with an event that describes it, and whatever is
    released from the data is charged. Each is finished before the next one is chosen.

    Parameters
    ----------
    epsilon, delta : float
        The budget: epsilon finite and above 0, delta in (0, 1).
    adjacency : Adjacency or str
        The neighbouring relation.
    composition : {"renyi", "zcdp", "gaussian", "basic", "fixed-schedule"}
        What adds up. "renyi": Renyi divergences at several orders, for all events that have them.
        "zcdp": rho. "gaussian": 1 / noise multiplier^2, for Gaussian events alone, without any
        loss. "basic": epsilons. "fixed-schedule": ordinary composition by the tightest accountant;
        it holds only if neither events nor their number depend on any output.
    orders : float or sequence of float, optional
        For "renyi": the Renyi orders, with equal weights. A single order costs nothing, and several
        cost something. By default 47 orders around the one that is best for Gaussian noise.
    planned : Event, optional
        For "renyi", in place of ``orders``: the single order that is best for this event, which is
        what one intends to release in all. Other events can be spent, too.
    delta_for_events : float
        The part of delta that is set aside for releases that are spent with a ``delta`` of their
        own; less than delta.

    Source
    ------
    Feldman and Zrnic 2021 (arXiv 2008.11193); Whitehouse, Ramdas, Rogers and Wu 2023 (arXiv
    2203.05481); Smith and Thakurta 2022 (arXiv 2210.17520) for "gaussian"; Rogers, Roth, Ullman and
    Vadhan 2016 (arXiv 1605.08294) for "basic". Proofs: theory page "Budgets that are spent as one
    goes".

    Examples
    --------
    >>> import rdpkit
    >>> budget = rdpkit.PrivacyFilter(epsilon=1.0, delta=1e-5, adjacency="add_or_remove_one")
    >>> query = rdpkit.Gaussian(noise_std=20.0, record_norm=1.0)
    >>> for _ in range(10):
    ...     _ = budget.spend(query)
    >>> budget.affordable(query)
    10
    """

    def __init__(
        self,
        *,
        epsilon: float,
        delta: float,
        adjacency: Adjacency | str,
        composition: str = "renyi",
        orders: float | Sequence[float] | None = None,
        planned: Event | None = None,
        delta_for_events: float = 0.0,
    ) -> None:
        relation = Adjacency.parse(adjacency)
        checked = _validate.positive("epsilon", epsilon)
        whole = _validate.open_probability("delta", delta)
        kept = _validate.non_negative("delta_for_events", delta_for_events)
        _validate.choice("composition", composition, COMPOSITIONS)
        rest = float(Fraction(whole) - _with_room(kept))
        if not rest > 0.0:
            raise _validate.fail("delta_for_events", f"to be below delta = {whole!r}", kept)
        if Fraction(rest) + _with_room(kept) > Fraction(whole):
            rest = math.nextafter(rest, 0.0)
        if composition != "renyi" and (orders is not None or planned is not None):
            raise ValueError("Expected orders and planned only where composition is 'renyi'.")
        settings: dict[str, Any] = {
            "version": _VERSION,
            "epsilon": checked,
            "delta": whole,
            "adjacency": relation.value,
            "composition": composition,
            "delta_for_events": kept,
            "delta_for_rule": rest,
        }
        if composition == "renyi":
            mixture = _mixture(orders, planned, checked, rest, relation)
            settings |= {"orders": list(mixture.orders), "weights": list(mixture.weights)}
        elif composition in ("zcdp", "gaussian"):
            settings["limit"] = largest_limit(
                composition, epsilon=checked, delta=rest, adjacency=relation
            )
        self._begin(settings)

    def _begin(self, settings: dict[str, Any]) -> None:
        self._settings = settings
        self.epsilon: float = settings["epsilon"]
        self.delta: float = settings["delta"]
        self.adjacency = Adjacency.parse(settings["adjacency"])
        self.composition: str = settings["composition"]
        self._rule = _rule(settings)
        self._spendings: list[Charge] = []
        self._charges: list[tuple[float, ...]] = []
        self._total: list[Fraction | float] = []
        self._deltas = Fraction(0)
        self._ledger: LedgerFile | None = None
        self._mutex = threading.RLock()
        self._held = False
        self._blocks: list[Any] = []

    # What has been spent.

    @property
    def spendings(self) -> tuple[Charge, ...]:
        """Everything that was charged, in order."""
        with self._up_to_date():
            return tuple(self._spendings)

    @property
    def used(self) -> float:
        """The smallest epsilon of a filter of this kind that would have allowed the same releases.

        It says how much of the budget is used. It is a guarantee only for a filter that was set up
        with it in advance; what holds at all times is :meth:`running_epsilon`.
        """
        with self._up_to_date():
            if not self._spendings:
                return 0.0
            if self._rule is None:
                return self._schedule_epsilon(self._spendings)
            return self._rule.used(self._total)

    @property
    def remaining(self) -> BudgetLeft:
        """What is left."""
        with self._up_to_date():
            kept = Fraction(self._settings["delta_for_events"])
            return BudgetLeft(
                epsilon=max(self.epsilon - self.used, 0.0),
                noise_multiplier=self._smallest_noise(),
                delta=max(float(kept - self._deltas), 0.0),
            )

    def running_epsilon(self) -> float:
        """An upper bound on the privacy loss so far that holds at all times at once.

        Guarantee
        ---------
        With probability at least 1 - delta the privacy loss is, at every time, at most what this
        method returns at that time. For "renyi" alone, without ``delta_for_events``.

        Raises
        ------
        ValueError
            If the composition is another one.
        """
        if not isinstance(self._rule, RenyiRule) or self._settings["delta_for_events"]:
            raise ValueError(
                "Expected composition to be 'renyi', without delta_for_events, where a running "
                f"epsilon is asked for, got {self.composition!r}."
            )
        with self._up_to_date():
            total = self._total or [Fraction(0)] * len(self._rule.mixture.orders)
            return odometer_epsilon(self._rule.mixture, total, delta=self.delta)

    def fixed_schedule_epsilon(self) -> float:
        """Epsilon by ordinary composition, which holds only if all was fixed in advance.

        Compare it with :attr:`used` to see what adaptivity costs.
        """
        with self._up_to_date():
            return self._schedule_epsilon(self._spendings) if self._spendings else 0.0

    def _schedule_epsilon(self, spendings: Sequence[Charge]) -> float:
        counts: Counter[Event] = Counter()
        for one in spendings:
            counts[one.event] += one.count
        event = composed_of(counts)
        assert event is not None
        delta = self._settings["delta_for_rule"]
        return analysis.epsilon(event, delta=delta, adjacency=self.adjacency).epsilon

    # Charge.

    def spend(self, event: Event, *, count: int = 1, delta: float = 0.0, label: str = "") -> Charge:
        """Charge a release before it is made.

        If the filter was saved or loaded, the charge is on the disk when this method returns, and
        what other processes spent of the same budget is counted.

        Parameters
        ----------
        event : Event
            What will be released.
        count : int
            How many times; all of them are charged, or none.
        delta : float
            If it is above 0, each release is charged as one of which only (epsilon', delta)-DP is
            known, with the event's certified epsilon', and delta is paid from ``delta_for_events``.
            For events without finite Renyi divergences.
        label : str
            Kept with the charge.

        Returns
        -------
        Charge
            What was charged.

        Raises
        ------
        BudgetExceededError
            If it would exceed the budget. Nothing is spent, and smaller releases may follow.
        ValueError
            If the event cannot be charged for in this way of composing.
        OSError
            If the charge cannot be written down. Then nothing may be released.
        """
        _validate.one_of_a_kind("event", event, Event)
        times = _validate.integer("count", count)
        share = _validate.target_delta("delta", delta)
        check_adjacency(event, self.adjacency)
        spending = Charge(event, times, share, _validate.one_of_a_kind("label", label, str))
        charge = self._charge(event, share)
        with self._up_to_date(writing=True):
            if not self._allows(spending, charge):
                raise self._refusal(spending, charge)
            if self._ledger is not None:
                self._ledger.add(_as_entry(spending, charge))
            self._take(spending, charge)
        return spending

    def affordable(self, event: Event, *, delta: float = 0.0) -> int:
        """How many times the event could be spent now, at most 10^12.

        Raises
        ------
        ValueError
            If the event cannot be charged for.
        """
        charge = self._charge(event, delta)
        with self._up_to_date():
            return self._largest_count(event, delta, charge)

    def _charge(self, event: Event, delta: float) -> tuple[float, ...]:
        if self._rule is None:
            if delta > 0.0:
                raise ValueError("Expected delta only where composition is not 'fixed-schedule'.")
            return ()
        found = self._rule.charge(event, delta)
        if all(math.isinf(number) for number in found):
            raise ValueError(
                f"Expected event to be one that a budget with composition {self.composition!r} "
                f"can charge for, got {event!r}: {self._rule.unknown(event)}."
            )
        return found

    def _allows(self, spending: Charge, charge: tuple[float, ...]) -> bool:
        deltas = self._deltas + spending.count * Fraction(spending.delta)
        if deltas > _with_room(self._settings["delta_for_events"]):
            return False
        if self._rule is None:
            return self._schedule_epsilon([*self._spendings, spending]) <= self.epsilon
        return self._rule.holds(self._with(charge, spending.count))

    def _with(self, charge: tuple[float, ...], count: int) -> list[Fraction | float]:
        return charged(self._total or [Fraction(0)] * len(charge), charge, count)

    def _take(self, spending: Charge, charge: tuple[float, ...]) -> None:
        self._total = self._with(charge, spending.count)
        self._deltas += spending.count * Fraction(spending.delta)
        self._spendings.append(spending)
        self._charges.append(charge)

    def _largest_count(self, event: Event, delta: float, charge: tuple[float, ...]) -> int:
        def fits(count: int) -> bool:
            return self._allows(Charge(event, count, delta, ""), charge)

        low, high = _NO_COUNT, 1
        while high <= _LARGEST_COUNT and fits(high):
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if fits(middle) else (low, middle)
        return min(low, _LARGEST_COUNT)

    def _refusal(self, spending: Charge, charge: tuple[float, ...]) -> BudgetExceededError:
        fewer = self._largest_count(spending.event, spending.delta, charge)
        left = self.remaining
        words = [
            f"{spending.event!r} x {spending.count} exceeds what is left of epsilon = "
            f"{self.epsilon!r}, delta = {self.delta!r}: {self.used:.6g} of epsilon is used.",
            "Nothing was spent.",
        ]
        if fewer:
            words.append(f"It could be spent {how_many(fewer, 'time')}.")
        if left.noise_multiplier is not None and math.isfinite(left.noise_multiplier):
            words.append(
                "One Gaussian release fits if its noise is at least "
                f"{left.noise_multiplier:.4g} times its sensitivity."
            )
        if spending.delta > 0.0:
            words.append(f"{left.delta:.4g} is left for releases with a delta of their own.")
        return BudgetExceededError(" ".join(words))

    def _smallest_noise(self) -> float | None:
        """The smallest noise multiplier of a Gaussian release that is allowed."""
        rule = self._rule
        if isinstance(rule, RenyiRule):
            factors = rule.mixture.orders
        elif isinstance(rule, LimitRule):
            factors = (1.0 if rule.kind == "zcdp" else 2.0,)
        else:
            return None

        def fits(rho: float) -> bool:
            up = tuple(math.nextafter(factor * rho, math.inf) for factor in factors)
            return rule.holds(self._with(up, 1))

        low, high = math.log(1e-30), math.log(1e12)
        if not fits(math.exp(low)):
            return math.inf
        for _ in range(60):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if fits(math.exp(middle)) else (low, middle)
        return math.sqrt(0.5 / math.exp(low)) * (1.0 + 1e-12)

    # On the disk.

    def save(self, path: str | Path) -> PrivacyFilter:
        """Write the budget to a new file, which every later charge is added to at once.

        Raises
        ------
        FileExistsError
            If there is a file of that name.
        ValueError
            If the budget is kept in a file already.
        OSError
            If it cannot be written.
        """
        if self._ledger is not None:
            raise ValueError(
                f"This budget is kept in {self._ledger.path}; a copy could be spent a second time."
            )
        self._ledger = LedgerFile.create(Path(path), self.entries())
        return self

    def entries(self) -> list[dict[str, Any]]:
        """The budget and its charges as plain values, for :meth:`from_entries`."""
        charged = zip(self._spendings, self._charges, strict=True)
        return [self._settings, *(_as_entry(one, charge) for one, charge in charged)]

    def last_entry(self) -> dict[str, Any]:
        """The last of :meth:`entries`."""
        if not self._spendings:
            return self._settings
        return _as_entry(self._spendings[-1], self._charges[-1])

    @classmethod
    def from_entries(cls, entries: Sequence[Mapping[str, Any]]) -> PrivacyFilter:
        """A budget from what :meth:`entries` has made of it; it is in no file.

        Raises
        ------
        ValueError
            If the first entry is no budget.
        """
        first = entries[0] if entries else {}
        # A ledger of releases has lines and a version, too.
        if first.get("version") != _VERSION or "composition" not in first:
            raise ValueError("expected a budget that PrivacyFilter.save wrote.")
        found = cls.__new__(cls)
        found._begin(dict(entries[0]))
        for entry in entries[1:]:
            found.take(entry)
        return found

    def take(self, entry: Mapping[str, Any]) -> None:
        """Count a charge of :meth:`entries` that was allowed before, without asking again."""
        self._take(*_from_entry(entry))

    @classmethod
    def load(cls, path: str | Path) -> PrivacyFilter:
        """The budget of a file, with all that was spent of it.

        Raises
        ------
        ValueError
            If the file is not a budget, or is damaged.
        OSError
            If it cannot be read.
        """
        place = Path(path)
        if not place.exists():
            raise FileNotFoundError(
                f"{place}: there is no such budget; 'rdpkit ledger new' makes one."
            )
        ledger = LedgerFile(place)
        with ledger.locked():
            entries = ledger.new_entries()
        try:
            found = cls.from_entries(entries)
        except ValueError as error:
            raise ValueError(f"{place}: {error}") from None
        found._ledger = ledger
        return found

    @contextmanager
    def _up_to_date(self, *, writing: bool = False) -> Iterator[None]:
        """With what others spent, while no other thread and no other process spends."""
        with self._mutex:
            if self._ledger is None or self._held:
                yield
                return
            with self._ledger.locked(writing=writing):
                for charge in self._ledger.new_entries(_from_entry):
                    self._take(*charge)
                self._held = True
                try:
                    yield
                finally:
                    self._held = False

    def __enter__(self) -> PrivacyFilter:
        """Keep other processes from spending until the block ends."""
        held = self._up_to_date(writing=True)
        held.__enter__()
        self._blocks.append(held)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Let others spend again. What was charged stays charged, also after an error."""
        self._blocks.pop().__exit__(None, None, None)

    def __repr__(self) -> str:
        """The budget and how much of it is used."""
        return (
            f"PrivacyFilter(epsilon={self.epsilon!r}, delta={self.delta!r}, "
            f"adjacency={self.adjacency.value!r}, composition={self.composition!r}; "
            f"{how_many(len(self._spendings), 'charge')}, {self.used:.6g} of epsilon used)"
        )


def _with_room(delta: float) -> Fraction:
    """A delta with room for what the deltas that add up to it lost when they were rounded."""
    return Fraction(delta) * (1 + Fraction(1, 10**12))


def _mixture(
    orders: float | Sequence[float] | None,
    planned: Event | None,
    epsilon: float,
    delta: float,
    adjacency: Adjacency,
) -> OrderMixture:
    """The orders of a Renyi filter."""
    if orders is not None and planned is not None:
        raise ValueError("Expected at most one of orders and planned.")
    if orders is not None:
        checked = _validate.orders("orders", orders)
        return equal_weights(sorted(set(checked.tolist())))
    if planned is None:
        return around(usual_centre(epsilon, delta))
    _validate.one_of_a_kind("planned", planned, Event)
    best = analysis.epsilon(
        planned, delta=delta, adjacency=adjacency, bound=analysis.BEST_RDP, conversion="balle2020"
    )
    if best.order is None:
        raise _validate.fail("planned", "to be an event with finite Renyi divergences", planned)
    return equal_weights([best.order])


def _rule(settings: dict[str, Any]) -> BudgetRule | None:
    """The rule of a budget; None where the whole schedule is accounted for each time."""
    adjacency = Adjacency.parse(settings["adjacency"])
    composition, delta = settings["composition"], settings["delta_for_rule"]
    if composition == "renyi":
        mixture = OrderMixture(tuple(settings["orders"]), tuple(settings["weights"]))
        return RenyiRule(
            adjacency=adjacency, epsilon=settings["epsilon"], delta=delta, mixture=mixture
        )
    if composition in ("zcdp", "gaussian"):
        return LimitRule(
            kind=composition, adjacency=adjacency, delta=delta, limit=settings["limit"]
        )
    if composition == "basic":
        return BasicRule(adjacency=adjacency, epsilon=settings["epsilon"])
    return None


def _as_entry(spending: Charge, charge: tuple[float, ...]) -> dict[str, Any]:
    """A charge as plain values; infinite ones are null."""
    return {
        "event": event_to_table(spending.event),
        "count": spending.count,
        "delta": spending.delta,
        "label": spending.label,
        "charge": [None if math.isinf(number) else number for number in charge],
    }


def _from_entry(entry: Mapping[str, Any]) -> tuple[Charge, tuple[float, ...]]:
    spending = Charge(
        event_from_table(entry["event"]), entry["count"], entry["delta"], entry["label"]
    )
    charge = tuple(math.inf if number is None else float(number) for number in entry["charge"])
    return spending, charge
