"""The audit of claims: does the published formula give the number, and is the number true?"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from enum import StrEnum
from typing import Any

import numpy as np

from rdpkit import Adjacency, Event, GaussianSynthesis, Guarantee
from rdpkit.analysis import (
    BEST,
    BEST_RDP,
    epsilon,
    lower_bound,
    published_bounds,
    published_rdp,
    upper_rdp,
)
from rdpkit.conversions import EPSILON
from rdpkit.guarantee import plain
from rdpkit.loss import Alternative, NoLossDistributionError
from rdpkit.pairs import pair_of
from rdpkit.pairs_synthesis import WeightedRows, attained_pair
from verification.claims import Claim

# Claims that a process takes at a time, and below which one process does.
_CLAIMS_AT_ONCE = 12

# A lower bound from floating-point sums refutes a claim only if it exceeds it by this part of it.
_MARGIN = 1e-6


class Reproduction(StrEnum):
    """Whether the published formula with the stated parameters gives the claimed number."""

    EXACT = "exact"
    DIFFERS = "differs"
    UNDERSPECIFIED = "underspecified"


class Soundness(StrEnum):
    """Whether the claim is true."""

    SOUND = "sound"
    REFUTED = "refuted"
    UNPROVEN = "unproven"


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One side of a claim: a number, and the theorem that it comes from.

    ``epsilon`` is a Renyi divergence where the claim is about one order, else an epsilon at the
    claim's delta.
    """

    bound: str
    epsilon: float
    order: float | None = None
    enclosure: tuple[float, float] | None = None
    rigorous: bool = False
    assumptions: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        found: dict[str, Any] = {"bound": self.bound, "epsilon": plain(self.epsilon)}
        if self.order is not None:
            found["order"] = plain(self.order)
        if self.enclosure is not None:
            found["enclosure"] = [plain(value) for value in self.enclosure]
            found["rigorous"] = self.rigorous
        if self.assumptions:
            found["assumptions"] = list(self.assumptions)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What the audit found about one claim.

    ``pair`` describes the two data sets of the lower bound; ``refutation`` adds delta at the
    claimed epsilon, where the lower bound exceeds the claim.
    """

    claim: Claim
    published: Side | None
    upper: Side | None
    lower: Side | None
    reproduction: Reproduction
    soundness: Soundness
    slack: float | None
    scenarios: tuple[tuple[str, Side], ...]
    notes: tuple[str, ...]
    refutation: tuple[str, ...] = ()
    pair: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON, with the keys of the command line's contract."""
        claim = self.claim
        return {
            "id": claim.id,
            "source": claim.source,
            "mechanism": claim.mechanism,
            "adjacency": claim.adjacency.value,
            "delta": claim.delta,
            "order": claim.order,
            "claimed_epsilon": None if claim.epsilon is None else plain(float(claim.epsilon)),
            "published": None if self.published is None else self.published.as_dict(),
            "upper": None if self.upper is None else self.upper.as_dict(),
            "lower": None if self.lower is None else self.lower.as_dict(),
            "reproduction": self.reproduction.value,
            "soundness": self.soundness.value,
            "slack": None if self.slack is None else plain(self.slack),
            "missing": list(claim.missing),
            "scenarios": [
                {"description": text, "published": side.as_dict()} for text, side in self.scenarios
            ],
            "refutation": list(self.refutation),
            "notes": list(self.notes),
        }


def audit(
    claims: Iterable[Claim],
    *,
    on_claim: Callable[[Claim], None] | None = None,
    workers: int = 1,
) -> Iterator[Finding]:
    """Audit claims, in their order.

    Parameters
    ----------
    claims : iterable of Claim
        What to audit.
    on_claim : callable, optional
        Called with each claim before its finding is waited for, for progress.
    workers : int
        Processes to share the work between; with 1 everything happens in this one.

    Raises
    ------
    ValueError
        If a claim names a bound that does not apply to its event.
    ArithmeticError
        If a number cannot be computed; it is never replaced by a guess.
    """
    every = list(claims)
    if workers <= 1 or len(every) <= _CLAIMS_AT_ONCE:
        for claim in every:
            if on_claim is not None:
                on_claim(claim)
            yield _named(claim)
        return
    # Neighbouring claims are often about one event, whose numbers a process keeps.
    with ProcessPoolExecutor(max_workers=workers) as pool:
        findings = pool.map(_named, every, chunksize=_CLAIMS_AT_ONCE)
        for claim in every:
            if on_claim is not None:
                on_claim(claim)
            yield next(findings)


