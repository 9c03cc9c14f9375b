"""A record in one of t batches, at random: a mixture of t Gaussians against the one at 0.

With L the ratio, the curve at l is E_Q (L - e^l)_+ and, the members exchanged, E_Q (1 - e^l L)_+.
:mod:`rdpkit.accountants.losses.kinds.allocation.laws` gives distributions that lie above both.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate, pairwise

import numpy as np
from flint import arb, ctx

from rdpkit.accountants.losses.grid import Grid, Indices, Tilted, Window, add_up
from rdpkit.accountants.losses.guide import Array, Guide
from rdpkit.accountants.losses.kinds.allocation.laws import Statistic, check_reach, law, statistic
from rdpkit.accountants.losses.kinds.allocation.moves import ALLOCATED_MOVES
from rdpkit.accountants.losses.kinds.base import (
    MARGIN,
    Curve,
    LossKind,
    Tails,
    largest_of,
    sided_guide,
)
from rdpkit.accountants.losses.kinds.sampled_gaussian import gaussian
from rdpkit.events.pairs import AllocatedMoves, AllocatedPair
from rdpkit.numerics.balls import float_above, float_below, upper_tail
from rdpkit.numerics.fourier import DOUBLE, extended

_WORKING_BITS = 160
_REACH, _POINTS = 10.0, 100_001
# The step over the deviation of one label and of their sum, and how labels grow far from 0.
_FINE, _FINER, _RELATIVE = 0.25, 1.0 / 300.0, 0.01
_LONGEST = 1 << 17
_SLACK = 1e-9
_LEVELS = np.concatenate([np.geomspace(1e-18, 0.01, 700), np.linspace(0.01, 0.5, 300)])

Moments = tuple[float, float]


def _moments(labels: Array, densities: Array) -> Moments:
    weights = densities / float(densities.sum())
    mean = float((weights * labels).sum())
    return mean, float((weights * (labels - mean) ** 2).sum())


def _spaced(low: int, high: int) -> Indices:
    """Integers from one to another through 0, the farther from 0 the sparser."""
    sides: list[list[int]] = []
    for end in (high, -low):
        side = [0]
        while side[-1] < end:
            side.append(side[-1] + max(1, math.floor(_RELATIVE * side[-1])))
        sides.append(side)
    return np.array([*(-k for k in reversed(sides[1][1:])), *sides[0]], dtype=np.int64)


def _beyond(total: Array, places: Array, tilt: float, lost: float, *, above: bool) -> Array:
    """The probability of each place and all after it; ``lost`` is tilted as the masses are.

    From below it is for masses without a tilt.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        weights = np.exp(-tilt * places)
        sums = np.cumsum((total * weights)[::-1], dtype=np.longdouble)[::-1].astype(np.float64)
        if above:
            found = (sums + lost * weights) * (1.0 + _SLACK)
        else:
            found = np.maximum(sums * (1.0 - _SLACK) - lost, 0.0)
    return np.where(np.isfinite(found), found, 1.0)


def _probabilities(
    labels: Indices,
    parts: Sequence[tuple[Sequence[arb], int]],  # Masses of the labels, tilted as the grid says
    grid: Grid,
    window: Window,
) -> tuple[Array, Array]:
    """The probability that the sum is at each place of a window or beyond, from both sides."""
    places = np.asarray((window.first + np.arange(window.size)) * grid.step, dtype=np.float64)
    found = []
    for above, rounded in ((False, float_below), (True, float_above)):
        with ctx.workprec(_WORKING_BITS):
            floats = [
                (np.array([max(rounded(mass), 0.0) for mass in part]), n) for part, n in parts
            ]
        tilted = [(Tilted(indices=labels, masses=masses, scale=0.0), n) for masses, n in floats]
        total = add_up(tilted, grid, window, format_=extended() or DOUBLE)
        infinite = float_above(total.infinite)
        kept = total.composition.above() if above else total.composition.below()
        # A sum below the window may be anywhere in it.
        sums = _beyond(kept, places, grid.tilt, total.lost * (1.0 + _SLACK), above=above)
        found.append(np.minimum(sums + infinite, 1.0) if above else sums)
    return found[0], found[1]


