"""Each column on its own: ranges, categories, missing values; and how numbers move together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdpkit.mechanisms.data.tables.schema import Column, Schema
from rdpkit.mechanisms.evaluation.utility.samples import Sample, SampleColumn

# Values are sorted into cells, which are made of the release alone. What real records add falls
# into the outer cells of a number, or into the cell of other categories, which the release leaves
# empty: the distance is then the same as if each unknown category had a cell of its own.

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
        return shares(self.codes(column), self.size)


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


# How far the distributions of single columns and of pairs of columns are from the real ones.

MOST_COLUMNS = 40
"""Pairs are made of at most so many columns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MarginalError:
    """How far one distribution is from the real one."""

    columns: tuple[str, ...]  # One column, or two
    error: float  # Total variation distance to the real records, in [0, 1]
    floor: float | None
    """The distance between two random halves of the real records; None if it was not measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Marginals:
    """Distances of all columns and of pairs of columns."""

    # In the order of the columns.
    single: tuple[MarginalError, ...]
    pairs: tuple[MarginalError, ...]
    left_out: int  # How many columns were not compared, because there are too many


def mean(values: Sequence[float | None]) -> float | None:
    """The mean, or None if a value is not known or there is none."""
    known = [value for value in values if value is not None]
    return None if not known or len(known) < len(values) else float(np.mean(known))


def compared_columns(synthetic: Sample) -> Sample:
    """The columns that are compared: all, or those that vary most if there are very many.

    It is chosen by the release alone. Columns of categories are always among them.
    """
    if len(synthetic.columns) <= MOST_COLUMNS:
        return synthetic
    categories = [c for c in synthetic.columns if c.kind == "category"][:MOST_COLUMNS]
    numbers = [c for c in synthetic.columns if c.kind == "number"]
    spreads = [-float(np.nanvar(c.values)) for c in numbers]
    room = min(MOST_COLUMNS // 2, MOST_COLUMNS - len(categories))
    chosen = {numbers[i].name for i in np.argsort(spreads, kind="stable")[:room]}
    chosen |= {c.name for c in categories}
    return Sample(columns=tuple(c for c in synthetic.columns if c.name in chosen))


def marginal_errors(
    # With the same columns.
    synthetic: Sample,
    real: Sample,
    *,
    # Splits the real records into the two halves whose distance is the floor; None for no floor.
    rng: np.random.Generator | None,
) -> Marginals:
    """Compare all columns and pairs of columns of two samples."""
    chosen = compared_columns(synthetic)
    cells = [cells_of(column) for column in chosen.columns]
    made = [c.codes(column) for c, column in zip(cells, chosen.columns, strict=True)]
    true = [c.codes(real.column(c.name)) for c in cells]
    half = None if rng is None else rng.permutation(real.rows) < real.rows // 2
    single = tuple(
        _distance((c.name,), m, t, half, c.size) for c, m, t in zip(cells, made, true, strict=True)
    )
    pairs = tuple(
        _distance(
            (cells[i].name, cells[j].name),
            made[i] * cells[j].size + made[j],
            true[i] * cells[j].size + true[j],
            half,
            cells[i].size * cells[j].size,
        )
        for i, j in combinations(range(len(cells)), 2)
    )
    left_out = len(synthetic.columns) - len(chosen.columns)
    return Marginals(single=single, pairs=pairs, left_out=left_out)


def _distance(
    names: tuple[str, ...],
    made: NDArray[np.int64],
    true: NDArray[np.int64],
    half: NDArray[np.bool_] | None,
    size: int,
) -> MarginalError:
    floor = None
    if half is not None and 0 < half.sum() < half.size:
        floor = total_variation(shares(true[half], size), shares(true[~half], size))
    error = total_variation(shares(made, size), shares(true, size))
    return MarginalError(columns=names, error=error, floor=floor)


def shares(codes: NDArray[np.int64], size: int) -> NDArray[np.float64]:
    """The share of records in each of ``size`` cells."""
    return np.bincount(codes, minlength=size) / max(1, codes.size)


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnSummary:
    """What one column holds in the release and in the real records."""

    name: str
    kind: str
    missing: tuple[float, float]  # Shares of missing values: in the release, in the real records
    ranges: tuple[float, float, float, float] | None = None
    """Of a number: smallest and largest value of the release, then of the real records."""
    # Of a number: means and standard deviations, of the release and of the real records.
    means: tuple[float, float] | None = None
    spreads: tuple[float, float] | None = None
    lost: tuple[str, ...] = ()
    """Of a category: values of real records that the release lacks, the most frequent first."""
    invented: tuple[str, ...] = ()  # Of a category: values of the release that no real record has
    outside: float = 0.0  # The share of records of the release outside of what real records hold
    shown: tuple[str, ...] = ()  # The ranges and the means as people read them: dates as dates
    broken: float | None = None
    """The share of records of the release that the schema does not allow; None without a schema."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Correlation:
    """How two columns of numbers move together, in the release and in the real records."""

    columns: tuple[str, str]  # Which
    # Pearson's correlation, in [-1, 1].
    synthetic: float
    real: float

    @property
    def error(self) -> float:
        """How far they are apart."""
        return abs(self.synthetic - self.real)


