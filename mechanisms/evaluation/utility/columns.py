"""Each column on its own: ranges, categories, missing values; and how numbers move together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from rdpkit.mechanisms.data.tables.schema import Column, Schema
from rdpkit.mechanisms.evaluation.utility.cells import MOST_CELLS, cells_of
from rdpkit.mechanisms.evaluation.utility.marginal_errors import compared_columns
from rdpkit.mechanisms.evaluation.utility.samples import Sample, SampleColumn


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
    if made.kind == "category":
        counts: dict[str, int] = {}
        for value in true.values[~true.missing]:
            counts[value] = counts.get(value, 0) + 1
        known = set(made.values[~made.missing])
        lost = sorted(set(counts) - known, key=lambda v: (-counts[v], v))
        invented = known - set(counts)
        outside = float(np.mean([v in invented for v in made.values]))
        return ColumnSummary(
            name=made.name,
            kind=made.kind,
            missing=missing,
            lost=tuple(lost),
            invented=tuple(sorted(invented)),
            outside=outside,
        )
    ours, theirs = made.values[~made.missing], true.values[~true.missing]
    if not ours.size or not theirs.size:
        return ColumnSummary(name=made.name, kind=made.kind, missing=missing)
    low, high = float(theirs.min()), float(theirs.max())
    return ColumnSummary(
        name=made.name,
        kind=made.kind,
        missing=missing,
        ranges=(float(ours.min()), float(ours.max()), low, high),
        means=(float(ours.mean()), float(theirs.mean())),
        spreads=(float(ours.std()), float(theirs.std())),
        outside=float(np.mean((ours < low) | (ours > high))),
        shown=tuple(
            made.shown(float(v))
            for v in (ours.min(), ours.max(), low, high, ours.mean(), theirs.mean())
        ),
    )


def _correlation(one: SampleColumn, other: SampleColumn) -> float:
    """Pearson's correlation; 0 where a column is constant."""
    both = ~(one.missing | other.missing)
    x, y = one.values[both], other.values[both]
    if x.size < 2 or x.std() == 0.0 or y.std() == 0.0:
        return 0.0
    return float(np.clip(np.corrcoef(x, y)[0, 1], -1.0, 1.0))
