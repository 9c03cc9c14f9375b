"""The verdict on one claim: does the published formula give the number, and is the number true?"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from decimal import ROUND_HALF_EVEN, Decimal

import numpy as np

import rdpkit
from rdpkit import Adjacency, Event, Guarantee
from rdpkit.accountants.losses.steps import Alternative, AttainedReleases
from rdpkit.analysis import (
    BEST,
    BEST_RDP,
    certified_rdp,
    epsilon,
    lower_bound,
    published_bounds,
    published_rdp,
    upper_rdp,
)
from rdpkit.conversions import EPSILON
from rdpkit.events import GaussianSynthesis
from rdpkit.events.losses import NoLossDistributionError
from rdpkit.formats.printed_precision import agrees, rounded
from rdpkit.formats.text import rounded_down
from rdpkit.guarantee import Enclosure
from rdpkit.pairs.claim_check import (
    Soundness,
    about_last_digit,
    delta_at_claim,
    is_proven,
    is_refuted,
)
from rdpkit.pairs.synthesis import WeightedRows, attained_pair
from rdpkit.pairs.worst_pair import pair_of
from rdpkit.verification.auditing.findings import (
    Bounds,
    Finding,
    Reproduction,
    Side,
    not_given,
    scenario_note,
    without_numbers,
)
from rdpkit.verification.claims.claim import Claim

_ONLY_RDP = (
    "only Renyi divergences were asked for: a privacy loss distribution may prove the claim or "
    "refute it"
)


# The bound of an event about which no theorem says anything.
_NO_BOUND = "none"

# How far from a number, as a part of it, a formula may be that nobody named, to be the one that
# gave it. Noise that is calibrated to a target is nearer.
_NEAR = 0.02


def audit_one(claim: Claim, *, bounds: str = Bounds.ALL) -> Finding:
    """Audit one claim.

    Parameters
    ----------
    claim : Claim
        What to audit.
    bounds : {"all", "needed", "rdp"}
        Which bounds to compute, see :class:`Bounds`.
    """
    notes = list(claim.notes)
    if claim.missing or claim.event is None:
        scenarios = tuple(_scenarios(claim))
        notes += [f"{not_given(claim)}: {item}" for item in claim.missing]
        notes += [scenario_note(text, side) for text, side in scenarios]
        return without_numbers(claim, notes, scenarios)
    assert claim.epsilon is not None
    event = claim.event
    claimed = float(claim.epsilon)
    if claim.quantity != "epsilon":
        return _about_attacks(claim, event, claimed)
    published: Side | None = _published(claim, event, claim.delta)
    assert published is not None
    everything = bounds == Bounds.ALL
    route = BEST if everything else BEST_RDP
    upper = _upper(event, claim.delta, claim.order, claim.adjacency, route)
    if bounds == Bounds.NEEDED and upper.epsilon > claimed:
        everything = True
        upper = _upper(event, claim.delta, claim.order, claim.adjacency, BEST)
    lower, pair, refutation = _lower(claim, event, claimed) if everything else (None, (), ())
    _check_sandwich(upper, lower)
    reproduction = _reproduction(claim, event, published.epsilon)
    notes += _reproduction_notes(published.epsilon, claim.epsilon, reproduction)
    slack = claimed / upper.epsilon if 0.0 < upper.epsilon < math.inf else None
    certified = upper.computed if upper.rigorous else None
    if is_proven(claimed, upper.epsilon, enclosure=certified):
        soundness = Soundness.SOUND
    elif refutation:
        soundness = Soundness.REFUTED
        notes += about_last_digit(upper.epsilon, claim.epsilon)
    else:
        soundness = Soundness.UNPROVEN
        if math.isinf(upper.epsilon):
            because = "; ".join(event.assumptions()) or "no theorem applies"
            notes.append(f"no sound bound is known: {because}")
        else:
            notes += about_last_digit(upper.epsilon, claim.epsilon)
        if bounds == Bounds.RDP:
            notes.append(_ONLY_RDP)
    if published.bound == _NO_BOUND and reproduction is Reproduction.UNNAMED:
        published = None
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


def _reproduction(claim: Claim, event: Event, computed: float) -> Reproduction:
    """Whether the number is the formula's; it can differ only from a formula that is named.

    A conversion, or an order beside a delta, says how the number was computed, as a bound does.
    A printed digit or two agree with nearly any formula: where the Renyi accountant is only the
    usual one, the number has to be near as well.
    """
    assert claim.epsilon is not None
    at_one_order = claim.order is not None and claim.delta is not None
    named = claim.bound is not None or claim.conversion is not None or at_one_order
    near = math.isclose(computed, float(claim.epsilon), rel_tol=_NEAR)
    if agrees(computed, claim.epsilon) and (
        named or near or published_bounds(event, claim.adjacency)
    ):
        return Reproduction.EXACT
    return Reproduction.DIFFERS if named else Reproduction.UNNAMED


_Words = tuple[str, ...]


def _check_sandwich(upper: Side, lower: Side | None) -> None:
    """Raise an error if the lower bound exceeds the upper one: one of them is false."""
    if lower is not None and lower.epsilon > upper.epsilon:
        raise ArithmeticError(
            f"the lower bound {lower.bound} says {lower.epsilon!r} where the upper bound "
            f"{upper.bound} says {upper.epsilon!r}: one of them is false; please report this"
        )


def _lower(claim: Claim, event: Event, claimed: float) -> tuple[Side | None, _Words, _Words]:
    """The lower bound, the data sets that attain it, and why it refutes the claim, if it does."""
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
    if not is_refuted(claimed, attained.epsilon):
        return side, pair, ()
    assert claim.epsilon is not None
    at_claim = delta_at_claim(event, claim.epsilon, claim.delta, claim.adjacency)
    return side, pair, (*pair, at_claim)


def _lower_at_one_order(claim: Claim, event: Event) -> tuple[Side | None, _Words, _Words]:
    if not isinstance(event, GaussianSynthesis) or claim.order is None:
        return None, (), ()
    try:
        found = attained_pair(event, claim.order, claim.adjacency)
    except ValueError:
        return None, (), ()  # no data set of the pair's form meets the eigenvalue condition
    value = event.outputs * found.divergence
    # The mechanism clips its output to the cube, which may lower the divergence, so that this
    # value refutes no claim.
    side = Side(
        bound="synthesis-pair",
        epsilon=value,
        order=claim.order,
        assumptions=("the output is released before it is cut to the cube",),
    )
    return side, (f"D : {_rows(found.first)}", f"D': {_rows(found.second)}"), ()


def _rows(data: WeightedRows) -> str:
    return "; ".join(f"{count} x {row}" for row, count in zip(data.rows, data.counts, strict=True))


def _reproduction_notes(
    computed: float, printed: Decimal, reproduction: Reproduction
) -> Iterator[str]:
    if reproduction is Reproduction.DIFFERS:
        yield f"the published formula gives {computed:.8g}, not {printed}"
    elif (
        reproduction is Reproduction.EXACT
        and math.isfinite(computed)
        and rounded(computed, printed, ROUND_HALF_EVEN) > printed
    ):
        yield f"printed {printed}, rounded down: the published formula gives {computed:.8g}"


def _scenarios(claim: Claim) -> Iterator[tuple[str, Side]]:
    for scenario in claim.scenarios:
        if scenario.delta is None and claim.order is None:
            continue
        yield scenario.description, _published(claim, scenario.event, scenario.delta)


def _published(claim: Claim, event: Event, delta: float | None) -> Side:
    """The number by the formula that the claim's source uses."""
    return published_number(
        event,
        claim.adjacency,
        delta,
        bound=claim.bound,
        conversion=claim.conversion,
        order=claim.order,
    )


