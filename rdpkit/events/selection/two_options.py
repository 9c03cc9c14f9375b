"""Two options to choose from: what data sets attain, and what is said of scores."""

from __future__ import annotations

import math
from collections.abc import Iterable

from rdpkit.events.losses import Attained
from rdpkit.events.pairs import TwoOutcomes

SCORES = "the sensitivity of the scores is that under the adjacency that is asked about"
"""The assumption of every event about scores."""

# Probabilities below this are exponentials of numbers above 69. The roundings of these, of the
# distance and of the place then stay below the 2^-44 that a pair of two outcomes allows for.
_LEAST = 1e-30

_PLACES = (0.5, 0.25, 0.75, 0.125, 0.875, 0.0, 1.0)
# And where the first option is seldom chosen, whatever the distance: for single releases.
_SELDOM = (-2.0, -4.0, -7.0)


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
    """The larger of two scores, each with Laplace noise of its own."""

    def chosen(x: float) -> float:
        # The difference of two Laplace variables of scale 1.
        tail = 0.25 * (2.0 + abs(x)) * math.exp(-min(abs(x), 700.0))
        return 1.0 - tail if x >= 0.0 else tail

    places = (*[s * distance for s in (*_PLACES, -1.0, 2.0, 3.0)], *_SELDOM)
    return pairs_of([(chosen(x), chosen(x - distance)) for x in places])


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
