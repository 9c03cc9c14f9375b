r"""A record in one of t batches, at random: a mixture of t Gaussians against the one at 0.

With L the ratio, the curve at l is E_Q (L - e^l)_+ and, the members exchanged, E_Q (1 - e^l L)_+.
:mod:`rdpkit.accountants.losses.kinds.allocation.laws` gives distributions that lie above both.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from functools import lru_cache
from itertools import accumulate

import numpy as np
from flint import arb

from rdpkit.accountants.losses.guide import Guide
from rdpkit.accountants.losses.kinds.allocation.laws import Statistic, law, statistic
from rdpkit.accountants.losses.kinds.allocation.moves import ALLOCATED_MOVES
from rdpkit.accountants.losses.kinds.allocation.shared import shared
from rdpkit.accountants.losses.kinds.base import (
    MARGIN,
    Curve,
    LossKind,
    Tails,
    largest_of,
    normalised,
)
from rdpkit.accountants.losses.kinds.sampled_gaussian import gaussian
from rdpkit.events.pairs import AllocatedMoves, AllocatedPair

# Probabilities are rounded to multiples of 2^-600, so that sums of them are exact.
_BITS = 600
_LEAST = 1e-60
# How many times its error a probability is at least, of which a guide knows the loss.
_CLEAR = 30.0


def _noise(step: AllocatedPair, leaks_more: bool) -> float:
    return step.noise_multiplier * (1.0 + (-MARGIN if leaks_more else MARGIN))


def _statistic(step: AllocatedPair) -> Statistic:
    noise = _noise(step, False)
    if _is_shared(step):
        return shared(noise, step.batches, step.shares, step.second, step.rate)
    return statistic(noise, step.batches)


def _is_shared(step: AllocatedPair) -> bool:
    """Whether its ratio is not that of a mean of lognormals and 1."""
    return step.shares > 1 or step.second != 0.0


@lru_cache(maxsize=16)
def _sums(
    noise_multiplier: float, batches: int, first: bool
) -> tuple[list[float], list[int], list[int], float]:
    """Values of S, and exact sums of both members' probabilities over all that leak more."""
    found = law(noise_multiplier, batches, first=first)
    ratios = found.ratios.tolist()
    own, other = [], []
    for value, mass in zip(ratios, found.masses.tolist(), strict=True):
        top, bottom = mass.as_integer_ratio()
        own.append(-((-top << _BITS) // bottom))
        top, bottom = value.as_integer_ratio()
        bottom *= batches
        if first:
            top, bottom = bottom, top
        # The other member's probability counts against the divergence, so it is rounded down.
        other.append(own[-1] * top // bottom if value else 0)
    if first:
        sums = [[*list(accumulate(reversed(masses)))[::-1], 0] for masses in (own, other)]
    else:
        sums = [[0, *accumulate(masses)] for masses in (own, other)]
    return ratios, sums[0], sums[1], found.rest


def _above(step: AllocatedPair) -> Curve:
    first = step.kind == "removed"
    ratios, own, other, rest = _sums(_noise(step, True), step.batches, first)

    def height(loss: arb) -> arb:
        growth = loss.exp()
        level = float(loss.mid()) if first else -float(loss.mid())
        at = bisect_left(ratios, step.batches * math.exp(min(max(level, -700.0), 700.0)))
        # The sum over all with a loss above l is the largest of the sums over all beyond a node.
        near = range(max(at - 1, 0), min(at + 2, len(own)))
        values = [arb(own[k]) - growth * arb(other[k]) for k in near]
        return largest_of(values) / arb(2) ** _BITS + arb(rest)

    return height


def _below(step: AllocatedPair) -> Curve:
    found = _statistic(step)
    beyond = _tails(step)
    if step.kind == "removed":
        own, other = found.first[0], found.second[1]
    else:
        own, other = 1.0 - found.second[1], 1.0 - found.first[0]

    def height(loss: arb) -> arb:
        ratio = math.exp(min(max(float(loss.mid()), -700.0), 700.0))
        best = int(np.argmax(own - ratio * other))
        one, two = beyond(arb(float(found.values[best])))
        if step.kind == "added":
            one, two = 1 - one, 1 - two
        value = arb((one - loss.exp() * two).lower())
        return value if value > 0 else arb(0)

    return height


def _curve(step: AllocatedPair, leaks_more: bool) -> Curve:
    if leaks_more and step.shares > 1:
        # As if it was known where the record is. What bounds the event is composed of other pairs.
        distance = (1 - arb(step.second)) * arb(step.shares).sqrt()
        known = arb(_noise(step, True)) / distance
        return lambda loss: gaussian(loss, known)
    if leaks_more and step.second:
        return ALLOCATED_MOVES.curve(_moves(step), True)
    return _above(step) if leaks_more else _below(step)


def _tails(step: AllocatedPair) -> Tails:
    found = _statistic(step)
    values = found.values.tolist()
    sides = []
    for low, high in (found.first, found.second):
        sides.append(
            [arb(a).union(arb(b)) for a, b in zip(low.tolist(), high.tolist(), strict=True)]
        )
    if step.kind == "added":
        sides.reverse()

    def beyond(place: arb) -> tuple[arb, arb]:
        k = min(bisect_left(values, float(place.mid())), len(values) - 1)
        return sides[0][k], sides[1][k]

    return beyond


def _guide(step: AllocatedPair, reach: float) -> Guide:
    if _is_shared(step):
        return _of_statistic(step)
    first = step.kind == "removed"
    found = law(_noise(step, True), step.batches, first=first)
    kept = (found.masses > _LEAST) & (found.ratios > 0.0)
    ratios, masses = found.ratios[kept], found.masses[kept]
    losses = np.log(ratios / step.batches)
    if first:
        return Guide(losses=losses, log_masses=normalised(np.log(masses)), places=ratios)
    return Guide(
        losses=-losses[::-1], log_masses=normalised(np.log(masses[::-1])), places=ratios[::-1]
    )


def _moves(step: AllocatedPair) -> AllocatedMoves:
    """A description of what lies above a pair both of whose members are moved."""
    moves = (1.0, step.second)
    z = step.noise_multiplier
    return AllocatedMoves(noise_multiplier=z, batches=step.batches, gains=moves, losses=moves)


def _of_statistic(step: AllocatedPair) -> Guide:
    found = _statistic(step)
    cells, clear = [], []
    for low, high in (found.first, found.second):
        cells.append(-np.diff(np.concatenate([[1.0], 0.5 * (low + high), [0.0]])))
        off = np.append(high - low, 0.0)
        clear.append(cells[-1] > _CLEAR * off + _LEAST)
    one, two = cells
    kept = clear[0] & clear[1]
    losses = np.maximum.accumulate(np.log(one[kept] / two[kept]))
    places = np.append(found.values, 2.0 * found.values[-1])[kept]
    if step.kind == "removed":
        return Guide(losses=losses, log_masses=normalised(np.log(one[kept])), places=places)
    return Guide(
        losses=-losses[::-1], log_masses=normalised(np.log(two[kept])[::-1]), places=places[::-1]
    )


def _infinite(step: AllocatedPair) -> arb:
    if step.shares > 1:
        return arb(0)
    if step.second:
        return ALLOCATED_MOVES.infinite(_moves(step))
    _, own, _, rest = _sums(_noise(step, True), step.batches, step.kind == "removed")
    found = arb(rest)
    if step.kind == "added":
        # The node at 0 has an infinite loss.
        found += arb(own[1]) / arb(2) ** _BITS
    return found


ALLOCATED = LossKind(curve=_curve, guide=_guide, tails=_tails, infinite=_infinite)