def published_number(
    event: Event,
    adjacency: Adjacency,
    delta: float | None,  # None for a Renyi divergence
    *,
    # As a claim states them.
    bound: str | None,
    conversion: str | None,
    order: float | None,
) -> Side:
    """What the formula of a claim gives, or the usual one where the claim names none."""
    candidates = published_bounds(event, adjacency)
    # Without a published formula the claim is compared with the Renyi accountant's number, and a
    # claim of pure privacy, about which no order says anything, with the largest loss.
    usual = BEST if delta == 0.0 else BEST_RDP
    bound = bound or (candidates[0] if candidates else usual)
    if order is None:
        assert delta is not None
        return _side(_epsilon(event, delta, adjacency, bound, conversion))
    if bound in candidates:
        rdp = published_rdp(event, order=order, adjacency=adjacency, bound=bound)
    else:
        rdp, bound = upper_rdp(event, order=order, adjacency=adjacency)
    if delta is not None:
        convert = EPSILON[conversion or "mironov2017"]
        rdp = float(convert(np.array([order]), np.array([rdp]), delta)[0])
    return Side(bound=bound, epsilon=rdp, order=order)


def _upper(
    event: Event, delta: float | None, order: float | None, adjacency: Adjacency, bound: str
) -> Side:
    """The best sound number for what is claimed; ``bound`` says which bounds are tried."""
    if delta is not None:
        return _side(_epsilon(event, delta, adjacency, bound, None))
    assert order is not None
    value, bound, enclosure = certified_rdp(event, order=order, adjacency=adjacency)
    return Side(
        bound=bound,
        epsilon=value,
        order=order,
        computed=None if enclosure is None else (enclosure.lower, enclosure.upper),
        rigorous=enclosure is not None,
    )