def _named(claim: Claim) -> Finding:
    """Audit one claim; an error says which."""
    try:
        return audit_one(claim)
    except (ValueError, ArithmeticError) as error:
        raise type(error)(f"{claim.origin}: claim {claim.id!r}: {error}") from None


def audit_one(claim: Claim) -> Finding:
    """Audit one claim."""
    notes = list(claim.notes)
    if claim.missing or claim.event is None:
        scenarios = tuple(_scenarios(claim))
        notes += ["not given by the source: " + item for item in claim.missing]
        notes += [
            f"scenario: {text}: {side.bound} gives {side.epsilon:.6g}" for text, side in scenarios
        ]
        return Finding(
            claim=claim,
            published=None,
            upper=None,
            lower=None,
            reproduction=Reproduction.UNDERSPECIFIED,
            soundness=Soundness.UNPROVEN,
            slack=None,
            scenarios=scenarios,
            notes=tuple(notes),
        )
    assert claim.epsilon is not None
    event = claim.event
    published = _published(claim, event, claim.delta)
    upper = _upper(event, claim.delta, claim.order, claim.adjacency)
    reproduction = (
        Reproduction.EXACT if agrees(published.epsilon, claim.epsilon) else (Reproduction.DIFFERS)
    )
    notes += _reproduction_notes(published.epsilon, claim.epsilon, reproduction)
    claimed = float(claim.epsilon)
    lower, pair, refutation = _lower(claim, event, claimed)
    slack = claimed / upper.epsilon if 0.0 < upper.epsilon < math.inf else None
    # The claim as the nearest float: a printed 0.04 is not refused for the 8e-19 between the two.
    if upper.epsilon <= claimed:
        soundness = Soundness.SOUND
    elif refutation:
        soundness = Soundness.REFUTED
    else:
        soundness = Soundness.UNPROVEN
        notes += _unproven_notes(event, upper, claim.epsilon)
    return Finding(
        claim=claim,
        published=published,
        upper=upper,
        lower=lower,
        reproduction=reproduction,
        soundness=soundness,
        slack=slack,
        scenarios=(),
        notes=tuple(notes),
        refutation=refutation,
        pair=pair,
    )


_Words = tuple[str, ...]


def _lower(claim: Claim, event: Event, claimed: float) -> tuple[Side | None, _Words, _Words]:
    """What two neighbouring data sets attain, which they are, and what that refutes."""
    if claim.delta is None:
        return _lower_at_one_order(claim, event)
    try:
        attained, alternative = _attained(event, claim.adjacency, claim.delta)
        side = _side(attained)
    except NoLossDistributionError:
        return None, (), ()
    try:
        pair = tuple(pair_of(event, claim.adjacency, attained, alternative).describe())
    except NoLossDistributionError:
        pair = ("the pairs of the event's parts, together",)
    if not attained.epsilon > claimed * (1.0 + _MARGIN):
        return side, pair, ()
    at_claim = lower_bound(event, adjacency=claim.adjacency, epsilon=claimed)[0].delta
    refutation = (
        *pair,
        f"delta at the claimed epsilon {claim.epsilon} is at least {at_claim:.4g}, "
        f"{at_claim / claim.delta:.3g} times the claimed {claim.delta:g}",
    )
    return side, pair, refutation


def _lower_at_one_order(claim: Claim, event: Event) -> tuple[Side | None, _Words, _Words]:
    if not isinstance(event, GaussianSynthesis) or claim.order is None:
        return None, (), ()
    try:
        found = attained_pair(event, claim.order, claim.adjacency)
    except ValueError:
        return None, (), ()  # no data set of the pair's form meets the eigenvalue condition
    value = event.outputs * found.divergence
    # The mechanism cuts its output to the cube, which may lose some of this: no refutation.
    side = Side(
        bound="synthesis-pair",
        epsilon=value,
        order=claim.order,
        assumptions=("the output is released before it is cut to the cube",),
    )
    return side, (f"D : {_rows(found.first)}", f"D': {_rows(found.second)}"), ()


def _rows(data: WeightedRows) -> str:
    return "; ".join(f"{count} x {row}" for row, count in zip(data.rows, data.counts, strict=True))


def _unproven_notes(event: Event, upper: Side, printed: Decimal) -> Iterator[str]:
    if math.isinf(upper.epsilon):
        yield "no sound bound is known: " + ("; ".join(event.assumptions()) or "no theorem applies")
    elif agrees_rounded(upper.epsilon, printed):
        yield (
            f"the best upper bound, {upper.epsilon:.8g}, exceeds the claim by less than its last "
            "printed digit: rounded up, the claim would be proven"
        )