@lru_cache(maxsize=16)
def shared(
    noise_multiplier: float,  # Taken as exact
    batches: int,
    shares: int,  # k, at least 1 and below the number of batches
    second: float,  # Where k sums are under the second member, if at 1 under the first; <= 0
    rate: float,  # q over k / t, in (0, 1]
) -> Statistic:
    """Probabilities of a statistic of k shares: a sum of labels; places are numbered from 1 on.

    With A_c = exp(c s N - (c s)^2 / 2), s = 1/z and q about k / t, every batch gets the label
    log(1 - q + q A_1) - log(1 - q + q A_second), rounded to an integer times a step: the loss
    that it has if the record joins it with probability q. (Elementary symmetric polynomials,
    which the ratio is a quotient of, are about the products of 1 + x A at their saddle point x,
    and where the record stands out x is smaller than k / t.) The labels are added up. The sum
    is distributed alike whichever k batches have the record, so that its law is that of k
    labels of one distribution and t - k of another. Its probabilities are enclosed on both
    sides; those under the second member also tilted by e^label, for where they are small.
    """
    s, q = 1.0 / noise_multiplier, rate * shares / batches
    check_reach(s, batches)
    line = np.linspace(min(second, 0.0) * s - _REACH, s + _REACH, _POINTS)

    def loss(centre: float) -> Array:
        return np.asarray(np.log1p(q * np.expm1(centre * s * line - 0.5 * (centre * s) ** 2)))

    values = np.maximum.accumulate(loss(1.0) - (loss(second) if second else 0.0))
    plain, own, moved = (
        _moments(values, np.exp(-0.5 * (line - centre * s) ** 2)) for centre in (0.0, 1.0, second)
    )
    rest = batches - shares
    ends = [shares * m + rest * plain[0] for m, _ in (own, moved)]
    spread = math.sqrt(batches * plain[1] + shares * max(own[1], moved[1]))
    largest = float(np.abs(values).max())
    range_ = ends[0] - ends[1] + 24.0 * spread + 4.0 * largest
    step = min(_FINE * math.sqrt(plain[1]), _FINER * spread)
    step = max(step, range_ / _LONGEST)
    low, high = (math.floor(float(value) / step) for value in (values[0], values[-1]))
    labels = _spaced(low, high + 1)
    edges = np.interp((labels[1:] + labels[:-1]) * 0.5 * step, values, line)
    with ctx.workprec(_WORKING_BITS):
        points = [arb(edge) for edge in edges.tolist()]
        rates = [(arb(step) * int(k)).exp() for k in labels.tolist()]
        masses = []
        for centre in (0.0, 1.0, second):
            at = arb(centre) / arb(noise_multiplier)
            tails = [arb(1), *[upper_tail(point - at) for point in points], arb(0)]
            masses.append([one - other for one, other in pairwise(tails)])

    first = math.floor((ends[1] - 12.0 * spread - largest) / step)
    size = 1 << max(8, math.ceil(math.log2(range_ / step + 2.0)))
    window = Window(first=first, size=size)
    grid = Grid(step=step, tilt=0.0)
    one, other = (
        _probabilities(labels, [(masses[own], shares), (masses[0], rest)], grid, window)
        for own in (1, 2)
    )
    grid = Grid(step=step, tilt=1.0)
    of_second = [
        ([mass * rate for mass, rate in zip(part, rates, strict=True)], count)
        for part, count in ((masses[2], shares), (masses[0], rest))
    ]
    tilted = _probabilities(labels, of_second, grid, window)[1]
    # A tail falls, so that the smallest of all before is a bound as well.
    other = other[0], np.minimum.accumulate(np.minimum(other[1], tilted))
    levels = np.concatenate([_LEVELS, 1.0 - _LEVELS])
    wanted = [np.searchsorted(-tail, -levels) for _, tail in (one, other)]
    keep = np.unique(np.clip(np.concatenate(wanted), 0, size - 1))
    return Statistic(
        values=np.arange(1.0, keep.size + 1.0),
        first=(one[0][keep], one[1][keep]),
        second=(other[0][keep], other[1][keep]),
    )


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
    found = law(_noise(step, True), step.batches, first=step.kind == "removed")
    kept = (found.masses > _LEAST) & (found.ratios > 0.0)
    ratios, masses = found.ratios[kept], found.masses[kept]
    logs = np.log(masses)
    return sided_guide(step, np.log(ratios / step.batches), logs, logs, ratios)


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
    return sided_guide(step, losses, np.log(one[kept]), np.log(two[kept]), places)


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
