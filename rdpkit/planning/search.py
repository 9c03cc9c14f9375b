"""How many records to mix, how often, and with which noise: the search for the best choice."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdpkit import _validate
from rdpkit.accountants.divergence_bounds import find_published
from rdpkit.adjacency import Adjacency, needed
from rdpkit.analysis import BEST
from rdpkit.calibration import Calibration, CalibrationError, UnreachableTargetError, calibrate
from rdpkit.events import MECHANISMS, Event
from rdpkit.events.mixing import Mixing
from rdpkit.formats.columns import as_csv
from rdpkit.formats.records import as_plain
from rdpkit.guarantee import Guarantee, Target


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One way to spend the target: how much is mixed, how often, and the least noise that does."""

    order_of_mixture: int  #: Records in a release (l)
    releases: int
    """Number of releases (T); where every class has its own, of the class that has fewest."""
    label_share: float | None
    """The part of what a record may leak that is spent on its label; None where labels leak
    nothing.
    """
    noise: float
    """Standard deviation of the noise on the features, calibrated; inf if no noise meets the
    target.
    """
    label_noise: float | None
    """Standard deviation of the noise on the labels; None where they have none."""
    noise_of_mean: float
    """Standard deviation of the noise on the mean of the records (for a sum, ``noise`` over l)."""
    epsilon: float  #: What is guaranteed, at most the target; inf if no noise meets it
    mean: float  #: The two signal-to-noise ratios of a release, as :func:`rdpkit.plan` defines them
    variation: float
    """The two signal-to-noise ratios of a release, as :func:`rdpkit.plan` defines them."""
    total_mean: float  #: ``releases`` times them
    total_variation: float  #: ``releases`` times them
    score: float  #: What is maximised
    reason: str = ""  #: Why no noise meets the target; empty if one does

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        found: dict[str, Any] = as_plain(self)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The best choice for a target, and all that were tried."""

    best: Choice  #: The one of the highest score
    event: Event  #: The event of that choice
    guarantee: Guarantee  #: Of that event; its epsilon is at most ``target_epsilon``
    target_epsilon: float  #: What was asked for
    objective: str  #: What was maximised
    choices: tuple[Choice, ...]
    """All that were tried, by releases, label share and order of mixture."""
    notes: tuple[str, ...] = ()  #: What a reader should know about the search

    def columns(self) -> dict[str, NDArray[np.float64]]:
        """The numbers of all choices as arrays, NaN where there is none."""
        names = [field.name for field in fields(Choice) if field.name != "reason"]
        found = {}
        for name in names:
            values = [getattr(choice, name) for choice in self.choices]
            found[name] = np.array([math.nan if v is None else float(v) for v in values])
        return found

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "mechanism": self.event.mechanism,
            "target_epsilon": self.target_epsilon,
            "objective": self.objective,
            "best": self.best.as_dict(),
            "guarantee": self.guarantee.as_dict(),
            "choices": [choice.as_dict() for choice in self.choices],
            "notes": list(self.notes),
        }

    def as_csv(self) -> str:
        """A row for every choice; a cell is empty where there is no number."""
        names = [field.name for field in fields(Choice)]
        return as_csv({name: [getattr(choice, name) for choice in self.choices] for name in names})


OBJECTIVES: Mapping[str, str] = MappingProxyType(
    {
        "variation": "signal-to-noise ratio of a release, the signal being how records differ",
        "mean": "signal-to-noise ratio of a release, the signal being the mean of the records",
        "total-variation": "variation, times the number of releases",
        "total-mean": "mean, times the number of releases",
    }
)
"""What can be maximised."""

Progress = Callable[[int, int], None]
"""Called with the number of choices tried, and of those known to be tried."""

_MOST_CHOICES = 100_000


@_validate.by_name(adjacency=needed())
def plan(
    event: Event,
    *,
    target_epsilon: float,
    delta: float,
    adjacency: Adjacency | str,
    objective: str = "variation",
    orders_of_mixture: Sequence[int] | None = None,
    releases: Sequence[int] | None = None,
    label_shares: Sequence[float] | None = None,
    label_weight: float = 0.5,
    bound: str = BEST,
    progress: Progress | None = None,
) -> Plan:
    r"""The order of mixture, releases and noise of the highest signal-to-noise ratio at a target.

    Guarantee
    ---------
    The event of the plan is (target_epsilon, delta)-DP under ``adjacency``, certified as
    :func:`rdpkit.calibrate` says; so is every choice in the table. For each number of releases and
    label share the order of mixture is the best of all that were tried; where none are listed, of a
    geometric grid refined around its best point until both neighbouring integers are worse.

    Assumes
    -------
    What the guarantee's ``assumptions`` list.

    Parameters
    ----------
    event : DPMix, ClassWiseDPMix, DPCDA, LDPDC or NDPDC
        What is to be released. Its order of mixture (group size), releases and noises are replaced;
        its number of releases is used where ``releases`` is not given.
    target_epsilon : float
        In nats; finite and > 0.
    delta : float
        In (0, 1).
    adjacency : Adjacency or str
        The neighbouring relation.
    objective : {"variation", "mean", "total-variation", "total-mean"}
        A release is a mean of l of N records plus noise of standard deviation s in each coordinate
        (for a sum, the noise over l). With u the clip norm, or the range of a coordinate,

        * "mean" = u^2 / s^2. Times \|mu\|^2 / (d u^2), mu the mean of the records in d dimensions,
          it is the power of the mean over that of the noise.
        * "variation" = (1/l - 1/N) u^2 / s^2. A mean of l records drawn without replacement has
          1/l - 1/N of their variance. So times v / u^2, v the variance of a record's coordinate, it
          is the power of what tells one release from another over that of the noise.

        Both factors are the data's own and the same for all choices: the best choice does not
        depend on them, and no data are needed to find it. "total-mean" and "total-variation" are T
        times as much, T the number of releases (of a class): what all of them together say. N is
        the size of the smallest class.
    orders_of_mixture : sequence of int, optional
        The values of l to try; by default all that may be the best, by a search.
    releases : sequence of int, optional
        The numbers of releases to try, of each class where they are per class; by default the
        event's own. More releases always lower the ratio of a single one.
    label_shares : sequence of float, optional
        For DPMix, parts in (0, 1) of dx/sx^2 + 2/sy^2 to spend on labels; by default
        ``label_weight``, which is the best one. Where a class is known beforehand its label leaks
        nothing, and gets no noise.
    label_weight : float
        For DPMix, w in (0, 1): what is maximised is the product of the features' ratio to the power
        1 - w and of the labels' to the power w, the labels' being the same with u = 1 and sy.
    bound : str
        As for :func:`rdpkit.calibrate`.
    progress : callable, optional
        Called with the number of choices tried so far, and of those known to be tried.

    Returns
    -------
    Plan
        The best choice with its event and guarantee, and the table of all choices.

    Raises
    ------
    UnreachableTargetError
        A ValueError: the target is out of reach for every choice.
    ValueError
        If an argument is outside of its range.
    ArithmeticError
        If a number cannot be computed or certified.

    Source
    ------
    rdpkit, docs page "Calibration"; the question is that of Saha, Tonoy and Imtiaz, "DP-CDA",
    section 5.

    Examples
    --------
    >>> import rdpkit
    >>> event = rdpkit.DPCDA(class_sizes=[600, 600], samples_per_class=1, order_of_mixture=1,
    ...                      clip_norm=1.0, feature_noise=1.0, label_noise=0.0)
    >>> found = rdpkit.plan(event, target_epsilon=1.0, delta=1e-5, adjacency="add_or_remove_one",
    ...                     orders_of_mixture=[4, 16])
    >>> found.best.order_of_mixture, found.guarantee <= 1.0
    (16, True)
    """
    mixing = event.mixing if isinstance(event, Event) else None
    if mixing is None:
        known = [kind.__name__ for kind in MECHANISMS.values() if kind.mixing is not None]
        raise _validate.fail("event", "to be " + " or ".join(known), event)
    _validate.choice("objective", objective, OBJECTIVES)
    relation = Adjacency.parse(adjacency)
    weight = _validate.open_probability("label_weight", label_weight)
    shares = _label_shares(event, mixing, label_shares, weight)
    numbers: Sequence[Any] = [None]
    if releases is not None:
        numbers = sorted(set(_validate.integers("releases", releases)))
    orders = _orders(event, mixing, orders_of_mixture)
    counted = mixing.soft_labels or find_published(event, relation, bound) is not None
    if mixing.label_noise is not None and not counted:
        # Labels need no noise, unless a published theorem counts it.
        event = replace(event, **{mixing.label_noise: 0.0})
    search = _Search(
        event=event,
        mixing=mixing,
        target_epsilon=_validate.positive("target_epsilon", target_epsilon),
        target=Target(adjacency=relation, delta=_validate.open_probability("delta", delta)),
        bound=bound,
        objective=objective,
        label_weight=weight,
        progress=progress,
    )
    search.expected = len(numbers) * len(shares) * len(orders)
    if search.expected > _MOST_CHOICES:
        raise _validate.fail(
            "orders_of_mixture, releases and label_shares",
            f"to make at most {_MOST_CHOICES} choices",
            search.expected,
        )
    for number, share in itertools.product(numbers, shares):
        for mixed in reversed(orders):
            search.try_one(number, share, mixed)
        if orders_of_mixture is None:
            search.refine(number, share)
    return search.result()


def _orders(event: Any, mixing: Mixing, given: Sequence[int] | None) -> list[int]:
    """The orders of mixture to begin with: those listed, or powers of two and the largest."""
    highest = mixing.population_of(event)
    if given is None:
        return [*(2**k for k in range(highest.bit_length()) if 2**k < highest), highest]
    found = sorted(set(_validate.integers("orders_of_mixture", given)))
    if found[-1] > highest:
        raise _validate.fail(
            "orders_of_mixture",
            f"to be integers in [1, {highest}] (the records to draw from)",
            given,
        )
    return found


def _label_shares(
    event: Event, mixing: Mixing, given: Sequence[float] | None, weight: float
) -> list[float | None]:
    if given is None:
        return [weight] if mixing.soft_labels else [None]
    if not mixing.soft_labels:
        raise _validate.fail(
            "label_shares", f"to be None: the labels of {event.mechanism} leak nothing", given
        )
    values = list(given)
    if not values:
        raise _validate.fail("label_shares", "to be numbers in (0, 1), at least one", given)
    return [
        _validate.open_probability(f"label_shares[{i}]", value) for i, value in enumerate(values)
    ]


@dataclass(slots=True)
class _Search:
    """What has been tried so far."""

    event: Event
    mixing: Mixing
    target_epsilon: float
    target: Target
    bound: str
    objective: str
    label_weight: float
    progress: Progress | None
    expected: int = 0
    choices: list[Choice] = field(default_factory=list)
    best: Calibration | None = None
    best_choice: Choice | None = None
    reasons: list[str] = field(default_factory=list)
    closest: float = math.inf

    def try_one(self, releases: Any, share: float | None, mixed: int) -> float:
        """Calibrate the noise for one choice; its score."""
        event = self._beginning(releases, mixed)
        if share is not None:
            event = self.mixing.with_label_share(event, share)
        try:
            found = calibrate(
                event,
                target_epsilon=self.target_epsilon,
                delta=self.target.given_delta,
                adjacency=self.target.adjacency,
                parameter=self._noises(event),
                bound=self.bound,
            )
        except CalibrationError as error:
            choice = self._unreached(event, share, mixed, str(error))
            self.closest = min(self.closest, error.limit)
        else:
            choice = self._choice(found, share, mixed)
            if self.best_choice is None or choice.score > self.best_choice.score:
                self.best, self.best_choice = found, choice
        self.choices.append(choice)
        if self.progress is not None:
            self.progress(len(self.choices), max(self.expected, len(self.choices)))
        return choice.score

    def _beginning(self, releases: Any, mixed: int) -> Event:
        """The event of a choice with about the noise that it will need."""
        event: Any = self.mixing.with_mixture(self.event, mixed, releases)
        known = [choice for choice in self.choices if math.isfinite(choice.noise)]
        if not known:
            return event  # type: ignore[no-any-return]
        near = min(known, key=lambda c: abs(math.log(c.order_of_mixture / mixed)))
        # At low orders of mixture l the noise on a mean is in proportion to 1/l, and it levels off
        # at higher ones. Starting with too much noise is faster than starting with too little.
        growth = 1.0 if self.mixing.is_sum else max(near.order_of_mixture / mixed, 1.0)
        return replace(event, **{self.mixing.noise: near.noise * growth})  # type: ignore[no-any-return]

    def _noises(self, event: Any) -> str | tuple[str, str]:
        """What is calibrated: both noises where both count, else that of the features."""
        name = self.mixing.label_noise
        if name is None or getattr(event, name) == 0.0:
            return self.mixing.noise
        return self.mixing.noise, name

    def refine(self, releases: Any, share: float | None) -> None:
        """Try orders of mixture between the best one and its neighbours, until there are none."""
        number = self.mixing.releases_of(self.mixing.with_mixture(self.event, 1, releases))
        while True:
            tried = {
                choice.order_of_mixture: choice.score
                for choice in self.choices
                if choice.releases == number and choice.label_share == share
            }
            best = max(tried, key=lambda mixed: tried[mixed])
            orders = sorted(tried)
            place = orders.index(best)
            between = []
            for side in (place - 1, place + 1):
                if 0 <= side < len(orders) and abs(orders[side] - best) > 1:
                    middle = round(math.sqrt(orders[side] * best))
                    low, high = sorted((orders[side], best))
                    between.append(min(max(middle, low + 1), high - 1))
            if not between:
                return
            self.expected = max(self.expected, len(self.choices) + len(between))
            for mixed in between:
                self.try_one(releases, share, mixed)

    def _choice(self, found: Calibration, share: float | None, mixed: int) -> Choice:
        event: Any = found.event
        mixing = self.mixing
        noise = mixing.noise_of_mean(event)
        kept = 1.0 / mixed - 1.0 / mixing.population_of(event)
        mean = (mixing.scale_of(event) / noise) ** 2
        label_noise = None if mixing.label_noise is None else getattr(event, mixing.label_noise)
        weight = self.label_weight if mixing.soft_labels else 0.0
        if weight and label_noise is not None:
            mean = mean ** (1.0 - weight) * label_noise ** (-2.0 * weight)
        number = mixing.releases_of(event)
        ratios = {
            "mean": mean,
            "variation": kept * mean,
            "total-mean": number * mean,
            "total-variation": number * kept * mean,
        }
        return Choice(
            order_of_mixture=mixed,
            releases=number,
            label_share=share,
            noise=float(getattr(event, mixing.noise)),
            label_noise=label_noise,
            noise_of_mean=noise,
            epsilon=found.guarantee.epsilon,
            mean=mean,
            variation=ratios["variation"],
            total_mean=ratios["total-mean"],
            total_variation=ratios["total-variation"],
            score=ratios[self.objective],
        )

    def _unreached(self, event: Event, share: float | None, mixed: int, reason: str) -> Choice:
        self.reasons.append(reason)
        return Choice(
            order_of_mixture=mixed,
            releases=self.mixing.releases_of(event),
            label_share=share,
            noise=math.inf,
            label_noise=None if self.mixing.label_noise is None else math.inf,
            noise_of_mean=math.inf,
            epsilon=math.inf,
            mean=0.0,
            variation=0.0,
            total_mean=0.0,
            total_variation=0.0,
            score=0.0,
            reason=reason,
        )

    def result(self) -> Plan:
        """The plan."""
        if self.best is None or self.best_choice is None:
            raise UnreachableTargetError(
                f"No choice meets the target. {self.reasons[0]}", limit=self.closest
            )
        tried = [c.order_of_mixture for c in self.choices]
        notes = []
        if self.best_choice.order_of_mixture in (min(tried), max(tried)):
            notes.append("the best order of mixture is at the end of those that were tried")
        return Plan(
            best=self.best_choice,
            event=self.best.event,
            guarantee=self.best.guarantee,
            target_epsilon=self.best.target_epsilon,
            objective=self.objective,
            choices=tuple(
                sorted(
                    self.choices,
                    key=lambda c: (c.releases, c.label_share or 0.0, c.order_of_mixture),
                )
            ),
            notes=tuple(notes),
        )
