"""Scores that follow from the records in which the data sets differ.

If a mechanism adds noise to a sum, or a mean, of records, the difference of the two data sets is
known before any run: it is that of their records. No learnt score can be better than the projection
on it. A mechanism that releases a record as it is, even once in a thousand runs, is seen at once by
the distance to that record, and by no sum.
"""

from __future__ import annotations

import math
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from rdpkit.verification.blackbox.mistakes import MistakeKind, mistake_of
from rdpkit.verification.blackbox.neighbours import LabelledData, Neighbours
from rdpkit.verification.blackbox.scores.linear import Linear, linear
from rdpkit.verification.blackbox.scores.named_score import (
    NamedScore,
    TrainingOutputs,
    clearness,
    standard,
)
from rdpkit.verification.estimators.base import Array, OutputScore

# Weights of rows are learnt if there are at most this many rows.
_MOST_ROWS = 512
# Directions, and scores, are compared on at most this many values of each side.
_MOST_VALUES = 2**22


@lru_cache(maxsize=8)
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
    named = [("the record of D alone", first), ("the record of D' alone", second)]
    if first is not None and second is not None:
        named.insert(0, ("the difference of the records", first / 2.0 - second / 2.0))
    for name, record in named:
        size = 0.0 if record is None else float(np.abs(record).max())
        if record is None or not size > 0.0:
            continue
        vector, weights = record / size, np.zeros(width)
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
    clear = []
    for _, weights in candidates:
        # The difference of the medians along a direction, in robust deviations.
        p, q = map(Linear(weights), (some.p, some.q))
        low, middle, high = (
            0.5 * (np.quantile(p, share) / 2.0 + np.quantile(q, share) / 2.0)
            for share in (0.25, 0.5, 0.75)
        )
        gap = abs(float(np.median(p) / 2.0 - np.median(q) / 2.0))
        spread = float(high / 2.0 - low / 2.0)
        certain = np.inf if gap > 0.0 and np.isfinite(middle) else 0.0
        clear.append(gap / spread if spread > 0.0 else certain)
    order = np.argsort(-np.array(clear), kind="stable")
    return [
        NamedScore(name, Linear(weights), family="difference", share=2.0)
        for name, weights in (candidates[place] for place in order)
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


# Distances are measured from this one on, relative to the size of the record.
_NEAREST = 1e-9
# A number is a record's coordinate if they differ by less than this, relative to the coordinate.
_EQUAL = 1e-6
# Where no part of a release has the dimension of a record, so many columns are compared with all of
# its coordinates.
_MOST_COLUMNS = 64
# Outputs in the units of the record are clipped here.
_FURTHEST = 1e100
_SHARE = 0.5


def record_distance(
    # The places in the flattened output that are compared with a record; shape (rows, features).
    places: NDArray[np.intp],
    records: tuple[Array | None, Array | None],  # Each of shape (features,)
    angle: bool,  # Whether to compare directions, which clipping does not change
    outputs: Array,
    /,
) -> Array:
    """How much nearer releases come to D's record than to that of D'.

    That is the logarithm of the distance to D' less that to D.
    """
    found = np.zeros(len(outputs))
    for sign, record in zip((-1.0, 1.0), records, strict=True):
        if record is None:
            continue
        size = float(np.abs(record).max()) or 1.0
        target = record / size
        nearest = np.full(len(outputs), np.inf)
        for row in places:
            with np.errstate(over="ignore"):
                unit = np.clip(outputs[:, row] / size, -_FURTHEST, _FURTHEST)
            if angle:
                largest = np.abs(unit).max(axis=1, keepdims=True)
                unit /= np.where(largest > 0.0, largest, 1.0)
                length = np.sqrt(np.einsum("ij,ij->i", unit, unit))
                unit /= np.where(length > 0.0, length, 1.0)[:, None]
                distance = np.abs(unit - target / np.linalg.norm(target)).max(axis=1)
            else:
                distance = np.abs(unit - target).mean(axis=1)
            nearest = np.minimum(nearest, distance)
        found += sign * np.log(nearest + _NEAREST)
    return found


def coincidences(
    places: NDArray[np.intp],  # The places in the flattened output; shape (k,)
    # Of either record, for each place the coordinate to compare with, shape (k,), NaN where there
    # is none; or one list of coordinates in ascending order for all places.
    coordinates: tuple[Array, Array],
    everywhere: bool,  # Whether any place may hold any coordinate
    outputs: Array,
    /,
) -> Array:
    """How many numbers of a release are coordinates of D's record, less those of D' alone."""
    values, found = outputs[:, places], np.zeros(len(outputs))
    for sign, own in zip((1.0, -1.0), coordinates, strict=True):
        compared = [own]
        if everywhere:
            # The coordinates next to a value, if there are any.
            above, last = np.searchsorted(own, values), len(own) - 1
            beside = (above - 1, above) if len(own) else ()
            compared = [own[np.clip(place, 0, last)] for place in beside]
        equal = np.zeros(values.shape, dtype=np.bool_)
        for near in compared:
            equal |= np.abs(values / 2.0 - near / 2.0) <= 0.5 * _EQUAL * np.abs(near)
        found += sign * equal.sum(axis=1)
    return found


def record_scores(training: TrainingOutputs) -> list[NamedScore]:
    """Distances to, and coincidences with, the records that differ; the clearest comes first."""
    if training.pair is None:
        return []
    records = differing_records(training.pair)
    blocks = places_of_records(training.shapes, features=training.pair.first.dimension)
    found: list[tuple[str, OutputScore]] = []
    columns = training.numbers[:_MOST_COLUMNS]
    if blocks:
        rows = np.concatenate(blocks)
        distance = partial(record_distance, rows, records, False)
        found.append(("distance to the record", distance))
        if rows.shape[1] > 2:
            # A record of zeros has no direction.
            one, two = (None if its is None or not its.any() else its for its in records)
            found.append(("angle to the record", partial(record_distance, rows, (one, two), True)))
        # A coordinate that is 0, or the same in both records, says nothing.
        given = [np.full(rows.shape[1], np.nan) if its is None else its for its in records]
        alike = given[0] == given[1]
        first, second = (
            np.tile(np.where(alike | (its == 0.0), np.nan, its), len(rows)) for its in given
        )
        own_places = partial(coincidences, rows.ravel(), (first, second), False)
        found.append(("coordinates of the record", own_places))
    elif len(columns):
        first, second = (
            np.zeros(0) if record is None else np.unique(record[record != 0.0])
            for record in records
        )
        own = (np.setdiff1d(first, second), np.setdiff1d(second, first))
        found.append(("coordinates of the record", partial(coincidences, columns, own, True)))
    some = training.within(_MOST_VALUES)
    clear = [clearness(score(some.p), score(some.q)) for _, score in found]
    exact = mistake_of(MistakeKind.EXACT_RECORD_RELEASED)
    return [
        NamedScore(*found[place], family="record", share=_SHARE, explanation=exact)
        for place in np.argsort(-np.array(clear), kind="stable")
    ]
