r"""The sparse vector with Gaussian noise: a threshold, and few answers out of many.

Guarantee
---------
Let s be the sensitivity, m = 2 s (s if queries are monotone), and t and z the standard deviations
of the noise of the threshold and of a query. With at most k queries, c answers "above" and
r = a m^2 / (2 z^2) the divergence at order a is at most

    a s^2 / (2 t^2) + log(sum_{j <= c} C(k, j) e^(j (a-1) r)) / (a - 1)

and, for 0 <= w <= 1, at most

    a (w s)^2 / (2 t^2) + c log V_k / (a - 1),    V_0 = 1,
    V_k = sup(p^a q^(1-a) + (1-p)^a (1-q)^(1-a) V_(k-1)),    p = F(x), q = F(x + d),

F the tail of the normal distribution, over x and d in {(1 + w) s / z, -(1 - w) s / z} (if queries
are monotone the larger of the two numbers with d in {w s / z, -(1 - w) s / z} and in
{(1 - w) s / z, -w s / z}); and at most that of all queries less the threshold, which are jointly
normal: a s^2 Q / 2 with Q the largest v' S^-1 v, S = z^2 I + t^2 1 1', over v in {-1, 1}^k, or
{0, 1}^k if queries are monotone.

Assumes
-------
The noise is that of the event, and fresh for each query.

Source
------
Zhu and Wang, "Improving sparse vector technique with Renyi differential privacy", NeurIPS 2020,
Theorem 8, for one answer; the sum over several and V_k: rdpkit, theory page "Selections".
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from flint import arb, ctx

from rdpkit.adjacency import Adjacency
from rdpkit.bounds.base import Array, of_formula
from rdpkit.events import GaussianAboveThreshold
from rdpkit.numerics.balls import float_above

# Terms of the sum; of more answers every query is counted as one.
_MOST = 1000
# How far the threshold moves along, in parts of the sensitivity.
_SHARES = (0.0, 0.5, 1.0)
# The width of cells of x, and the part of the queries so far that is taken at once.
_WIDTH, _PART = 1 / 64, 0.07
# Shares down to this part of one are tried in cells whose gain at that one may be the largest.
_FALL, _RISE = 0.8, 1.0 - 1e-9
# Probabilities beyond so many standard deviations are below 1e-32; and the largest (a - 1) d.
_ROOM, _FARTHEST = 12, 30.0
# A move that is too small for floats is this one.
_NEAREST = 1e-300
# Nearer to 1 roundings would count, and in an unlikely number of queries, too.
_SMALLEST, _MOST_QUERIES = 1.05, 10**12
# No power of a probability is above the exponential of this, which no float exceeds.
_MOST_LOG = 690.0
# What covers the roundings of floats: relative ones of logarithms, and those of a sum near 1.
_OFF, _LEAST = 1e-13, 1e-15


class _NormalTails(NamedTuple):
    """Of points x: log F and log(1 - F), and the density over F and over 1 - F.

    They are the centres of balls whose radii are far below a rounding of floats.
    """

    above: Array
    below: Array
    hazard: Array
    reverse: Array

    def upto(self, cells: int) -> _NormalTails:
        return _NormalTails(*(row[:cells] for row in self))


@lru_cache(maxsize=32)
def _tails(lowest: int, d: float) -> _NormalTails:
    """Of the middles of all cells, moved by d."""
    rows = []
    with ctx.workprec(128):
        root, scale = arb(2).sqrt(), (2 * arb.pi()).sqrt()
        for place in (_places(lowest)[:-1] + _WIDTH / 2).tolist():
            x = arb(place) + arb(d)
            far, density = (abs(x) / root).erfc() / 2, (-x * x / 2).exp() / scale
            row = [far.log(), (-far).log1p(), density / far, density / (1 - far)]
            order = (0, 1, 2, 3) if place + d > 0.0 else (1, 0, 3, 2)
            rows.append([float(row[k].mid()) for k in order])
    return _NormalTails(*np.array(rows).T)


def _places(lowest: int) -> Array:
    """The ends of all cells; these are floats."""
    cells = round((_FARTHEST + 2 * _ROOM - lowest) / _WIDTH)
    return np.linspace(lowest, lowest + cells * _WIDTH, cells + 1)


def _bends(a: float, ends: Array, d: float) -> tuple[Array, Array]:
    """How much exponents bend in each cell: of powers of F, and of 1 - F.

    That is a h'(x) - (a-1) h'(x + d), up to the sign, h the hazard rate of the normal distribution.
    It has 0 < h' = h (h - x) < 1, 0 < h'' = h ((h - x)(2h - x) - 1) < 2, and is at most e^(-x^2/2)
    at an x below 0; that of -x is the density over 1 - F.
    """
    far = np.maximum(np.abs(ends[:-1]), np.abs(ends[1:] + d)) * (1.0 + _OFF)
    found = []
    for x in (-(ends[1:] + d), ends[:-1]):
        rate = np.where(x > 0.0, np.exp(-0.5 * x * x), math.inf) * (1.0 + _OFF)
        once = np.minimum(rate * (rate + far), 1.0)
        twice = np.minimum(rate * (1.0 + (rate + far) * (2.0 * rate + far)), 2.0)
        found.append(np.minimum(a * once, once + (a - 1.0) * d * twice) * (1.0 + _OFF))
    return found[0], found[1]


class _PowerInCells(NamedTuple):
    """A function of x in the middle of cells, less 1, its derivative, and what is added for both.

    In a cell the function is at most value + half abs(derivative) + beyond.
    """

    value: Array
    less_one: Array
    derivative: Array
    beyond: Array


def _power(
    a: float, logs: tuple[Array, Array], slopes: tuple[Array, Array], bend: Array
) -> _PowerInCells:
    """Of exp(a f(x) - (a-1) f(x + d)), with the second derivative of the exponent at most bend."""
    half = _WIDTH / 2
    here, there = logs
    size = a * np.abs(here) + (a - 1.0) * np.abs(there)
    exponent = a * here - (a - 1.0) * there + _OFF * size
    slope = a * slopes[0] - (a - 1.0) * slopes[1]
    steepest = np.abs(slope) + bend * half
    value, less_one = np.exp(exponent), np.expm1(exponent)
    largest = value * np.exp(steepest * half)
    unsure = _OFF * a * (1.0 + np.abs(slopes[0]) + np.abs(slopes[1]))
    return _PowerInCells(
        value=value * (1.0 + _OFF),
        less_one=less_one + _OFF * np.abs(less_one),
        derivative=value * slope,
        beyond=largest * (half * half / 2.0 * (bend + steepest**2) + half * unsure),
    )


def _gain(rows: Array, share: float) -> Array:
    """What a query adds to V in each cell, at most, relative to V, of which 1 is this share.

    It grows with the share: by no less than the value of a hit times 1 - y + e^y y^2 / 2 > 0, y the
    steepest slope of its exponent times half a cell.
    """
    hits, of_hits, misses, of_misses = rows
    found: Array = share * hits + misses + _WIDTH / 2 * np.abs(share * of_hits + of_misses)
    return found


def _log_v(a: float, ways: list[tuple[bool, float]], queries: int, limit: float) -> float:
    """Log V for so many queries, which grows by the largest factor of any cell, each time.

    As V grows the factor falls, so that one is taken for some that follow. Infinite above a limit.
    """
    gains: list[Array] = []
    tails: list[tuple[float, float]] = []
    for falls, d in ways:
        lowest = -_ROOM - math.ceil(d)
        highest = (a - 1.0) * d + _ROOM + math.sqrt(2.0 * math.log(queries + 1.0))
        cells = math.ceil((highest - lowest) / _WIDTH)
        here, there = _tails(lowest, 0.0).upto(cells), _tails(lowest, d).upto(cells)
        bends = _bends(a, _places(lowest)[: cells + 1], d)
        above = _power(a, (here.above, there.above), (-here.hazard, -there.hazard), bends[0])
        below = _power(a, (here.below, there.below), (here.reverse, there.reverse), bends[1])
        hit, miss = (above, below) if falls else (below, above)
        of_hits = (hit.value + hit.beyond, hit.derivative)
        gains.append(np.array([*of_hits, miss.less_one + miss.beyond, miss.derivative]))
        # Beyond the last cell the power of F falls, and the other is at most 1.
        tails.append((float(above.value[-1]), 1.0 if falls else 0.0))
    rows = near = np.concatenate(gains, axis=1)
    found, done, least = 0.0, 0, math.inf
    if any(math.isnan(tail) for tail, _ in tails):
        return math.inf
    while done < queries and found < limit:
        share = min(math.exp(-min(found, _MOST_LOG)) * (1.0 + _OFF), 1.0)
        if share < least:
            least = _FALL * share
            near = rows[:, ~(_gain(rows, share) < _RISE * _gain(rows, least).max())]
        # NaN stays NaN, being the first one, and then nothing is known.
        largest = max(float(_gain(near, share).max()), *(t * share**power for t, power in tails))
        times = min(max(1, int(_PART * done)), queries - done)
        found += times * math.log1p(largest * (1.0 + _OFF) + _LEAST * (1.0 + a))
        done += times
    return found * (1.0 + 1e-9) if done == queries and found < math.inf else math.inf


def _moved(event: Any, a: float, share: float, limit: float) -> float:
    """The bound if the threshold moves by this share; infinite if it is above the limit."""
    whole = 0.5 * a * (share * event.sensitivity / event.threshold_noise_std) ** 2
    scale = event.most_above / (a - 1.0)
    unit = max(event.sensitivity / event.query_noise_std * (1.0 + 4.0 * math.ulp(1.0)), _NEAREST)
    moves = [(1.0 + share, 1.0 - share)]
    if event.monotone_queries:
        moves = [(share, 1.0 - share), (1.0 - share, share)]
    largest = 0.0
    for both in moves:
        d = max(both) * unit
        if (a - 1.0) * d > _FARTHEST or d > _ROOM or 0.5 * a * (a - 1.0) * d * d > _MOST_LOG:
            return math.inf
        ways = [(falls, part * unit) for falls, part in zip((True, False), both, strict=True)]
        ways = [(falls, d * (1.0 + math.ulp(1.0))) for falls, d in ways if d > 0.0]
        largest = max(largest, _log_v(a, ways, event.queries, (limit - whole) / scale))
    return float((whole + scale * largest) * (1.0 + _OFF))


@lru_cache(maxsize=512)
def _best(event: Any, a: float, known: float) -> float:
    """The smallest of a known bound and those of some shares."""
    if a < _SMALLEST or event.queries > _MOST_QUERIES:
        return known
    for share in _SHARES:
        known = min(known, _moved(event, a, share, known))
    return known


def _divergence(event: Any, order: arb, adjacency: Adjacency) -> arb:
    known = _counted(event, order)
    at_most = float_above(known)
    found = _best(event, float(order), at_most)
    return arb(found) if found < at_most else known


def _counted(event: Any, order: arb) -> arb:
    """The bound that counts the choices of queries, or that of all queries together."""
    at_threshold = order * (arb(event.sensitivity) / arb(event.threshold_noise_std)) ** 2 / 2
    one = order * (arb(event.moved()) / arb(event.query_noise_std)) ** 2 / 2
    found = arb.pos_inf()
    most = min(event.most_above, event.queries)
    if most <= _MOST:
        # The largest term is taken out, so that no power is too large for a ball.
        choices = _choices(event.queries, most, ctx.prec)
        exponents = [each + j * (order - 1) * one for j, each in enumerate(choices)]
        top = max(exponents, key=lambda exponent: float(exponent.mid()))
        whole = sum([(exponent - top).exp() for exponent in exponents], arb(0))
        found = at_threshold + (top + whole.log()) / (order - 1)
    together: arb = order * arb(event.sensitivity) ** 2 * _jointly(event) / 2
    return together.min(found)


@lru_cache(maxsize=16)
def _choices(queries: int, most: int, bits: int) -> list[arb]:
    """Log C(k, j) for j up to ``most``, as balls with so many bits."""
    found, last = [arb(0)], 1
    for j in range(1, most + 1):
        last = last * (queries - j + 1) // j
        found.append(arb(last).log())
    return found


def _jointly(event: Any) -> arb:
    """Q = (|v|^2 - t^2 (sum v)^2 / (z^2 + k t^2)) / z^2 at its largest."""
    k, t, z = arb(event.queries), arb(event.threshold_noise_std), arb(event.query_noise_std)
    share = t * t / (z * z + k * t * t)
    if event.monotone_queries:
        ones = k.min(1 / (2 * share))
        longest: arb = ones - share * ones * ones
    else:
        longest = k - share * (event.queries % 2)
    return longest / (z * z)


BOUND = of_formula(
    _divergence,
    id="gaussian-above-threshold",
    title="Sparse vector with Gaussian noise",
    source="Zhu and Wang 2020, Theorem 8, for several answers: rdpkit, theory page: Selections",
    event_type=GaussianAboveThreshold,
)