def agrees(computed: float, printed: Decimal) -> bool:
    """Whether ``printed`` is ``computed`` at the printed precision, rounded either way."""
    if math.isinf(computed) or not printed.is_finite():
        return math.isinf(computed) and not printed.is_finite()
    if computed > 0.0 and printed == 0:
        return False  # "no loss at all" is no rounding of a loss
    return printed in {
        _rounded(computed, printed, mode) for mode in (ROUND_HALF_EVEN, ROUND_CEILING, ROUND_FLOOR)
    }


def agrees_rounded(computed: float, printed: Decimal) -> bool:
    """Whether ``computed`` exceeds ``printed`` by less than one unit in its last digit."""
    if math.isinf(computed) or not printed.is_finite():
        return False
    return _rounded(computed, printed, ROUND_FLOOR) == printed


def _rounded(computed: float, printed: Decimal, mode: str) -> Decimal:
    exponent = printed.as_tuple().exponent
    assert isinstance(exponent, int)
    # Digits left of the point are printed even where an exponent hides them.
    unit = Decimal(1).scaleb(min(exponent, 0))
    return Decimal(computed).quantize(unit, rounding=mode, context=Context(prec=1200))


def _reproduction_notes(
    computed: float, printed: Decimal, reproduction: Reproduction
) -> Iterator[str]:
    if reproduction is Reproduction.DIFFERS:
        yield f"the published formula gives {computed:.8g}, not {printed}"
    elif math.isfinite(computed) and _rounded(computed, printed, ROUND_HALF_EVEN) > printed:
        yield (f"printed {printed}, rounded down: the published formula gives {computed:.8g}")


def _scenarios(claim: Claim) -> Iterator[tuple[str, Side]]:
    for scenario in claim.scenarios:
        if scenario.delta is None and claim.order is None:
            continue
        yield scenario.description, _published(claim, scenario.event, scenario.delta)


def _published(claim: Claim, event: Event, delta: float | None) -> Side:
    """The number by the formula that the claim's source uses."""
    candidates = published_bounds(event, claim.adjacency)
    # Without a published formula the claim is compared with the Renyi accountant's number.
    bound = claim.bound or (candidates[0] if candidates else BEST_RDP)
    if claim.order is None:
        assert delta is not None
        found = _epsilon(event, delta, claim.adjacency, bound, claim.conversion)
        return _side(found)
    if bound in candidates:
        rdp = published_rdp(event, order=claim.order, adjacency=claim.adjacency, bound=bound)
    else:
        rdp, bound = upper_rdp(event, order=claim.order, adjacency=claim.adjacency)
    if delta is None:
        return Side(bound=bound, epsilon=rdp, order=claim.order)
    return Side(bound=bound, epsilon=_at_one_order(claim, rdp, delta), order=claim.order)


def _at_one_order(claim: Claim, rdp: float, delta: float) -> float:
    convert = EPSILON[claim.conversion or "mironov2017"]
    assert claim.order is not None
    return float(convert(np.array([claim.order]), np.array([rdp]), delta)[0])


def _upper(event: Event, delta: float | None, order: float | None, adjacency: Adjacency) -> Side:
    """The best sound number for what is claimed."""
    if delta is not None:
        return _side(_epsilon(event, delta, adjacency, BEST, None))
    assert order is not None
    value, bound = upper_rdp(event, order=order, adjacency=adjacency)
    return Side(bound=bound, epsilon=value, order=order)


@functools.lru_cache(maxsize=4096)
def _attained(event: Event, adjacency: Adjacency, delta: float) -> tuple[Guarantee, Alternative]:
    return lower_bound(event, adjacency=adjacency, delta=delta)


@functools.lru_cache(maxsize=4096)
def _epsilon(
    event: Event, delta: float, adjacency: Adjacency, bound: str, conversion: str | None
) -> Guarantee:
    return epsilon(event, delta=delta, adjacency=adjacency, bound=bound, conversion=conversion)


def _side(guarantee: Guarantee) -> Side:
    enclosure = guarantee.enclosure
    return Side(
        bound=guarantee.bound,
        epsilon=guarantee.epsilon,
        order=guarantee.order,
        enclosure=None if enclosure is None else (enclosure.lower, enclosure.upper),
        rigorous=enclosure is not None and enclosure.rigorous,
        assumptions=guarantee.assumptions,
    )
