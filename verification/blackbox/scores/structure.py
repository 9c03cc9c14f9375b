"""Scores of what single outputs look like: exact structure, and numbers that summarise them.

Combinations without noise and grids name a mistake if a claim is rejected by them. Summaries count
and order: sizes, zeros, values above a level, the smallest and the largest.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rdpkit.verification.blackbox.mistakes import Mistake, MistakeKind, mistake_of
from rdpkit.verification.blackbox.scores.named_score import NamedScore, TrainingOutputs, clearness
from rdpkit.verification.estimators.base import Array

_EPS = float(np.finfo(np.float64).eps)
# The largest number of columns that are examined together.
_MOST_COLUMNS = 256
# A combination has no noise if it varies by less than this, relative to its parts.
_NOISELESS = 1e-9
# A difference below this, relative to the parts, is attributed to rounding.
_DIFFERENT = 1e-6
# Outputs lie on a grid if this share of them does.
_SHARE = 0.98
# A value is on the grid if its distance is below this part of a step. A value with random digits
# appears to be on the grid with probability 0.2.
_NEAR = 0.1
# Structure is looked for in at most this many outputs of each side.
_MOST_ROWS = 2000
_LARGEST = 1e100
# With fewer outputs than this, no structure is reported.
_FEWEST = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Noiseless:
    """A weighted sum of outputs that is constant on at least one of the data sets."""

    columns: tuple[int, ...]  # The outputs in the sum
    weights: tuple[float, ...]  # Their weights
    spread: float  # The standard deviation of the sum over that of its parts
    gap: float  # The difference of the sum between the two data sets, in the units of the output

    def __call__(self, outputs: Array, /) -> Array:
        """The sum for each row."""
        return np.asarray(outputs[:, list(self.columns)] @ np.array(self.weights))


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseGrid:
    """A grid that contains one output on one of the data sets, but not on the other."""

    column: int  # The output
    origin: float  # A point of the grid
    step: float  # A power of two
    shift: float
    """The distance of the other data set's outputs from the grid, in steps, in (0, 0.5]."""

    def __call__(self, outputs: Array, /) -> Array:
        """The distance to the grid in steps, in [0, 0.5], for each row."""
        return _distance(outputs[:, self.column], self.origin, self.step)


def noiseless_direction(p_outputs: Array, q_outputs: Array) -> Noiseless | None:
    """A weighted sum that does not vary and tells the data sets apart, if there is one."""
    columns = _columns(p_outputs, q_outputs)
    for side, other in ((p_outputs, q_outputs), (q_outputs, p_outputs)):
        rows, others = side[:, columns], other[:, columns]
        found = _in_columns(rows, others)
        if found is not None:
            weights, spread, gap = found
            used = np.abs(weights) > _DIFFERENT * np.abs(weights).max()
            return Noiseless(
                columns=tuple(int(column) for column in columns[used]),
                weights=tuple(float(weight) for weight in weights[used]),
                spread=spread,
                gap=gap,
            )
    return None


