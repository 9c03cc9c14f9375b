r"""A record in k of t batches, which k at random: a statistic of what is released.

With A_c = exp(c s N - (c s)^2 / 2), s = 1/z and q about k / t, every batch gets the label
log(1 - q + q A_1) - log(1 - q + q A_second), rounded to an integer times a step: the loss that it
has if the record joins it with probability q. (Elementary symmetric polynomials, which the ratio
is a quotient of, are about the products of 1 + x A at their saddle point x, and where the record
stands out x is smaller than k / t.) The labels are added up. The sum is distributed alike
whichever k batches have the record, so that its law is that of k labels of one distribution and
t - k of another. Its probabilities are enclosed on both sides; those under the second member also
tilted by e^label, for where they are small.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np
from flint import arb, ctx

from rdpkit.accountants.losses.grid import Grid, Indices, Tilted, Window, add_up
from rdpkit.accountants.losses.guide import Array
from rdpkit.accountants.losses.kinds.allocation.laws import Statistic, check_reach
from rdpkit.accountants.losses.kinds.base import upper_tail
from rdpkit.numerics.balls import float_above, float_below
from rdpkit.numerics.fourier import DOUBLE, extended

_BITS = 160
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
        with ctx.workprec(_BITS):
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
    """Probabilities of the sum of labels; its places are numbered from 1 on."""
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
    with ctx.workprec(_BITS):
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
