"""What the composition of losses needs to know of one kind of pair."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import arb, ctx

from rdpkit.accountants.losses.guide import Array, Guide
from rdpkit.events.losses import NoLossDistributionError
from rdpkit.events.pairs import SidedPair

Curve = Callable[[arb], arb]
"""Maps a privacy loss, any real number, to the hockey-stick divergence there."""

Tails = Callable[[arb], tuple[arb, arb]]
"""Maps a place to an event's probability on either data set; larger places, smaller events."""

MARGIN = 8 * math.ulp(1.0)
"""Parameters that are quotients of what users gave are moved by this, relative to them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LossKind:
    """One kind of pair: its numbers in balls, and about where its losses are.

    Every function takes the description of a step first. ``leaks_more`` says whether parameters
    with a few roundings are moved so that the step leaks no less, or no more, than the exact one.
    """

    curve: Callable[[Any, bool], Curve]
    """``curve(step, leaks_more)``: the hockey-stick curve at every real loss."""
    guide: Callable[[Any, float], Guide]
    """``guide(step, reach)``: losses with logarithms of their probabilities, in floats, as far as
    probabilities of e^-reach matter. Nothing that is proven rests on it.
    """
    tails: Callable[[Any], Tails] | None = None
    """``tails(step)``: for a pair, probabilities of events, each about "the loss is above that of
    this place" (or below it), for places of the guide. Each event contains those of larger places.
    None where there is no pair.
    """
    largest: Callable[[Any, bool], arb | None] = lambda step, leaks_more: None
    """``largest(step, leaks_more)``: the largest finite loss; None where there is none."""
    infinite: Callable[[Any], arb] = lambda step: arb(0)
    """Probability of an infinite loss, at most."""
    atoms: Callable[[Any], Array] = lambda step: np.empty(0)
    """Losses that have a probability of their own, in floats; those near them are told apart."""


def moved(value: float, up: bool) -> arb:
    """A parameter, eight units in the last place further up or down."""
    return arb(value * (1.0 + (MARGIN if up else -MARGIN)))


def moved_probability(value: float, up: bool) -> arb:
    """The same for a probability, which stays at most 1."""
    return arb(min(value * (1.0 + (MARGIN if up else -MARGIN)), 1.0))


def reversed_curve(
    curve: Curve,  # The curve before
    # e^l for the smallest loss l before; beyond it the curve is 0, which a difference of two
    # numbers would not show.
    least: arb | None = None,
) -> Curve:
    """The curve with the members exchanged: 1 - e^l + e^l h(-l)."""

    def height(loss: arb) -> arb:
        if least is not None and (-loss).exp() < least:
            return arb(0)
        return loss.exp() * curve(-loss) - loss.expm1()

    return height


def removed_curve(inner: Curve, q: arb) -> Curve:
    """(1-q) Q + q P against Q, from the curve of P against Q."""

    def height(loss: arb) -> arb:
        level = loss.expm1() / q
        if level > -1:
            return q * inner(level.log1p())
        # Where e^l' is 0 up to rounding, q h(e^l') lies between 1 - e^l and q.
        return -loss.expm1() if level < -1 else (-loss.expm1()).union(q)

    return height


def added_curve(inner: Curve, removed: Curve, q: arb) -> Curve:
    """Q against (1-q) Q + q P: c h_QP(e^l q / c) with c = 1 - (1-q) e^l, 0 where c <= 0.

    For l >= 0; to the left 1 - e^l + e^l times the other direction's curve at -l. So no difference
    of two numbers of the size of e^l is taken.
    """

    def height(loss: arb) -> arb:
        if loss < 0:
            return loss.exp() * removed(-loss) - loss.expm1()
        share = q - (1 - q) * loss.expm1()
        if not share > 0:
            return arb(0) if share < 0 else arb(0).union(share.upper())
        return share * inner(loss + (q / share).log())

    return height


def mirrored(right: Curve) -> Curve:
    """The curve of a symmetric relation, from what it is at losses >= 0."""

    def both(loss: arb) -> arb:
        return loss.exp() * right(-loss) - loss.expm1() if loss < 0 else right(loss)

    return both


def piece(loss: arb, edge: arb, left: Callable[[], arb], right: Callable[[], arb]) -> arb:
    """One formula up to an edge and another beyond it; both where it is not certain which."""
    if loss < edge:
        return left()
    if loss > edge:
        return right()
    return left().union(right())


def largest_of(candidates: list[arb]) -> arb:
    """A ball around the largest of several numbers."""
    found = candidates[0]
    for one in candidates[1:]:
        found = found.max(one)
    return found


def tolerance(x: arb) -> arb:
    """How well a root can be known at the working precision."""
    return (abs(x) + 1) * arb(2) ** (8 - ctx.prec)


def symmetric_guide(
    # Positive losses and the logarithms of their probabilities on the first data set.
    losses: Array,
    log_masses: Array,
    middle: float | None = None,  # The logarithm of the probability of the loss 0, if it has one
) -> Guide:
    """The points of a symmetric pair, from those of losses > 0, ascending."""
    at_zero = ([0.0], [middle]) if middle is not None else ([], [])
    all_losses = np.concatenate([-losses[::-1], at_zero[0], losses])
    masses = np.concatenate([(log_masses - losses)[::-1], at_zero[1], log_masses])
    return Guide(losses=all_losses, log_masses=normalised(masses), places=all_losses)


def sided_guide(
    step: SidedPair,
    losses: Array,  # Ascending, where the step is one of "removed"
    # Logarithms of masses of these losses under the mixture and under the other member.
    first: Array,
    second: Array,
    places: Array | None,
) -> Guide:
    """The points of a mixture against another distribution, or of the reverse."""
    if step.kind == "removed":
        return Guide(losses=losses, log_masses=normalised(first), places=places)
    return Guide(
        losses=-losses[::-1],
        log_masses=normalised(second[::-1]),
        places=None if places is None else places[::-1],
    )


def connected(curve: Curve, losses: list[arb]) -> tuple[list[arb], arb]:
    """The masses of the pair that connects the dots of a curve at losses; the curve at the last."""
    ratios = [loss.exp() for loss in losses]
    heights = [curve(loss) for loss in losses]
    # Slopes from (0, 1) to the first point, from point to point, and 0 after the last one.
    slopes = [(heights[0] - 1) / ratios[0]]
    for i in range(len(losses) - 1):
        slopes.append((heights[i + 1] - heights[i]) / (ratios[i + 1] - ratios[i]))
    ends = zip(ratios, slopes, [*slopes[1:], arb(0)], strict=True)
    return [ratio * (right - left) for ratio, left, right in ends], heights[-1]


def guide_of_curve(
    curve: Curve,  # Any curve
    nodes: Array,  # Losses, strictly ascending
    reach: float,  # Probabilities of e^-reach matter
) -> Guide:
    """The points of the pair that connects the dots of a curve at some losses."""
    gap = float(np.min(np.diff(nodes)))
    with ctx.workprec(128 + math.ceil(reach / math.log(2.0) - 2.0 * math.log2(min(gap, 1.0)))):
        masses, _ = connected(curve, [arb(node) for node in nodes.tolist()])
        logs = [float(mass.mid().log()) if mass.mid() > 0 else -math.inf for mass in masses]
    kept = np.isfinite(logs)
    if not kept.any():
        raise NoLossDistributionError("Losses are too large for floats to say how likely each is.")
    return Guide(losses=nodes[kept], log_masses=normalised(np.array(logs)[kept]))


def normalised(log_masses: Array) -> Array:
    """Logarithms of masses that add up to 1."""
    top = float(log_masses.max())
    shares: Array = log_masses - (top + math.log(float(np.exp(log_masses - top).sum())))
    return shares