def _columns(p_outputs: Array, q_outputs: Array) -> NDArray[np.intp]:
    """The columns to examine: those whose means differ most, if there are too many."""
    width = p_outputs.shape[1]
    # With fewer rows than columns, some combination always has no variance.
    room = min(_MOST_COLUMNS, (min(len(p_outputs), len(q_outputs)) - 1) // 4)
    if width <= room:
        return np.arange(width)
    gap = np.abs(p_outputs.mean(axis=0) - q_outputs.mean(axis=0))
    spread = p_outputs.std(axis=0) + q_outputs.std(axis=0)
    clear = gap / np.where(spread > 0.0, spread, 1.0) + np.where(
        (spread == 0.0) & (gap > 0.0), np.inf, 0.0
    )
    return np.sort(np.argsort(-clear, kind="stable")[:room])


def _in_columns(rows: Array, others: Array) -> tuple[Array, float, float] | None:
    size = np.abs(rows).max(axis=0)
    # Constant columns become exactly 0 if one row is subtracted.
    rows, others = rows - rows[0], others - rows[0]
    centre = rows.mean(axis=0)
    spread = rows.std(axis=0)
    # A column that varies only by rounding has no noise of its own.
    noisy = spread > 16.0 * _EPS * size
    scale = np.where(noisy, spread, np.where(size > 0.0, size, 1.0))
    residuals = (rows - centre) / scale
    _, singular, basis = np.linalg.svd(residuals, full_matrices=False)
    deviations = singular / math.sqrt(len(rows))
    still = basis[deviations < _NOISELESS]
    if not len(still):
        return None
    gaps = still @ ((others.mean(axis=0) - centre) / scale)
    length = float(np.linalg.norm(gaps))
    if length < _DIFFERENT:
        return None
    direction = gaps @ still / length
    # Leave out columns whose weight is negligible.
    direction[np.abs(direction) < _DIFFERENT] = 0.0
    weights = direction / scale
    weights = weights / np.abs(weights).max()
    values, other_values = rows @ weights, others @ weights
    parts = float(np.abs(weights * spread).max())
    varies = float(values.std()) / parts if parts > 0.0 else 0.0
    gap = float(abs(other_values.mean() - values.mean()))
    if varies > math.sqrt(_NOISELESS * _DIFFERENT) or gap <= 1e3 * float(values.std()):
        return None
    return weights, varies, gap


def grid_of(p_outputs: Array, q_outputs: Array) -> NoiseGrid | None:
    """The grid in which the data sets differ most clearly, if there is one."""
    best: NoiseGrid | None = None
    for column in _columns(p_outputs, q_outputs):
        for side, other in ((p_outputs, q_outputs), (q_outputs, p_outputs)):
            found = _grid_of_column(side[:, column], other[:, column])
            if found is None:
                continue
            grid = NoiseGrid(column=int(column), origin=found[0], step=found[1], shift=found[2])
            if best is None or grid.shift > best.shift:
                best = grid
    return best


def _grid_of_column(values: Array, others: Array) -> tuple[float, float, float] | None:
    """Origin, largest step and shift; None if there is no grid or both data sets are on it."""
    if len(np.unique(values)) < _FEWEST:
        return None
    size = max(float(np.abs(values).max()), float(np.abs(others).max()))
    origin = float(values[0])
    # The finest grid that rounding errors of the outputs leave visible.
    finest = 2.0 ** math.ceil(math.log2(64.0 * _EPS * size))
    step, found = finest, None
    while step < size:
        near = _distance(values, origin, step) < _NEAR
        if near.mean() < _SHARE:
            break
        shift = float(np.median(_distance(others, origin, step)))
        same = float((_distance(others, origin, step) < _NEAR).mean())
        if shift > 2.0 * _NEAR and same < 1.0 - _SHARE:
            found = (step, shift)
        step *= 2.0
    return None if found is None else (origin, *found)


def _distance(values: Array, origin: float, step: float) -> Array:
    with np.errstate(over="ignore"):
        steps = (values - origin) / step
    # A number that is so much larger than a step is on the grid.
    steps = np.where(np.isfinite(steps), steps, 0.0)
    return np.asarray(np.abs(steps - np.round(steps)))


def structure_scores(training: TrainingOutputs) -> list[NamedScore]:
    """Scores of the exact structure that columns of numbers have; none for fewer than 20 runs."""
    some = training.thinned(_MOST_ROWS)
    largest = np.maximum(np.abs(some.p).max(axis=0), np.abs(some.q).max(axis=0))
    # The squares of larger numbers are no doubles.
    columns = np.flatnonzero(training.is_number & (largest < _LARGEST))
    if not len(columns) or training.runs < _FEWEST:
        return []
    p, q = some.p[:, columns], some.q[:, columns]
    noiseless, grid = noiseless_direction(p, q), grid_of(p, q)
    scores = []
    if noiseless is not None:
        places = tuple(int(columns[column]) for column in noiseless.columns)
        noiseless = dataclasses.replace(noiseless, columns=places)
        scores.append(
            NamedScore(
                name="a combination without noise",
                score=noiseless,
                family="noiseless",
                share=2.0,
                explanation=_of_noiseless(noiseless, some),
            )
        )
    if grid is not None:
        grid = dataclasses.replace(grid, column=int(columns[grid.column]))
        scores.append(
            NamedScore(
                name="distance to a grid",
                score=grid,
                family="grid",
                explanation=mistake_of(
                    MistakeKind.COARSE_NOISE,
                    "grid",
                    column=training.name(grid.column),
                    step=grid.step,
                    shift=grid.shift,
                ),
            )
        )
    return scores


def _of_noiseless(noiseless: Noiseless, training: TrainingOutputs) -> Mistake:
    p, q = training.p, training.q
    if all((side == side[0]).all() for side in (p, q)):
        return mistake_of(MistakeKind.FIXED_SEED, runs=len(p), others=len(q))
    columns, gap = training.names(noiseless.columns), noiseless.gap
    if len(noiseless.columns) == 1:
        return mistake_of(MistakeKind.NO_NOISE, "column", columns=columns, gap=gap)
    spread = noiseless.spread
    return mistake_of(MistakeKind.NOISE_REUSED, columns=columns, spread=spread, gap=gap)


# Order statistics and numbers of different values are taken of at most this many columns.
_MOST_SORTED = 1024
# Summaries are compared on at most this many values of each side.
_MOST_VALUES = 2**20
# The levels above which values are counted are these quantiles of all outputs.
_LEVELS = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
_ORDERS = (0.05, 0.25, 0.5, 0.75, 0.95)
_SUMMARY_SHARE = 0.5
_LARGEST_IN_SUM = 1e300


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OutputSummary:
    """A number that summarises an output."""

    kind: str  # What it is, one of the keys of ``KINDS``
    columns: NDArray[np.intp]  # The columns that it is computed from; shape (k,)
    level: float = 0.0  # A threshold, or a place in the order; unused by most kinds
    rows: int = 0  # Rows that the columns form, for kinds that look at rows

    def __call__(self, outputs: Array, /) -> Array:
        """The summary of each output."""
        values = outputs
        if len(self.columns) != outputs.shape[1]:
            values = outputs[:, self.columns]
        return np.asarray(_computed(self, values), dtype=np.float64)


def _computed(summary: OutputSummary, values: Array) -> Array:
    match summary.kind:
        case "zeros":
            return np.asarray((values == 0.0).sum(axis=1))
        case "negative values":
            return np.asarray((values < 0.0).sum(axis=1))
        case "values above a level":
            return np.asarray((values > summary.level).sum(axis=1))
        case "rows that are not zero":
            return np.asarray((values.reshape(len(values), summary.rows, -1) != 0.0).any(2).sum(1))
        case "different values":
            ordered = np.sort(values, axis=1)
            return np.asarray((ordered[:, 1:] != ordered[:, :-1]).sum(axis=1))
        case "smallest value":
            return np.asarray(values.min(axis=1))
        case "largest value":
            return np.asarray(values.max(axis=1))
        case "range":
            return np.asarray(values.max(axis=1) / 2.0 - values.min(axis=1) / 2.0)
        case "largest size":
            return np.asarray(np.maximum(values.max(axis=1), -values.min(axis=1)))
        case "sum":
            return np.asarray(
                np.clip(values, -_LARGEST_IN_SUM, _LARGEST_IN_SUM) @ np.ones(values.shape[1])
            )
        case "order statistic":
            place = round(summary.level * (values.shape[1] - 1))
            return np.asarray(np.partition(values, place, axis=1)[:, place])
        case _:
            raise ValueError(f"Expected a known kind of summary, got {summary.kind!r}.")


# Only these say how much is released; the others say how large it is.
_SIZES = ("zeros", "rows that are not zero", "different values")
_EVERY = ("zeros", "negative values", "smallest value", "largest value", "range", "largest size")


def count_scores(training: TrainingOutputs) -> list[NamedScore]:
    """Summaries of outputs, the clearest first, as one half of the outputs shows them."""
    columns = training.numbers
    if len(columns) < 2:
        return []
    some = training.within(_MOST_VALUES).half(0)
    found = []
    for name, summary in _summaries(some, columns):
        clear = clearness(summary(some.p), summary(some.q))
        found.append((clear, name, summary))
    return [
        NamedScore(
            name=name,
            score=summary,
            family="counts",
            share=_SUMMARY_SHARE,
            explanation=_explained(name, summary, some) if summary.kind in _SIZES else None,
        )
        for clear, name, summary in sorted(found, key=lambda entry: -entry[0])
        if clear > -np.inf
    ]


def _summaries(
    training: TrainingOutputs, columns: NDArray[np.intp]
) -> list[tuple[str, OutputSummary]]:
    found = [(kind, OutputSummary(kind=kind, columns=columns)) for kind in _EVERY]
    found.append(("sum", OutputSummary(kind="sum", columns=columns)))
    values = np.concatenate([training.p[:, columns].ravel(), training.q[:, columns].ravel()])
    levels = np.quantile(values, _LEVELS, method="inverted_cdf")
    for share, level in zip(_LEVELS, levels, strict=True):
        summary = OutputSummary(kind="values above a level", columns=columns, level=float(level))
        found.append((f"values above their {share:g} quantile", summary))
    if len(columns) <= _MOST_SORTED:
        found.append(("different values", OutputSummary(kind="different values", columns=columns)))
        for order in _ORDERS:
            summary = OutputSummary(kind="order statistic", columns=columns, level=order)
            found.append((f"quantile {order:g} of the values", summary))
    start = 0
    for part, shape in enumerate(training.shapes):
        size = int(np.prod(shape))
        places = np.arange(start, start + size)
        start += size
        if len(shape) < 2 or not training.is_number[places].all() or not size:
            continue
        summary = OutputSummary(kind="rows that are not zero", columns=places, rows=shape[0])
        found.append((f"rows of part {part} that are not zero", summary))
    return found


def _explained(name: str, summary: OutputSummary, training: TrainingOutputs) -> Mistake:
    p, q = (float(np.mean(summary(side) / 4.0)) * 4.0 for side in (training.p, training.q))
    return mistake_of(MistakeKind.SIZE_OF_RELEASE, name=name, p=p, q=q)