@functools.lru_cache(maxsize=4096)
def _attained(
    event: Event, adjacency: Adjacency, delta: float
) -> tuple[Guarantee, Alternative[AttainedReleases]]:
    return lower_bound(event, adjacency=adjacency, delta=delta)


@functools.lru_cache(maxsize=4096)
def _epsilon(
    event: Event, delta: float, adjacency: Adjacency, bound: str, conversion: str | None
) -> Guarantee:
    return epsilon(event, delta=delta, adjacency=adjacency, bound=bound, conversion=conversion)


def _side(guarantee: Guarantee) -> Side:
    enclosure = guarantee.computed
    return Side(
        bound=guarantee.bound,
        epsilon=guarantee.epsilon,
        order=guarantee.order,
        computed=None if enclosure is None else (enclosure.lower, enclosure.upper),
        rigorous=enclosure is not None and enclosure.rigorous,
        assumptions=guarantee.assumptions,
    )


def _about_attacks(claim: Claim, event: Event, claimed: float) -> Finding:
    """The finding about mu, the advantage, a true positive rate, or rho."""
    assert claim.epsilon is not None
    found = _enclosed(claim, event)
    enclosure = (found.lower, found.upper) if math.isfinite(found.upper) else None
    notes = list(claim.notes)
    refutation: _Words = ()
    soundness = Soundness.UNPROVEN
    if is_proven(claimed, found.upper, enclosure=enclosure):
        soundness = Soundness.SOUND
    elif is_refuted(claimed, found.lower):
        soundness = Soundness.REFUTED
        at = "" if claim.fpr is None else f" at the false positive rate {claim.fpr:g}"
        attained = f"{_ATTAINED[claim.quantity]} {rounded_down(found.lower, digits=6)}{at}"
        refutation = (attained,)
    elif enclosure is None:
        notes.append(f"no {claim.quantity} is known to hold")
    else:
        notes += about_last_digit(found.upper, claim.epsilon)
    return Finding(
        claim=claim,
        published=None,
        upper=Side(
            bound="tradeoff-upper",
            epsilon=found.upper,
            computed=enclosure,
            rigorous=enclosure is not None,
            assumptions=event.assumptions(),
        ),
        lower=Side(bound="tradeoff-lower", epsilon=found.lower) if found.lower > 0.0 else None,
        reproduction=Reproduction.UNNAMED,
        soundness=soundness,
        slack=claimed / found.upper if 0.0 < found.upper < math.inf else None,
        scenarios=(),
        notes=tuple(notes),
        refutation=refutation,
    )


_ATTAINED = {
    "mu": "two neighbouring data sets refute every mu below",
    "rho": "two neighbouring data sets refute every rho below",
    "advantage": "an attack between two neighbouring data sets has an advantage of at least",
    "tpr": "an attack between two neighbouring data sets has a true positive rate of at least",
}


def _enclosed(claim: Claim, event: Event) -> Enclosure:
    if claim.quantity == "mu":
        mu = rdpkit.gdp(event, adjacency=claim.adjacency, smallest_delta=claim.delta)
        return Enclosure(lower=mu.lower, upper=mu.mu)
    if claim.quantity == "rho":
        rho = rdpkit.zcdp(event, adjacency=claim.adjacency)
        return Enclosure(lower=rho.lower, upper=rho.rho)
    curve = rdpkit.tradeoff(event, adjacency=claim.adjacency)
    if claim.quantity == "advantage":
        return curve.advantage
    assert claim.fpr is not None
    return curve.tpr(claim.fpr)
