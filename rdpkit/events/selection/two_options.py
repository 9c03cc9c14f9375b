"""Two options to choose from: what data sets attain, and what is said of scores."""

from __future__ import annotations

import math

from rdpkit.events.losses import OneOf
from rdpkit.events.pairs import TwoOutcomes

SCORES = "the sensitivity of the scores is that under the adjacency that is asked about"
"""The assumption of every event about scores."""

LEAST = 1e-150
"""Exponentials of larger numbers would have lost too many digits."""

_PLACES = (0.5, 0.25, 0.75, 0.125, 0.875, 0.0, 1.0)


def logistic_pairs(distance: float) -> OneOf:
    """The softmax of two options whose scores' difference moves by ``distance``.

    The better option's probability moves from 1 / (1 + e^-x) to 1 / (1 + e^(distance - x)); its
    loss is best where x is somewhere between 0 and the distance.
    """

    def chosen(x: float) -> float:
        return 1.0 / (1.0 + math.exp(-x)) if x > -700.0 else 0.0

    return _choices([(chosen(s * distance), chosen(s * distance - distance)) for s in _PLACES])


def laplace_pairs(distance: float) -> OneOf:
    """The larger of two scores with noise whose difference has Laplace tails."""

    def chosen(x: float) -> float:
        return 1.0 - 0.5 * math.exp(-x) if x >= 0.0 else 0.5 * math.exp(max(x, -700.0))

    return _choices([(chosen(s * distance), chosen(s * distance - distance)) for s in _PLACES])


def _choices(found: list[tuple[float, float]]) -> OneOf:
    pairs = [
        (TwoOutcomes(first=first, second=second),)
        for first, second in found
        if LEAST < second < first < 1.0
    ]
    return OneOf(choices=tuple(pairs) or ((),))
