r"""A handful of outcomes, in the order of their losses.

With A_k and B_k the probabilities of the first k outcomes under either member, the curve is the
largest A_k - e^l B_k over k. Probabilities are moved by more than their roundings such that every
A_k is larger and every B_k smaller, or the reverse. The likeliest outcome takes up the difference,
so that rare outcomes keep all their digits, those that are left out of A_k too.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from itertools import pairwise

import numpy as np
from flint import arb

from rdpkit.accountants.losses.guide import Array, Guide
from rdpkit.accountants.losses.kinds.base import Curve, LossKind, Tails, largest_of, normalised
from rdpkit.events.losses import NoLossDistributionError
from rdpkit.events.pairs import Outcomes

# Probabilities are known up to a few roundings.
_KNOWN = 2.0**-44
# Losses that floats do not tell from a place are looked at one by one.
_BESIDE = 1e-6


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


def _losses(step: Outcomes) -> Array:
    """In floats, from the largest to the smallest; infinite ones too."""
    with np.errstate(divide="ignore"):
        found = np.log(np.array(step.first)) - np.log(np.array(step.second))
    # Neighbours in the order may have one loss, up to roundings.
    falling: Array = np.minimum.accumulate(found)
    return falling


def _curve(step: Outcomes, leaks_more: bool) -> Curve:
    nested = _nested(step, leaks_more)
    rising = (-_losses(step)).tolist()

    def height(loss: arb) -> arb:
        place, grown = -float(loss.mid()), loss.exp()
        beside = _BESIDE * (1.0 + abs(place))
        near = range(bisect_left(rising, place - beside), bisect_right(rising, place + beside) + 1)
        return largest_of([arb(0), 1 - grown, *[nested[k][0] - grown * nested[k][1] for k in near]])

    return height


def _tails(step: Outcomes) -> Tails:
    nested, rising = _nested(step, False), (-_losses(step)).tolist()
    # Outcomes that only the first member has are taken together with the next one.
    least = bisect_right(rising, -math.inf) + 1

    def beyond(place: arb) -> tuple[arb, arb]:
        above = bisect_left(rising, -float(place.mid()))
        return nested[max(above, least) if above else 0]

    return beyond


def _largest(step: Outcomes, leaks_more: bool) -> arb:
    nested = _nested(step, leaks_more)
    first = next(k for k, q in enumerate(step.second) if q > 0.0)
    (before, below), (whole, upto) = nested[first], nested[first + 1]
    return ((whole - before) / (upto - below)).log().max(arb(0))


def _guide(step: Outcomes, reach: float) -> Guide:
    losses = _losses(step)[::-1]
    kept = np.isfinite(losses)
    log_masses = np.log(np.array(step.first)[::-1][kept])
    return Guide(losses=losses[kept], log_masses=normalised(log_masses), places=losses[kept])


def _atoms(step: Outcomes) -> Array:
    losses = _losses(step)[::-1]
    found: Array = np.unique(losses[np.isfinite(losses)])
    return found


OUTCOMES = LossKind(
    curve=_curve,
    guide=_guide,
    tails=_tails,
    largest=_largest,
    infinite=lambda step: infinite_outcomes(step, True),
    atoms=_atoms,
)
