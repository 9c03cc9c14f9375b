"""Two kinds of options to choose from: what data sets attain, and what is said of scores."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise, product

import numpy as np

from rdpkit.events.losses import Attained
from rdpkit.events.pairs import TwoOutcomes

SCORES = "the sensitivity of the scores is that under the adjacency that is asked about"
"""The assumption of every event about scores."""

# Probabilities below this are exponentials of numbers above 69. The roundings of these, of the
# distance and of the place then stay below the 2^-44 that a pair of two outcomes allows for.
_LEAST = 1e-30

_PLACES = (0.5, 0.25, 0.75, 0.125, 0.875, 0.0, 1.0)
# And where the first option is seldom chosen, whatever the distance: for few releases.
_SELDOM = (-0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -7.0)
# With Laplace noise: how many options of the first kind and of the other one, and the farthest.
_KINDS = ((1, 6), (1, 3), (1, 2), (2, 2), (2, 3))
_FARTHEST = 80.0


def logistic_pairs(distance: float) -> Attained:
    """The softmax of two options whose scores' difference moves by ``distance``.

    The better option's probability moves from 1 / (1 + e^-x) to 1 / (1 + e^(distance - x)); its
    loss is best where x is somewhere between 0 and the distance.
    """

    def chosen(x: float) -> float:
        return 1.0 / (1.0 + math.exp(-x)) if x > -700.0 else 0.0

    places = (*[s * distance for s in _PLACES], *_SELDOM)
    return pairs_of([(chosen(x), chosen(x - distance)) for x in places])


def laplace_pairs(distance: float) -> Attained:
    """The larger of two scores with noise whose difference has Laplace tails."""

    def chosen(x: float) -> float:
        return 1.0 - 0.5 * math.exp(-x) if x >= 0.0 else 0.5 * math.exp(max(x, -700.0))

    return pairs_of([(chosen(s * distance), chosen(s * distance - distance)) for s in _PLACES])


def two_laplace_pairs(distance: float) -> Attained:
    """The larger of the maxima of two kinds of scores, each with Laplace noise of its own.

    Several options of a kind have their largest noise where it falls, whichever of them has it, so
    that they tell more than one of each kind.
    """
    if distance > _FARTHEST:
        return pairs_of([])
    places = (0.0, 0.5 * distance, distance, -0.5, -1.5, -3.0, -7.0)
    return pairs_of(
        [
            (_largest(x, *kinds), _largest(x - distance, *kinds))
            for x, kinds in product(places, _KINDS)
        ]
    )


@lru_cache(maxsize=1024)
def _largest(x: float, ours: int, others: int) -> float:
    """P(the largest of so many, all x higher, exceeds the largest of others), Laplace noise.

    Between 0 and x, and on either side, it is a mean of sums of exponentials, which Gauss and
    Legendre's rule has to all digits in cells of the length 2; all of it is above 0.
    """
    ends = sorted({min(x, 0.0) - 40.0, min(x, 0.0), max(x, 0.0), max(x, 0.0) + 45.0})
    cells = [np.linspace(a, b, math.ceil((b - a) / 2.0) + 1)[:-1] for a, b in pairwise(ends)]
    edges = np.append(np.concatenate(cells), ends[-1])
    nodes, weights = np.polynomial.legendre.leggauss(40)
    halves = np.diff(edges)[:, None] / 2.0
    at = edges[:-1, None] + halves * (1.0 + nodes)
    density, below = (0.5 * np.exp(-np.abs(at - place)) for place in (x, 0.0))
    lower = np.where(at > x, 1.0 - density, density) ** (ours - 1)
    chance = density * lower * np.where(at > 0.0, 1.0 - below, below) ** others
    return float(ours * np.sum(halves * weights * chance))


def pairs_of(
    found: Iterable[tuple[float, float]],  # Its probability on either data set
) -> Attained:
    """Pairs of two outcomes, from probabilities of the first; without those that are too far."""
    pairs = [
        (TwoOutcomes(first=first, second=second),)
        for first, second in found
        if _LEAST < second < first < 1.0
    ]
    return Attained(tuple(pairs) or ((),))
