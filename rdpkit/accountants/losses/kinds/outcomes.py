r"""Pairs with a handful of outcomes: randomised response, stated ones, lists, and sums of them.

*Randomised response.* Of k buckets the true one is released with probability a = 1 - p + p/k, each
other with b = p/k. With a record in one bucket and in another the losses are log(a/b), 0 and
-log(a/b). The curve is a - b e^l for 0 <= l <= log(a/b).

*A list of outcomes*, in the order of their losses. With A_k and B_k the probabilities of the first
k outcomes under either member, the curve is the largest A_k - e^l B_k over k. Probabilities are
moved by more than their roundings such that every A_k is larger and every B_k smaller, or the
reverse. The likeliest outcome takes up the difference, so that rare outcomes keep all their digits,
those that are left out of A_k too.

*Sums*, every one of them, without a grid. A release with two outcomes, taken n times, has n + 1
different sums of losses, and their probabilities are the coefficients of (p_0 + p_1 x)^n under one
member and of (q_0 + q_1 x)^n under the other. The same is true of three outcomes whose losses are
equally far apart. The divergence at l is the sum of P - e^l Q over all sums above l, so the curve
is straight in e^l between two sums.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from itertools import pairwise, product
from typing import Any

import numpy as np
from flint import arb, arb_poly

from rdpkit.accountants.losses.guide import Array, Guide
from rdpkit.accountants.losses.kinds.base import (
    Curve,
    LossKind,
    Tails,
    largest_of,
    mirrored,
    moved_probability,
    normalised,
    piece,
)
from rdpkit.accountants.losses.steps import FiniteSum
from rdpkit.events.losses import NoLossDistributionError
from rdpkit.events.pairs import Outcomes, ResponsePair, SampledPair, StatedPair, TwoOutcomes

# Probabilities that are known up to a few roundings.
_KNOWN = 2.0**-44

ListOfOutcomes = Callable[[Any, bool], list[tuple[arb, arb]]]
"""Maps a description, and whether it may leak more or less than the exact one, to the outcomes'
probabilities on either data set, by falling loss."""


def _response(step: ResponsePair, leaks_more: bool) -> list[tuple[arb, arb]]:
    p, k = arb(step.noise_parameter), step.num_buckets
    other = p / k
    true = 1 - p + other
    return [(true, other), ((k - 2) * other, (k - 2) * other), (other, true)]


def _response_curve(step: ResponsePair, leaks_more: bool) -> Curve:
    (a, b), _, _ = _response(step, leaks_more)

    def right(loss: arb) -> arb:
        return piece(loss, (a / b).log(), lambda: a - b * loss.exp(), lambda: arb(0))

    return mirrored(right)


def _two(step: TwoOutcomes, leaks_more: bool) -> list[tuple[arb, arb]]:
    """A likelier outcome that is even likelier, and a rarer one that is even rarer, leak more."""
    rising = step.first >= step.second
    sign = _KNOWN if leaks_more is rising else -_KNOWN
    first, second = arb(step.first * (1.0 + sign)), arb(step.second * (1.0 - sign))
    if not leaks_more and (first < second) is rising:
        # Probabilities that differ by no more than their roundings may be equal.
        second = first
    found = [(first, second), (1 - first, 1 - second)]
    return found if rising else found[::-1]


def _stated(step: StatedPair, leaks_more: bool) -> list[tuple[arb, arb]]:
    delta, grown = arb(step.delta), arb(step.epsilon).exp()
    large, small = (1 - delta) * grown / (1 + grown), (1 - delta) / (1 + grown)
    # The outcome that only one data set has is taken together with the one beside it.
    return [(delta + large, small), (small, delta + large)]


def _stated_curve(step: StatedPair, leaks_more: bool) -> Curve:
    delta, e = arb(step.delta), arb(step.epsilon)
    grown = e.exp()

    def right(loss: arb) -> arb:
        def inside() -> arb:
            return delta + (1 - delta) * (grown - loss.exp()) / (1 + grown)

        return piece(loss, e, inside, lambda: delta)

    return mirrored(right)


def _sum_curve(outcomes: ListOfOutcomes) -> Callable[[Any, bool], Curve]:
    def curve(step: Any, leaks_more: bool) -> Curve:
        found = outcomes(step, leaks_more)

        def height(loss: arb) -> arb:
            grown = loss.exp()
            return sum((largest_of([arb(0), p - grown * q]) for p, q in found), arb(0))

        return height

    return curve


def _finite_losses(
    outcomes: ListOfOutcomes, step: Any, leaks_more: bool = False
) -> tuple[Array, Array]:
    """Losses, ascending, and logarithms of their probabilities, in floats."""
    found = [(p, q) for p, q in outcomes(step, leaks_more) if p > 0 and q > 0]
    losses = np.array([float((p / q).log()) for p, q in reversed(found)])
    return losses, np.array([float(p.log()) for p, _ in reversed(found)])


def _tails_of(outcomes: ListOfOutcomes) -> Callable[[Any], Tails]:
    def tails(step: Any) -> Tails:
        found = [(p, q) for p, q in outcomes(step, False) if p > 0 and q > 0]
        losses = _finite_losses(outcomes, step)[0][::-1]

        def beyond(place: arb) -> tuple[arb, arb]:
            above = int(np.sum(losses > float(place.mid())))
            if above == len(found):
                return arb(1), arb(1)
            return sum((p for p, _ in found[:above]), arb(0)), sum(
                (q for _, q in found[:above]), arb(0)
            )

        return beyond

    return tails


def _guide_of(outcomes: ListOfOutcomes) -> Callable[[Any, float], Guide]:
    def guide(step: Any, reach: float) -> Guide:
        losses, log_masses = _finite_losses(outcomes, step)
        return Guide(losses=losses, log_masses=normalised(log_masses), places=losses)

    return guide


def _largest_of(outcomes: ListOfOutcomes) -> Callable[[Any, bool], arb]:
    def largest(step: Any, leaks_more: bool) -> arb:
        p, q = outcomes(step, leaks_more)[0]
        return (p / q).log()

    return largest


RESPONSE = LossKind(
    curve=_response_curve,
    guide=_guide_of(_response),
    tails=_tails_of(_response),
    largest=_largest_of(_response),
    atoms=lambda step: _finite_losses(_response, step, True)[0],
)
TWO_OUTCOMES = LossKind(
    curve=_sum_curve(_two),
    guide=_guide_of(_two),
    tails=_tails_of(_two),
    largest=_largest_of(_two),
    atoms=lambda step: _finite_losses(_two, step, True)[0],
)
STATED = LossKind(
    curve=_stated_curve,
    guide=_guide_of(_stated),
    tails=_tails_of(_stated),
    largest=lambda step, leaks_more: arb(step.epsilon),
    infinite=lambda step: arb(step.delta),
    atoms=lambda step: np.array([-step.epsilon, step.epsilon]),
)


# Losses that floats do not tell from a place are looked at one by one.
_BESIDE_LISTED = 1e-6


def _likeliest(step: Outcomes) -> int:
    """The outcome that is likely under both members."""
    smaller = [min(p, q) for p, q in zip(step.first, step.second, strict=True)]
    found = smaller.index(max(smaller))
    if smaller[found] == 0.0:
        raise NoLossDistributionError("Every outcome tells the two data sets apart.")
    return found


def _nested(step: Outcomes, leaks_more: bool) -> list[tuple[arb, arb]]:
    """Probabilities of the first k outcomes for every k, moved to one side."""
    middle, sign = _likeliest(step), _KNOWN if leaks_more else -_KNOWN
    sides: list[list[arb]] = []
    for masses, grown in ((step.first, 1 + arb(sign)), (step.second, 1 - arb(sign))):
        before, after = [arb(0)], [arb(0)]
        for mass in masses[:middle]:
            before.append(before[-1] + mass * grown)
        for mass in masses[:middle:-1]:
            after.append(after[-1] + mass * (2 - grown))
        sides.append([*before, *[1 - rest for rest in reversed(after)]])
    if leaks_more and any(side[middle + 1] <= side[middle] for side in sides):
        raise NoLossDistributionError("Floats do not say how likely every outcome is.")
    return list(zip(*sides, strict=True))


def finite_outcomes(step: Outcomes, leaks_more: bool) -> list[tuple[arb, arb]]:
    """Probabilities of the outcomes that both members have, moved to one side.

    Moved masses leak less only as long as their losses fall: outcomes whose losses are too close
    for that are one outcome.
    """
    nested = _nested(step, leaks_more)
    moved_masses = [(a - b, c - d) for (b, d), (a, c) in pairwise(nested)]
    both = zip(step.first, step.second, moved_masses, strict=True)
    found = [masses for p, q, masses in both if p > 0.0 and q > 0.0]
    if leaks_more or all(a * d >= c * b for (a, b), (c, d) in pairwise(found)):
        return found
    return [(sum((a for a, _ in found), arb(0)), sum((b for _, b in found), arb(0)))]


def infinite_outcomes(step: Outcomes, leaks_more: bool) -> arb:
    """Probability of the outcomes that only the first member has, moved to one side."""
    alone = [p for p, q in zip(step.first, step.second, strict=True) if q == 0.0]
    moved = 1 + arb(_KNOWN if leaks_more else -_KNOWN)
    return sum([arb(p) * moved for p in alone], arb(0))


def _listed_losses(step: Outcomes) -> Array:
    """In floats, from the largest to the smallest; infinite ones too."""
    with np.errstate(divide="ignore"):
        found = np.log(np.array(step.first)) - np.log(np.array(step.second))
    # Neighbours in the order may have one loss, up to roundings.
    falling: Array = np.minimum.accumulate(found)
    return falling


def _listed_curve(step: Outcomes, leaks_more: bool) -> Curve:
    nested = _nested(step, leaks_more)
    rising = (-_listed_losses(step)).tolist()

    def height(loss: arb) -> arb:
        place, grown = -float(loss.mid()), loss.exp()
        beside = _BESIDE_LISTED * (1.0 + abs(place))
        near = range(bisect_left(rising, place - beside), bisect_right(rising, place + beside) + 1)
        return largest_of([arb(0), 1 - grown, *[nested[k][0] - grown * nested[k][1] for k in near]])

    return height


def _listed_tails(step: Outcomes) -> Tails:
    nested, rising = _nested(step, False), (-_listed_losses(step)).tolist()
    # Outcomes that only the first member has are taken together with the next one.
    least = bisect_right(rising, -math.inf) + 1

    def beyond(place: arb) -> tuple[arb, arb]:
        above = bisect_left(rising, -float(place.mid()))
        return nested[max(above, least) if above else 0]

    return beyond


def _listed_largest(step: Outcomes, leaks_more: bool) -> arb:
    nested = _nested(step, leaks_more)
    first = next(k for k, q in enumerate(step.second) if q > 0.0)
    (before, below), (whole, upto) = nested[first], nested[first + 1]
    return ((whole - before) / (upto - below)).log().max(arb(0))


def _listed_guide(step: Outcomes, reach: float) -> Guide:
    losses = _listed_losses(step)[::-1]
    kept = np.isfinite(losses)
    log_masses = np.log(np.array(step.first)[::-1][kept])
    return Guide(losses=losses[kept], log_masses=normalised(log_masses), places=losses[kept])


def _listed_atoms(step: Outcomes) -> Array:
    losses = _listed_losses(step)[::-1]
    found: Array = np.unique(losses[np.isfinite(losses)])
    return found


OUTCOMES = LossKind(
    curve=_listed_curve,
    guide=_listed_guide,
    tails=_listed_tails,
    largest=_listed_largest,
    infinite=lambda step: infinite_outcomes(step, True),
    atoms=_listed_atoms,
)


_MOST_SUMS = 5_000
# Losses that floats do not tell from a place are looked at one by one.
_BESIDE = 1e-9
_PAIR = 2


def has_few_sums(releases: tuple[tuple[Any, int], ...]) -> bool:
    """Whether all sums of losses can be listed."""
    sums = 1
    for step, count in releases:
        inner = step.pair if isinstance(step, SampledPair) else step
        if isinstance(step, SampledPair) and getattr(inner, "delta", 0.0) > 0.0:
            return False
        if isinstance(inner, ResponsePair) and inner is step:
            sums *= 2 * count + 1
        elif isinstance(inner, (StatedPair, TwoOutcomes)):
            sums *= count + 1
        elif isinstance(step, Outcomes):
            # Two outcomes at most that both members have.
            both = zip(step.first, step.second, strict=True)
            if sum(min(chances) > 0.0 for chances in both) > _PAIR:
                return False
            sums *= count + 1
        else:
            return False
    return sums <= _MOST_SUMS


def _outcomes(step: Any, leaks_more: bool) -> list[tuple[arb, arb]]:
    """Probabilities of the outcomes with a finite loss, which falls by equal steps."""
    if isinstance(step, SampledPair):
        q = moved_probability(step.sampling_probability, leaks_more)
        mixed = [((1 - q) * b + q * a, b) for a, b in _outcomes(step.pair, leaks_more)]
        return mixed if step.kind == "removed" else [(b, a) for a, b in reversed(mixed)]
    if isinstance(step, Outcomes):
        return finite_outcomes(step, leaks_more)
    if isinstance(step, StatedPair):
        delta, grown = arb(step.delta), arb(step.epsilon).exp()
        large, small = (1 - delta) * grown / (1 + grown), (1 - delta) / (1 + grown)
        return [(large, small), (small, large)]
    return (_response if isinstance(step, ResponsePair) else _two)(step, leaks_more)


def _sums(step: Any, count: int, leaks_more: bool) -> list[tuple[arb, arb, arb]]:
    """Every sum of ``count`` losses: both probabilities, and the sum."""
    found = _outcomes(step, leaks_more)
    first = (found[0][0] / found[0][1]).log()
    last = (found[-1][0] / found[-1][1]).log()
    apart = (first - last) / max(len(found) - 1, 1)
    size = count * (len(found) - 1) + 1
    both = [arb_poly([one[side] for one in found]) ** count for side in (0, 1)]
    return [(both[0][k], both[1][k], count * first - k * apart) for k in range(size)]


def _all_sums(step: FiniteSum, leaks_more: bool) -> list[tuple[arb, arb, float]]:
    """Every sum over all releases, the largest first."""
    parts = [_sums(one, count, leaks_more) for one, count in step.releases]
    found = []
    for choice in product(*parts):
        first, second, loss = arb(1), arb(1), arb(0)
        for p, q, each in choice:
            first, second, loss = first * p, second * q, loss + each
        found.append((first, second, float(loss.mid())))
    return sorted(found, key=lambda one: -one[2])


def finite_sum(
    kind_of: Callable[[Any], LossKind],  # Finds the kind of a release
) -> LossKind:
    """The kind of :class:`rdpkit.accountants.losses.steps.FiniteSum`."""

    def curve(step: FiniteSum, leaks_more: bool) -> Curve:
        found = _all_sums(step, leaks_more)
        falling = [-loss for _, _, loss in found]
        totals = [(arb(0), arb(0))]
        for p, q, _ in found:
            totals.append((totals[-1][0] + p, totals[-1][1] + q))
        rest = _infinite(step, leaks_more)

        def height(loss: arb) -> arb:
            place, grown = float(loss.mid()), loss.exp()
            beside = _BESIDE * (1.0 + abs(place))
            above = bisect_left(falling, -place - beside)
            total = rest + totals[above][0] - grown * totals[above][1]
            for p, q, one in found[above:]:
                if one < place - beside:
                    break
                total += largest_of([arb(0), p - grown * q])
            return total

        return height

    def largest(step: FiniteSum, leaks_more: bool) -> arb:
        each = [(kind_of(one).largest(one, leaks_more), n) for one, n in step.releases]
        return sum((n * loss for loss, n in each if loss is not None), arb(0))

    def _infinite(step: FiniteSum, leaks_more: bool) -> arb:
        alone = [
            (
                infinite_outcomes(one, False)
                if isinstance(one, Outcomes) and not leaks_more
                else kind_of(one).infinite(one),
                n,
            )
            for one, n in step.releases
        ]
        return -sum([n * (-each).log1p() for each, n in alone], arb(0)).expm1()

    def infinite(step: FiniteSum) -> arb:
        return _infinite(step, True)

    def atoms(step: FiniteSum) -> Array:
        return np.unique([loss for _, _, loss in _all_sums(step, True) if math.isfinite(loss)])

    def guide(step: FiniteSum, reach: float) -> Guide:
        raise TypeError("All sums of losses are known, so that none are looked for.")

    return LossKind(curve=curve, guide=guide, largest=largest, infinite=infinite, atoms=atoms)
