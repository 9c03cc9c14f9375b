"""Scores of how near a release comes to the record in which the data sets differ.

A mechanism that releases a record as it is, even once in a thousand runs, is seen at once by the
distance to that record, and by no sum.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rdpkit.verification.blackbox.mistakes import MistakeKind, mistake_of
from rdpkit.verification.blackbox.scores.difference import (
    differing_records,
    places_of_records,
)
from rdpkit.verification.blackbox.scores.named_score import NamedScore
from rdpkit.verification.blackbox.scores.separation import clearness
from rdpkit.verification.blackbox.scores.training_outputs import TrainingOutputs
from rdpkit.verification.estimators.base import Array

# Distances are measured from this one on, relative to the size of the record.
_NEAREST = 1e-9
# A number is a record's coordinate if they differ by less than this, relative to the coordinate.
_EQUAL = 1e-6
# Where no part of a release has the dimension of a record, so many columns are compared with all of
# its coordinates.
_MOST_COLUMNS = 64
# Outputs in the units of the record are clipped here.
_FURTHEST = 1e100
# Scores are compared on at most this many values of each side.
_MOST_VALUES = 2**22
_SHARE = 0.5


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RecordDistance:
    """How much nearer a release comes to D's record than to that of D'."""

    places: NDArray[np.intp]
    """The places in the flattened output that are compared with a record; shape (rows, features).
    """
    # The records; shape (features,).
    first: Array | None
    second: Array | None
    angle: bool  # Whether to compare directions, which clipping does not change

    def __call__(self, outputs: Array, /) -> Array:
        """Logarithms of distances: that to D' less that to D."""
        found = np.zeros(len(outputs))
        for sign, record in ((-1.0, self.first), (1.0, self.second)):
            if record is not None:
                found += sign * np.log(self._distance(outputs, record) + _NEAREST)
        return found

    def _distance(self, outputs: Array, record: Array) -> Array:
        size = float(np.abs(record).max()) or 1.0
        target = record / size
        nearest = np.full(len(outputs), np.inf)
        for row in self.places:
            with np.errstate(over="ignore"):
                unit = np.clip(outputs[:, row] / size, -_FURTHEST, _FURTHEST)
            if self.angle:
                largest = np.abs(unit).max(axis=1, keepdims=True)
                unit /= np.where(largest > 0.0, largest, 1.0)
                length = np.sqrt(np.einsum("ij,ij->i", unit, unit))
                unit /= np.where(length > 0.0, length, 1.0)[:, None]
                distance = np.abs(unit - target / np.linalg.norm(target)).max(axis=1)
            else:
                distance = np.abs(unit - target).mean(axis=1)
            nearest = np.minimum(nearest, distance)
        return nearest


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Coincidences:
    """How many numbers of a release are coordinates of D's record, less those of D' alone."""

    places: NDArray[np.intp]  # The places in the flattened output; shape (k,)
    # For each place the coordinates to compare with, shape (k,), NaN where there is none; or one
    # list of coordinates in ascending order for all places.
    first: Array
    second: Array
    everywhere: bool  # Whether any place may hold any coordinate

    def __call__(self, outputs: Array, /) -> Array:
        """The number for each output."""
        values = outputs[:, self.places]
        return np.asarray(self._equal(values, self.first) - self._equal(values, self.second))

    def _equal(self, values: Array, coordinates: Array) -> Array:
        if not self.everywhere:
            equal = np.abs(values / 2.0 - coordinates / 2.0) <= 0.5 * _EQUAL * np.abs(coordinates)
            return np.asarray(equal.sum(axis=1), dtype=np.float64)
        if not len(coordinates):
            return np.zeros(len(values))
        places = np.searchsorted(coordinates, values)
        found = np.zeros(values.shape, dtype=np.bool_)
        for near in (places - 1, places):
            nearest = coordinates[np.clip(near, 0, len(coordinates) - 1)]
            found |= np.abs(values / 2.0 - nearest / 2.0) <= 0.5 * _EQUAL * np.abs(nearest)
        return np.asarray(found.sum(axis=1), dtype=np.float64)


def record_scores(training: TrainingOutputs) -> list[NamedScore]:
    """Distances to, and coincidences with, the records that differ; the clearest comes first."""
    if training.pair is None:
        return []
    first, second = differing_records(training.pair)
    blocks = places_of_records(training.shapes, features=training.pair.first.dimension)
    found: list[tuple[str, RecordDistance | Coincidences]] = []
    if blocks:
        rows = np.concatenate(blocks)
        found.append(
            ("distance to the record", _distance(rows, first, second, angle=False)),
        )
        if rows.shape[1] > 2:
            found.append(
                ("angle to the record", _distance(rows, first, second, angle=True)),
            )
        one, two = _own_coordinates(first, second)
        found.append(
            (
                "coordinates of the record",
                Coincidences(
                    places=rows.ravel(),
                    first=np.tile(one, len(rows)),
                    second=np.tile(two, len(rows)),
                    everywhere=False,
                ),
            )
        )
    columns = training.numbers[:_MOST_COLUMNS]
    if not blocks and len(columns):
        coordinates: list[Array] = [
            np.zeros(0) if record is None else np.unique(record[record != 0.0])
            for record in (first, second)
        ]
        own = [
            np.setdiff1d(coordinates[0], coordinates[1]),
            np.setdiff1d(coordinates[1], coordinates[0]),
        ]
        found.append(
            (
                "coordinates of the record",
                Coincidences(places=columns, first=own[0], second=own[1], everywhere=True),
            )
        )
    some = training.within(_MOST_VALUES)
    clear = [clearness(score(some.p), score(some.q)) for _, score in found]
    return [
        NamedScore(
            name=found[place][0],
            score=found[place][1],
            family="record",
            share=_SHARE,
            explanation=mistake_of(MistakeKind.EXACT_RECORD_RELEASED),
        )
        for place in np.argsort(-np.array(clear), kind="stable")
    ]


def _distance(
    rows: NDArray[np.intp], first: Array | None, second: Array | None, *, angle: bool
) -> RecordDistance:
    if angle:
        # A record of zeros has no direction.
        first, second = (
            record if record is not None and record.any() else None for record in (first, second)
        )
    return RecordDistance(places=rows, first=first, second=second, angle=angle)


def _own_coordinates(first: Array | None, second: Array | None) -> tuple[Array, Array]:
    """Each record's coordinates, NaN where they are 0 or the same in both."""
    width = len(first if first is not None else second if second is not None else ())
    nothing = np.full(width, np.nan)
    one = nothing if first is None else np.where(first == 0.0, np.nan, first)
    two = nothing if second is None else np.where(second == 0.0, np.nan, second)
    same = one == two
    return np.where(same, np.nan, one), np.where(same, np.nan, two)
