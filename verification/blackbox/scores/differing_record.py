"""The record in which two data sets differ, and where a release may hold something like it."""

from __future__ import annotations

import functools
import math

import numpy as np
from numpy.typing import NDArray

from rdpkit.verification.blackbox.neighbours import LabelledData, Neighbours
from rdpkit.verification.estimators.base import Array


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
