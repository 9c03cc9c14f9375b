"""Cells into which values are sorted, so that distributions can be compared by counting.

Cells are made of the release alone. What real records add falls into the outer cells of a number,
or into the cell of other categories, which the release leaves empty: the distance is then the same
as if each unknown category had a cell of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdpkit.mechanisms.evaluation.utility.samples import SampleColumn

MOST_CELLS = 20


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cells:
    """The cells of one column; there is one more for values that are missing."""

    name: str  # The column
    edges: NDArray[np.float64] | None
    """Where a cell of a number ends and the next one begins; None for categories."""
    labels: tuple[str, ...]
    """What the cells hold, without the last one; for categories the values themselves, and behind
    them a cell for all others.
    """

    @property
    def size(self) -> int:
        """How many there are, with that for missing values."""
        return len(self.labels) + 1

    def codes(self, column: SampleColumn) -> NDArray[np.int64]:
        """The number of the cell of each value."""
        if self.edges is not None:
            found = np.searchsorted(self.edges, column.values, side="right").astype(np.int64)
            found[np.isnan(column.values)] = len(self.labels)
            return found
        place: dict[Any, int] = {label: i for i, label in enumerate(self.labels[:-1])}
        place[None] = len(self.labels)
        other = len(self.labels) - 1
        values = column.values
        return np.fromiter((place.get(v, other) for v in values), np.int64, len(values))

    def shares(self, column: SampleColumn) -> NDArray[np.float64]:
        """The share of the records in each cell."""
        counts = np.bincount(self.codes(column), minlength=self.size)
        return counts / max(1, len(column.values))


def cells_of(column: SampleColumn) -> Cells:
    """The cells for a column, made of its values in the release.

    A number with few different values gets a cell for each, another one some twenty cells with
    about as many records each.
    """
    if column.kind == "category":
        known = sorted({v for v in column.values if v is not None})
        return Cells(name=column.name, edges=None, labels=(*known, "others"))
    values = column.values[~np.isnan(column.values)]
    distinct = np.unique(values)
    if distinct.size <= MOST_CELLS:
        edges = 0.5 * (distinct[1:] + distinct[:-1])
    else:
        shares = np.linspace(0.0, 1.0, MOST_CELLS + 1)[1:-1]
        edges = np.unique(np.quantile(values, shares, method="higher"))
        # A value that many records share has a cell of its own, up to the next larger one.
        repeated = np.quantile(values, shares, method="higher")
        often = np.unique(repeated[1:][repeated[1:] == repeated[:-1]])
        after = np.searchsorted(distinct, often, side="right")
        edges = np.unique(np.concatenate([edges, distinct[after[after < distinct.size]]]))
        edges = edges[edges > distinct[0]]
    ends = [column.shown(edge) for edge in edges]
    if distinct.size <= MOST_CELLS:
        labels = tuple(column.shown(value) for value in distinct) or ("any",)
    else:
        middle = [f"{low} to {high}" for low, high in pairwise(ends)]
        labels = (f"below {ends[0]}", *middle, f"{ends[-1]} or more")
    return Cells(name=column.name, edges=edges, labels=labels)


def total_variation(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    """Half of the sum of the differences: the share of records that would have to be moved."""
    return float(0.5 * np.abs(first - second).sum())
