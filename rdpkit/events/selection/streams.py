r"""Streams of queries that tell much about a noisy threshold: what sparse vectors attain.

First n queries of the value u are to be below the threshold, then c of the value v to be above it
before j + 1 of them are not. With the threshold noise T, F the distribution function of a query's
noise, and B(x) the probability of c successes of chance x before the (j+1)-th failure, that has the
probability

    E[F(T - u)^n B(1 - F(T - v))].

On the neighbour the first queries are s higher and the others s lower; with T + s for T that is the
same with the law of T - s, and v lower by 2 s. If queries are monotone the others stay, and v is
lower by s. The first factor rises with T and the second falls, so that their values at the ends of
cells bound the mean from both sides. Any streams give a lower bound, so those of a search do.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Tail = Callable[[Array], Array]
"""Maps places to probabilities of more, for noise of scale 1 that is symmetric."""

# Deltas for which streams are chosen, and how many queries are asked at most.
_DELTAS, _MANY = (0.1, 1e-2, 1e-4, 1e-6, 1e-9), 10**6
_COARSE, _FINE = 250, 40_000
# More than all roundings of floats, relative to a probability.
_SLACK = 1e-9
_MOST = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Noises:
    """A noisy threshold and noisy queries."""

    threshold: Tail
    query: Tail
    ratio: float  # The scale of the queries' noise, in that of the threshold's
    moved: float  # How far a query moves, in the scale of the threshold's noise
    both_ways: bool  # Whether one query may rise while another one falls


def laplace(x: Array) -> Array:
    """The tail of Laplace noise."""
    half: Array = 0.5 * np.exp(-np.abs(x))
    return np.where(x > 0.0, half, 1.0 - half)


def normal(x: Array) -> Array:
    """The tail of Gaussian noise."""
    root = math.sqrt(0.5)
    return np.array([0.5 * math.erfc(root * one) for one in x.tolist()])


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """Which queries are asked, and what is looked for."""

    first: int  # How many are to be below the threshold
    centre: float  # Where that has the probability 1/2, if there are any
    place: float  # The value of the others
    above: int  # How many of them are to be above
    missed: int  # Before more than so many are not


def _chance(tail: Array, stream: Stream) -> Array:
    """B: successes before failures, by the negative binomial distribution."""
    total, term = np.zeros_like(tail), np.ones_like(tail)
    for k in range(stream.missed + 1):
        total += term
        term = term * (1.0 - tail) * (stream.above + k) / (k + 1)
    found: Array = np.minimum(total * tail**stream.above, 1.0)
    return found


def _below(noises: Noises, edges: Array, stream: Stream) -> Array:
    """F(t - u)^n at the edges."""
    if not stream.first:
        return np.ones_like(edges)
    # Where the power is 1/2, found by bisection.
    goal = -math.expm1(-math.log(2.0) / stream.first)
    low, high = -1.0, 60.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if noises.query(np.array([middle]))[0] > goal else (low, middle)
    tails = noises.query((edges - stream.centre) / noises.ratio + low)
    with np.errstate(divide="ignore"):
        found: Array = np.exp(stream.first * np.log1p(-tails))
    return found


def _masses(noises: Noises, edges: Array) -> Array:
    """Probabilities between edges, and beyond both ends."""
    above, below = noises.threshold(edges), noises.threshold(-edges)
    right = edges[:-1] >= 0.0
    inside = np.where(right, above[:-1] - above[1:], below[1:] - below[:-1])
    found: Array = np.concatenate([[below[0]], inside, [above[-1]]])
    return found


def _both_sides(noises: Noises, stream: Stream, count: int) -> Array:
    """The least and the largest probability on either data set, by so many cells."""
    edges = np.linspace(-14.0, 25.0, count)
    far = noises.moved * (2.0 if noises.both_ways else 1.0)
    first = np.concatenate([[0.0], _below(noises, edges, stream), [1.0]])
    sides = []
    for shift, lower in ((0.0, 0.0), (noises.moved, far)):
        tails = noises.query((edges - stream.place + lower) / noises.ratio)
        others = np.concatenate([[1.0], _chance(tails, stream), [0.0]])
        masses = _masses(noises, edges + shift)
        least = float(masses @ (first[:-1] * others[1:]))
        most = float(masses @ (first[1:] * others[:-1]))
        sides.append((least, most))
    return np.array(sides)


def probabilities(noises: Noises, stream: Stream) -> tuple[float, float]:
    """What the stream has on the first data set, at least, and on the second one, at most."""
    sides = _both_sides(noises, stream, _FINE)
    return float(sides[0, 0]) * (1.0 - _SLACK), float(sides[1, 1]) * (1.0 + _SLACK)


def _candidates(noises: Noises, most_above: int, queries: int) -> list[Stream]:
    above = min(most_above, _MOST, queries)
    allowed = queries - above
    missed = sorted({min(j, allowed) for j in (0, above // 4, above // 2, above, 2 * above)})
    unit = max(1.0, noises.ratio / math.sqrt(above))
    found = []
    for j, place in product(missed, (-4, -2, -1, 0, 0.5, 1, 2, 4)):
        left = allowed - j
        centres = (-2, -1, 0, 1, 2, 4, 8) if left else ()
        firsts = [(0, 0), *product({min(1, left), left}, centres)]
        for first, centre in firsts:
            one = Stream(
                first=first,
                centre=centre * unit,
                place=(centre + place) * unit,
                above=above,
                missed=j,
            )
            found.append(one)
    return found


@lru_cache(maxsize=64)
def best_streams(
    noises: Noises, most_above: int, queries: int = _MANY
) -> tuple[tuple[float, float], ...]:
    """Probabilities on both data sets, for the streams that tell most at each of some deltas."""
    candidates = _candidates(noises, most_above, queries)
    rough = np.array([_both_sides(noises, one, _COARSE).mean(axis=1) for one in candidates])
    p, q = rough.T
    with np.errstate(divide="ignore", invalid="ignore"):
        scores = [np.log(p - delta) - np.log(q) for delta in _DELTAS]
        # For many releases.
        scores.append((p - q) ** 2 / (q * (1.0 - q)))
    chosen = {int(np.argmax(np.nan_to_num(score, nan=-np.inf))) for score in scores}
    return tuple([probabilities(noises, candidates[index]) for index in sorted(chosen)])
