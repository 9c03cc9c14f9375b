r"""One of k noisy sums, at random, is moved: a bound at each epsilon on what any moves reveal.

In units of the noise let A_u = e^(u s g - (u s)^2 / 2), g standard normal, s = 1/z: the ratio of
N(u s) to N(0). With g_j known before sum j is seen, the divergence at lambda = e^l >= 1 is

    p E(c + mean of f_j)_+,  f_j = A_u - lambda A_v,  c = (1 - lambda) (1 - p) / p,

and E(f_j - x)_+ is at most that of A_u - lambda A_v with (u, v) = ``gains`` where x >= 0; where x
is below 0, E(-f_j + x)_+ is at most that of lambda A_u - A_v with (u, v) = ``losses`` (theory page
"How batches are made"). Both together belong to one distribution, which is larger in convex order
than all of these f_j, so that k independent copies of it bound the divergence.

Its values are split between the points of a lattice such that their mean stays as it is, and added
up by a transform with a proven error. Values above a cap count twice: as the cap in the sum, and
what they exceed it by on its own, (x + y)_+ being at most x_+ + y_+. Where the most negative values
end, they are moved up.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
from flint import arb, ctx

from rdpkit.accountants.losses.grid import Grid, Indices, Tilted, Window, add_up
from rdpkit.accountants.losses.guide import Array
from rdpkit.accountants.losses.kinds.base import MARGIN, Curve, LossKind, guide_of_curve, largest_of
from rdpkit.events.losses import NoLossDistributionError
from rdpkit.events.pairs import AllocatedMoves
from rdpkit.numerics.balls import float_above, upper_tail
from rdpkit.numerics.fourier import DOUBLE, U, extended

_BITS = 160
_LONGEST = 1 << 18
# The most places from the lowest to the highest value, of which few are used.
_WIDEST = 1 << 22
_MOST_SHIFT, _MOST_BATCHES = 12.0, 10**6
# How far apart the points of the normal distribution are, and how far they reach.
_APART, _REACH = 0.02, 9.0
# Relative errors of exponentials in floats, and of sums of floats.
_OFF, _SLACK = 1e-11, 1e-9
# The lattice: its step over a deviation of one value, and how many steps make the sum positive.
_FINE, _LEAST_STEPS, _MOST_STEPS = 0.25, 300.0, 800.0
_RARE, _TINY, _NOISE = 1e-3, 1e-20, 1e-2
# Knots of a curve: the change of its logarithm, how far it is followed, and how many there are.
_COMMON, _RARELY, _CHANGE, _LEAST, _MOST_KNOTS = 0.15, 0.02, 0.5, 1e-14, 300
_POWERS = (32.0, 24.0, 16.0, 12.0, 8.0, 6.0, 4.0, 3.0, 2.0, 1.0, 0.5)
_RATES = np.geomspace(1e-3, 1e3, 60)

Means = tuple[float, float]


@dataclass(frozen=True, slots=True)
class _NormalCells:
    """Cells of the line on one side, and their probabilities under three Gaussians."""

    edges: Array  # Ascending; shape (n + 1,)
    # Probabilities of the cells under N(u s), N(v s) and N(0), and beyond each edge; to nearest.
    cells: tuple[Array, Array, Array]
    beyond: tuple[Array, Array, Array]


@dataclass(frozen=True, slots=True)
class _Values:
    """The values x = a A_u - b A_v > 0, cell by cell, ascending."""

    edges: Array  # Of x, one more than cells
    off: Array  # How far an edge may be off
    masses: Array  # Probabilities
    means: Array  # Means times probabilities
    means_off: Array  # How far they may be off
    excess: Array  # Mean of what x exceeds each edge by, from above
    beyond: Array  # Probability that x is beyond each edge, to nearest


def _tails(edges: list[arb], centre: arb) -> tuple[Array, Array]:
    tails = [upper_tail(edge - centre) for edge in edges]
    cells = [left - right for left, right in pairwise(tails)]
    return np.array([float(one.mid()) for one in cells]), np.array([float(t.mid()) for t in tails])


@lru_cache(maxsize=16)
def _line(s: float, means: Means) -> _NormalCells:
    """Points from far below to far above all of the centres."""
    low, high = -_REACH + min(0.0, *means) * s, _REACH + max(0.0, *means) * s
    edges = np.linspace(low, high, math.ceil((high - low) * max(1.0, s) / _APART))
    with ctx.workprec(_BITS):
        points = [arb(edge) for edge in edges.tolist()]
        found = [_tails(points, arb(mean) * s) for mean in (*means, 0.0)]
    cells, beyond = zip(*found, strict=True)
    return _NormalCells(edges=edges, cells=tuple(cells), beyond=tuple(beyond))


def _values(edges: Array, s: float, means: Means, a: float, b: float) -> tuple[Array, Array]:
    """A A_u - b A_v at points, and how far it may be off."""
    first, second = (
        weight * np.exp(np.minimum(mean * s * edges - 0.5 * (mean * s) ** 2, 600.0))
        for weight, mean in zip((a, b), means, strict=True)
    )
    return first - second, _OFF * (first + second)


def _zero(s: float, means: Means, a: float, b: float) -> tuple[arb, float]:
    """Where x = a A_u - b A_v is 0, and the mean of x beyond it, rounded up."""
    u, v = means
    zero = (arb(b) / arb(a)).log() / ((arb(u) - v) * s) + (arb(u) + v) * s / 2
    known = a * upper_tail(zero - arb(u) * s) - b * upper_tail(zero - arb(v) * s)
    return zero, float_above(known)


def _side(s: float, means: Means, a: float, b: float) -> _Values | None:
    """The values above 0, or None where they have no probability to speak of."""
    line = _line(s, means)
    with ctx.workprec(_BITS):
        zero, known = _zero(s, means, a, b)
        first = int(np.searchsorted(line.edges, float(zero.mid()) + 1e-12))
        if first > line.edges.size - 4:
            return None
        ends = [zero, arb(float(line.edges[first]))]
        starts = [_tails(ends, arb(mean) * s) for mean in (*means, 0.0)]
    values, off = _values(line.edges[first:], s, means, a, b)
    cells = [
        np.concatenate([start[0], cell[first:]])
        for start, cell in zip(starts, line.cells, strict=True)
    ]
    beyond = [
        np.concatenate([start[1][:1], tail[first:]])
        for start, tail in zip(starts, line.beyond, strict=True)
    ]
    edges = np.maximum(np.concatenate([[0.0], values]), 0.0)
    heights = a * beyond[0] - b * beyond[1] - edges * beyond[2]
    off = np.concatenate([[0.0], off])
    excess = np.maximum(heights, 0.0) + off * beyond[2]
    excess += 16.0 * U * (a * beyond[0] + b * beyond[1] + edges * beyond[2])
    excess[0] = known
    return _Values(
        edges=edges,
        off=off,
        masses=cells[2],
        means=a * cells[0] - b * cells[1],
        means_off=8.0 * U * (a * cells[0] + b * cells[1]),
        excess=excess,
        beyond=beyond[2],
    )


def _split(side: _Values, end: int, step: float) -> tuple[Indices, Array]:
    """Places and masses on the lattice of all cells before ``end``, means kept, rounded up."""
    low = np.maximum(np.floor((side.edges[:end] - side.off[:end]) / step * (1.0 - 4.0 * U)), 0.0)
    high = np.ceil((side.edges[1 : end + 1] + side.off[1 : end + 1]) / step * (1.0 + 4.0 * U))
    high = np.maximum(high, low + 1.0)
    masses, means = side.masses[:end], side.means[:end]
    off = side.means_off[:end] + 8.0 * U * (np.abs(means) + high * step * masses)
    width = (high - low) * step
    to_high = np.clip((means - low * step * masses + off) / width, 0.0, masses)
    to_low = np.clip((high * step * masses - means + off) / width, 0.0, masses)
    places = np.concatenate([low, high]).astype(np.int64)
    return places, np.concatenate([to_low, to_high]) * (1.0 + 16.0 * U)


def _chernoff(places: Array, masses: Array, count: int, sign: float, unit: float) -> float:
    """A place that the sum is beyond with a probability of about ``_TINY``."""
    best = math.inf
    for rate in (_RATES / unit).tolist():
        exponents = rate * sign * places
        top = float(exponents.max())
        if top > 600.0:
            break
        cumulant = math.log(float(np.dot(masses, np.exp(exponents))) / float(masses.sum()))
        best = min(best, (count * cumulant - math.log(_TINY)) / rate)
    return sign * best


def _on_lattice(
    up: _Values, down: _Values, k: int, ratio: float, need: float
) -> tuple[float, Indices, Array, float] | None:
    """The step of a lattice, its points and their masses, and the mean beyond the cap.

    ``need`` is about what the positive values must add up to, with which the numbers are chosen.
    None where a lattice that resolves common values would be too long for rare ones.
    """
    usual = int(np.searchsorted(-k * np.cumsum(up.masses[::-1])[::-1], -_RARE))
    usual = min(max(usual, 1), up.edges.size - 1)
    # The deviation of one value, without rare jumps.
    gained, lost = up.edges[1 : usual + 1], np.minimum(down.edges[1:], need + 100.0 * ratio)
    mean = float((up.masses[:usual] * gained).sum() - (down.masses * lost).sum())
    square = float((up.masses[:usual] * gained**2).sum() + (down.masses * lost**2).sum())
    deviation = math.sqrt(max(square - mean * mean, 1e-8 * square))
    spread = math.sqrt(k) * deviation
    cap = min(int(np.searchsorted(up.edges, need + 7.0 * spread)) + 1, up.edges.size - 1)
    bottom = int(np.searchsorted(-down.excess, -1e-3 * (need + spread) / k)) + 1
    # Beyond twice the cap nothing brings a sum back.
    bottom = min(bottom, int(np.searchsorted(down.edges, 2.0 * float(up.edges[cap]))) + 1)
    bottom = min(bottom, down.edges.size - 1)
    scale = need + spread
    step = min(max(_FINE * deviation, scale / _MOST_STEPS), scale / _LEAST_STEPS)
    if step == 0.0:
        # Moves are so small that floats know no deviation.
        return None
    step = 2.0 ** math.floor(math.log2(step))
    if float(up.edges[cap]) + float(down.edges[bottom]) > _WIDEST * step:
        return None

    up_places, up_masses = _split(up, cap, step)
    down_places, down_masses = _split(down, bottom, step)
    # What is beyond the last cells: at most the cap, and at least the bottom.
    top = max(math.floor((float(up.edges[cap]) - float(up.off[cap])) / step), 0)
    low = max(math.floor((float(down.edges[bottom]) - float(down.off[bottom])) / step), 0)
    rest = [float(up.beyond[cap]), float(down.beyond[bottom])]
    none = max(1.0 - float(up.beyond[0]) - float(down.beyond[0]), 0.0) + 4.0 * U
    places = np.concatenate([up_places, -down_places, [top, -low, 0]])
    masses = np.concatenate([up_masses, down_masses, [*rest, none]]) * (1.0 + 4.0 * U)
    # The cap on the lattice is below the edge.
    above = max(float(up.edges[cap]) + float(up.off[cap]) - top * step, 0.0)
    first = int(places.min())
    folded: Array = np.asarray(np.bincount(places - first, masses) * (1.0 + _OFF), dtype=np.float64)
    indices = np.flatnonzero(folded).astype(np.int64)
    return step, indices + first, folded[indices], float(up.excess[cap]) + above * rest[0]


def divergence(step: AllocatedMoves, ratio: float) -> float:
    """An upper bound on the divergence at a ratio >= 1, taken as exact."""
    s, k = (1.0 + MARGIN) / step.noise_multiplier, step.batches
    p = min(step.presence * (1.0 + MARGIN), 1.0)
    up = _side(s, step.gains, 1.0, ratio)
    down = _side(s, step.losses, ratio, 1.0)
    known = _known(step, ratio)
    if up is None or down is None:
        return known
    on_lattice = _on_lattice(up, down, k, ratio, k * (ratio - 1.0) / p)
    if on_lattice is None:
        return known
    lattice, indices, masses, excess = on_lattice
    first, last = int(indices[0]), int(indices[-1])
    # Jumps get as much weight as everything else, so that transforms resolve them.
    tilt, jumps = 0.0, indices > 0
    for power in _POWERS:
        tilt = power / last
        if k * float((masses[jumps] * np.expm1(tilt * indices[jumps])).sum()) < 1.0:
            break
    masses = masses * np.exp(tilt * indices) * (1.0 + _OFF)
    part = Tilted(indices=indices, masses=masses, scale=0.0)
    unit = max(abs(first), last)
    floats = indices.astype(np.float64)
    high, lowest = (_chernoff(floats, masses, k, sign, unit) for sign in (1.0, -1.0))
    start, end = max(math.floor(lowest), k * first), min(math.ceil(high), k * last)
    size = 1 << max(6, math.ceil(math.log2(end - start + 2.0)))
    if size > _LONGEST:
        return known
    window, grid = Window(first=start, size=size), Grid(step=1.0, tilt=tilt)
    # What is needed, rounded down.
    offset = k * (1.0 - ratio) * (1.0 - p) / p * (1.0 - 8.0 * U) if p < 1.0 else 0.0
    sums = start + np.arange(size)
    positive = sums * lattice + offset > 0.0
    gains = (sums[positive] * lattice + offset) * np.exp(-tilt * sums[positive])
    for format_ in (DOUBLE, extended() or DOUBLE):
        total = add_up([(part, k)], grid, window, format_=format_)
        found = float((total.composition.above()[positive] * gains).sum()) * (1.0 + _SLACK)
        if total.composition.error * float(gains.sum()) < _NOISE * found:
            break
    largest = max(k * last * lattice + offset, 0.0)
    found += largest * float_above(total.infinite) * (1.0 + _SLACK)
    return min((p / k * found + p * excess) * (1.0 + _SLACK) + 1e-300, known)


def _known(step: AllocatedMoves, ratio: float) -> float:
    """The same as if it was known which sum is moved."""
    s = (1.0 + MARGIN) / step.noise_multiplier
    p = min(step.presence * (1.0 + MARGIN), 1.0)
    with ctx.workprec(_BITS):
        return p * _zero(s, step.gains, 1.0, ratio)[1] * (1.0 + 4.0 * U)


@lru_cache(maxsize=16)
def _knots(step: AllocatedMoves) -> tuple[tuple[float, float], ...]:
    """Ratios from 1 on with upper bounds on the divergence there, nowhere increasing.

    The distance between knots is such that the logarithm of the bound changes about equally.
    """
    if not (1.0 / step.noise_multiplier <= _MOST_SHIFT and step.batches <= _MOST_BATCHES):
        raise NoLossDistributionError(
            "One of several sums at random is computed for noise multipliers of at least "
            f"{1.0 / _MOST_SHIFT:.2g} and at most {_MOST_BATCHES} sums, got {step!r}."
        )
    loss, value = 0.0, divergence(step, 1.0)
    found = [(1.0, value)]
    width = 0.5 * _COMMON * value
    while value > _LEAST and len(found) < _MOST_KNOTS:
        loss += width
        ratio = math.exp(loss)
        before, value = value, min(divergence(step, ratio), value)
        found.append((ratio, value))
        # Many epochs add up common losses, and one is a matter of rare ones.
        wanted = _COMMON if value > _RARELY * found[0][1] else _CHANGE
        change = math.log(before / value) if value < before else 0.1 * wanted
        width *= min(max(wanted / change, 0.5), 2.0)
    return tuple(found)


def _right(step: AllocatedMoves) -> Curve:
    """Chords between the knots, in e^loss: the true curve is convex; constant beyond the last."""
    knots = _knots(step)
    ratios = [ratio for ratio, _ in knots]
    values = [arb(value) for _, value in knots]

    def chord(at: int, ratio: arb) -> arb:
        if at >= len(knots) - 1:
            return values[-1]
        low = arb(ratios[at])
        share = (ratio - low) / (arb(ratios[at + 1]) - low)
        return values[at] + share * (values[at + 1] - values[at])

    def height(loss: arb) -> arb:
        ratio = loss.exp()
        at = max(bisect_right(ratios, float(ratio.mid())) - 1, 0)
        if at < len(ratios) - 1 and not ratio < ratios[at + 1]:
            return largest_of([chord(at, ratio), chord(at + 1, ratio)])
        if at and not ratio >= ratios[at]:
            return largest_of([chord(at - 1, ratio), chord(at, ratio)])
        return chord(at, ratio)

    return height


def _curve(step: AllocatedMoves, leaks_more: bool) -> Curve:
    if not leaks_more:
        raise TypeError(f"No pair of distributions is known for {step!r}.")
    right, left = _right(step), _right(step.reversed())

    def both(loss: arb) -> arb:
        return loss.exp() * left(-loss) - loss.expm1() if loss < 0 else right(loss)

    return both


def _atoms(step: AllocatedMoves) -> Array:
    right, left = (np.log([ratio for ratio, _ in _knots(one)]) for one in (step, step.reversed()))
    return np.concatenate([-left[:0:-1], right])


ALLOCATED_MOVES = LossKind(
    curve=_curve,
    guide=lambda step, reach: guide_of_curve(_curve(step, True), _atoms(step), reach),
    infinite=lambda step: arb(_knots(step)[-1][1]),
    atoms=_atoms,
)
