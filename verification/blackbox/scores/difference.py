"""Scores along the difference of the records in which the data sets differ.

If a mechanism adds noise to a sum, or a mean, of records, the difference of the two data sets is
known before any run: it is that of their records. No learnt score can be better than this one.
"""

from __future__ import annotations

import functools
import math

import numpy as np
from numpy.typing import NDArray

from rdpkit.verification.blackbox.neighbours import LabelledData, Neighbours
from rdpkit.verification.blackbox.scores.linear import Linear, linear
from rdpkit.verification.blackbox.scores.named_score import NamedScore
from rdpkit.verification.blackbox.scores.training_outputs import TrainingOutputs, standard
from rdpkit.verification.estimators.base import Array

# Weights of rows are learnt if there are at most this many rows.
_MOST_ROWS = 512
# Directions are compared on at most this many values of each side.
_MOST_VALUES = 2**22


@functools.lru_cache(maxsize=8)
def differing_records(pair: Neighbours) -> tuple[Array | None, Array | None]:
    """The features of the record that only D has, and of the one that only D' has.

    None for a data set that has no record of its own.
    """
    return _only_in(pair.first, pair.second), _only_in(pair.second, pair.first)


def _only_in(data: LabelledData, other: LabelledData) -> Array | None:
    found = list((data.records() - other.records()).elements())
    if not found:
        return None
    return np.frombuffer(found[0], dtype=np.float64, count=data.dimension)


def places_of_records(
    # The shapes of the arrays of a release, in the order in which they are flattened.
    shapes: tuple[tuple[int, ...], ...],
    *,
    features: int,  # The number of features of a record
) -> list[NDArray[np.intp]]:
    """Where a release has rows with as many numbers as a record has features.

    For each array whose last dimensions hold this many numbers, the places of its rows in
    the flattened output.
    """
    found, start = [], 0
    for shape in shapes:
        size = math.prod(shape)
        sizes = [math.prod(shape[place:]) for place in range(len(shape) + 1)]
        if features in sizes and size:
            found.append(np.arange(start, start + size).reshape(-1, features))
        start += size
    return found


def directions(
    # The outputs; their pair and their shapes say where the directions point.
    training: TrainingOutputs,
) -> list[tuple[str, Array]]:
    """Directions of a release along the records in which the data sets differ, with names.

    The largest weight of each is 1. It is empty if the pair is not known, or no part of a
    release has the dimension of a record.
    """
    if training.pair is None:
        return []
    found = []
    first, second = differing_records(training.pair)
    blocks = places_of_records(training.shapes, features=training.pair.first.dimension)
    width = training.p.shape[1]
    for name, vector in _vectors(first, second):
        weights = np.zeros(width)
        for places in blocks:
            weights[places] += vector
        found.append((name, weights))
    for places in blocks:
        if len(places) == places.shape[1] > 1:
            products = _products(first, second, features=len(places))
            weights = np.zeros(width)
            weights[places] = products
            found.append(("the products of the records", weights))
    sized = [(name, np.abs(weights).max(), weights) for name, weights in found]
    return [(name, weights / size) for name, size, weights in sized if size > 0.0]


def _products(first: Array | None, second: Array | None, *, features: int) -> Array:
    """The difference of the records' products, in units of their largest coordinate."""
    records = [np.zeros(features) if one is None else one for one in (first, second)]
    size = max(float(np.abs(one).max()) for one in records) or 1.0
    return np.asarray(
        np.outer(records[0] / size, records[0] / size)
        - np.outer(records[1] / size, records[1] / size)
    )


def _vectors(first: Array | None, second: Array | None) -> list[tuple[str, Array]]:
    found = []
    if first is not None and second is not None:
        found.append(("the difference of the records", first / 2.0 - second / 2.0))
    if first is not None:
        found.append(("the record of D alone", first))
    if second is not None:
        found.append(("the record of D' alone", second))
    sizes = [(name, float(np.abs(vector).max()), vector) for name, vector in found]
    return [(name, vector / size) for name, size, vector in sizes if size > 0.0]


def difference_scores(training: TrainingOutputs) -> list[NamedScore]:
    """Projections on the records in which the data sets differ, most useful first.

    Each direction is taken as it is, and with every coordinate divided by the square of its spread,
    which is best if the noise has another scale in each coordinate. If there are several rows, the
    projections of the rows are also weighted by a learnt linear score.
    """
    found = directions(training)
    if not found:
        return []
    some = training.within(_MOST_VALUES)
    scaling = standard(some)
    smallest = scaling.scale.min(initial=np.inf)
    precision = np.zeros(training.p.shape[1])
    precision[scaling.columns] = (smallest / scaling.scale) ** 2
    candidates = [(f"along {name}", weights) for name, weights in found]
    candidates += [
        (f"along {name}, scaled", weights * precision)
        for name, weights in found
        if (weights * precision).any()
    ]
    candidates += _of_rows(some, found)
    clear = [_clear(some, weights) for _, weights in candidates]
    order = np.argsort(-np.array(clear), kind="stable")
    return [
        NamedScore(
            name=candidates[place][0],
            score=Linear(weights=candidates[place][1]),
            family="difference",
            share=2.0,
        )
        for place in order
    ]


def _of_rows(training: TrainingOutputs, found: list[tuple[str, Array]]) -> list[tuple[str, Array]]:
    """Directions whose rows are weighted as a linear score of the rows' projections says."""
    assert training.pair is not None
    blocks = places_of_records(training.shapes, features=training.pair.first.dimension)
    rows = sum(len(places) for places in blocks)
    if not 1 < rows <= _MOST_ROWS:
        return []
    places: NDArray[np.intp] = np.concatenate(blocks)
    weighted = []
    for name, weights in found:
        p, q = (
            np.stack([side[:, row] @ weights[row] for row in places], axis=1)
            for side in (training.p, training.q)
        )
        learnt = linear(p, q)
        if learnt.units is None:
            combined = np.zeros(weights.size)
            combined[places] = weights[places] * np.asarray(learnt.weights)[:, None]
            weighted.append((f"along {name}, rows weighted", combined))
    return weighted


def _clear(training: TrainingOutputs, weights: Array) -> float:
    """The difference of the medians along a direction, in robust deviations."""
    p, q = (Linear(weights=weights)(side) for side in (training.p, training.q))
    low, middle, high = (
        0.5 * (np.quantile(p, share) / 2.0 + np.quantile(q, share) / 2.0)
        for share in (0.25, 0.5, 0.75)
    )
    gap = abs(float(np.median(p) / 2.0 - np.median(q) / 2.0))
    spread = float(high / 2.0 - low / 2.0)
    if spread > 0.0:
        return gap / spread
    return np.inf if gap > 0.0 and np.isfinite(middle) else 0.0