@dataclass(frozen=True, slots=True, kw_only=True)
class Histogram:
    """The shares of the cells of a column, for a drawing."""

    name: str  # The column
    labels: tuple[str, ...]  # Of the cells
    # Shares of the cells.
    synthetic: tuple[float, ...]
    real: tuple[float, ...]


def column_summaries(
    synthetic: Sample, real: Sample, schema: Schema | None = None
) -> tuple[ColumnSummary, ...]:
    """A summary of each column that is compared."""
    found = []
    for column in compared_columns(synthetic).columns:
        one = _summary(column, real.column(column.name))
        if schema is not None:
            one = replace(one, broken=_broken(column, schema[column.name]))
        found.append(one)
    return tuple(found)


def _broken(column: SampleColumn, stated: Column) -> float:
    """The share of values that the schema does not allow."""
    missing = column.missing
    if stated.is_ordered:
        assert stated.range is not None
        low, high = (stated.steps_of(end) for end in stated.range)
        wrong = (column.values < low) | (column.values > high)
    elif stated.kind == "boolean":
        wrong = np.zeros(len(missing), np.bool_)
    else:
        known = {str(value) for value in stated.categories}
        wrong = np.fromiter((v not in known for v in column.values), np.bool_, len(missing))
    return float(np.mean(np.where(missing, not stated.missing, wrong)))


def correlations(synthetic: Sample, real: Sample) -> tuple[Correlation, ...]:
    """The correlations of all pairs of columns of numbers, over records that have both."""
    numbers = [c for c in compared_columns(synthetic).columns if c.kind == "number"]
    found = []
    for one, other in combinations(numbers, 2):
        made = _correlation(one, other)
        true = _correlation(real.column(one.name), real.column(other.name))
        found.append(Correlation(columns=(one.name, other.name), synthetic=made, real=true))
    return tuple(found)


def histograms(synthetic: Sample, real: Sample, *, most: int = 24) -> tuple[Histogram, ...]:
    """The shares of the cells of the first columns; rare categories are put together."""
    found = []
    for column in compared_columns(synthetic).columns[:most]:
        cells, other = cells_of(column), real.column(column.name)
        made, true = cells.shares(column), cells.shares(other)
        labels = [*cells.labels, "missing"]
        if cells.edges is None and len(labels) > MOST_CELLS:
            order = np.argsort(-(made + true), kind="stable")[: MOST_CELLS - 1]
            kept = sorted(int(place) for place in order)
            labels = [*(labels[place] for place in kept), "rest"]
            made = np.append(made[kept], 1.0 - made[kept].sum())
            true = np.append(true[kept], 1.0 - true[kept].sum())
        used = [i for i in range(len(labels)) if made[i] > 0.0 or true[i] > 0.0]
        found.append(
            Histogram(
                name=column.name,
                labels=tuple(labels[i] for i in used),
                synthetic=tuple(max(0.0, float(made[i])) for i in used),
                real=tuple(max(0.0, float(true[i])) for i in used),
            )
        )
    return tuple(found)


def _summary(made: SampleColumn, true: SampleColumn) -> ColumnSummary:
    missing = (float(made.missing.mean()), float(true.missing.mean()))
    found = ColumnSummary(name=made.name, kind=made.kind, missing=missing)
    if made.kind == "category":
        counts = Counter(true.values[~true.missing])
        known = set(made.values[~made.missing])
        invented = known - set(counts)
        return replace(
            found,
            lost=tuple(sorted(set(counts) - known, key=lambda v: (-counts[v], v))),
            invented=tuple(sorted(invented)),
            outside=float(np.mean([v in invented for v in made.values])),
        )
    ours, theirs = made.values[~made.missing], true.values[~true.missing]
    if not ours.size or not theirs.size:
        return found
    low, high = float(theirs.min()), float(theirs.max())
    ranges = (float(ours.min()), float(ours.max()), low, high)
    means = (float(ours.mean()), float(theirs.mean()))
    return replace(
        found,
        ranges=ranges,
        means=means,
        spreads=(float(ours.std()), float(theirs.std())),
        outside=float(np.mean((ours < low) | (ours > high))),
        shown=tuple(made.shown(value) for value in (*ranges, *means)),
    )


def _correlation(one: SampleColumn, other: SampleColumn) -> float:
    """Pearson's correlation; 0 where a column is constant."""
    both = ~(one.missing | other.missing)
    x, y = one.values[both], other.values[both]
    if x.size < 2 or x.std() == 0.0 or y.std() == 0.0:
        return 0.0
    return float(np.clip(np.corrcoef(x, y)[0, 1], -1.0, 1.0))
