"""Columns as a matrix of numbers, in the units of the records that a model is trained on."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rdpkit.mechanisms.evaluation.utility.samples import Sample, SampleColumn

Matrix = NDArray[np.float64]

_MOST_CATEGORIES = 50  # Rarer ones have no column of their own
_FARTHEST = 8.0  # In deviations; outliers are cut there


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Encoder:
    """Turns records into rows of numbers.

    A number is centred and divided by its standard deviation; beside it stands whether it is
    missing, where some were missing in training. A category has a coordinate for each of its
    values. Everything comes from the sample that :func:`encoder_of` was given.
    """

    columns: tuple[tuple[str, tuple[str, ...] | tuple[float, float, bool]], ...]
    """The name of each column, and its values or its mean and standard deviation."""

    def rows(self, sample: Sample) -> Matrix:
        """The records as rows, shape (n, d)."""
        parts = [_encoded(sample.column(name), how) for name, how in self.columns]
        return np.concatenate(parts, axis=1) if parts else np.zeros((sample.rows, 0))


def encoder_of(sample: Sample) -> Encoder:
    """The encoder in the units of a sample."""
    return Encoder(columns=tuple((c.name, _how(c)) for c in sample.columns))


def _how(column: SampleColumn) -> tuple[str, ...] | tuple[float, float, bool]:
    if column.kind == "category":
        counts = Counter(v for v in column.values if v is not None)
        often = sorted(counts, key=lambda v: (-counts[v], v))[:_MOST_CATEGORIES]
        return tuple(sorted(often))
    missing = column.missing
    known = column.values[~missing]
    if not known.size:
        return 0.0, 1.0, True
    spread = float(known.std())
    return float(known.mean()), spread if spread > 0.0 else 1.0, bool(missing.any())


def _encoded(column: SampleColumn, how: tuple[str, ...] | tuple[float, float, bool]) -> Matrix:
    if column.kind == "category" and not how:
        return np.zeros((len(column.values), 1))
    if column.kind == "category":
        places = {value: i for i, value in enumerate(how)}
        codes = np.fromiter((places.get(v, -1) for v in column.values), np.int64)
        return np.asarray(codes[:, None] == np.arange(len(how))[None, :], np.float64)
    centre, spread, flagged = how
    missing = column.missing
    values = np.clip((column.values - float(centre)) / float(spread), -_FARTHEST, _FARTHEST)
    values[missing] = 0.0
    return np.column_stack([values, missing.astype(np.float64)]) if flagged else values[:, None]
