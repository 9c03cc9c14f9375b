"""Scores of what single outputs look like: exact structure, and numbers that summarise them.

Combinations without noise and grids name a mistake if a claim is rejected by them. Summaries count
and order: sizes, zeros, values above a level, the smallest and the largest.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from rdpkit.verification.blackbox.mistakes import MistakeKind, mistake_of
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


def noiseless_direction(p_outputs: Array, q_outputs: Array) -> Noiseless | None:
    """A weighted sum that does not vary and tells the data sets apart, if there is one."""
    columns = _columns(p_outputs, q_outputs)
    sides = (p_outputs[:, columns], q_outputs[:, columns])
    for rows, others in (sides, sides[::-1]):
        size = np.abs(rows).max(axis=0)
        # Constant columns become exactly 0 if one row is subtracted.
        others = others - rows[0]  # noqa: PLW2901
        rows = rows - rows[0]  # noqa: PLW2901
        centre, spread = rows.mean(axis=0), rows.std(axis=0)
        # A column that varies only by rounding has no noise of its own.
        noisy = spread > 16.0 * _EPS * size
        scale = np.where(noisy, spread, np.where(size > 0.0, size, 1.0))
        _, singular, basis = np.linalg.svd((rows - centre) / scale, full_matrices=False)
        still = basis[singular / math.sqrt(len(rows)) < _NOISELESS]
        gaps = still @ ((others.mean(axis=0) - centre) / scale)
        length = float(np.linalg.norm(gaps))
        if length < _DIFFERENT:
            continue
        direction = gaps @ still / length
        # Leave out columns whose weight is negligible.
        direction[np.abs(direction) < _DIFFERENT] = 0.0
        weights = direction / scale
        weights = weights / np.abs(weights).max()
        values, other_values = rows @ weights, others @ weights
        parts = float(np.abs(weights * spread).max())
        varies = float(values.std()) / parts if parts > 0.0 else 0.0
        gap = float(abs(other_values.mean() - values.mean()))
        if varies <= math.sqrt(_NOISELESS * _DIFFERENT) and gap > 1e3 * float(values.std()):
            used = np.abs(weights) > _DIFFERENT * np.abs(weights).max()
            kept, chosen = tuple(columns[used].tolist()), tuple(weights[used].tolist())
            return Noiseless(columns=kept, weights=chosen, spread=varies, gap=gap)
    return None


def grid_of(p_outputs: Array, q_outputs: Array) -> NoiseGrid | None:
    """The grid in which the data sets differ most clearly, if there is one.

    Of each column and side it is that with the largest step; none if both data sets are on it.
    """
    found: dict[tuple[int, int], NoiseGrid] = {}
    sides = (p_outputs, q_outputs)
    for column in _columns(p_outputs, q_outputs).tolist():
        for side in (0, 1):
            values, others = sides[side][:, column], sides[1 - side][:, column]
            if len(np.unique(values)) < _FEWEST:
                continue
            size = max(float(np.abs(values).max()), float(np.abs(others).max()))
            origin = float(values[0])
            # The finest grid that rounding errors of the outputs leave visible.
            step = 2.0 ** math.ceil(math.log2(64.0 * _EPS * size))
            while step < size and (_distance(values, origin, step) < _NEAR).mean() >= _SHARE:
                distance = _distance(others, origin, step)
                shift = float(np.median(distance))
                if shift > 2.0 * _NEAR and float((distance < _NEAR).mean()) < 1.0 - _SHARE:
                    grid = NoiseGrid(column=column, origin=origin, step=step, shift=shift)
                    found[column, side] = grid
                step *= 2.0
    return max(found.values(), key=attrgetter("shift"), default=None)


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
        noiseless = replace(noiseless, columns=places)
        names, gap, spread = training.names(places), noiseless.gap, noiseless.spread
        if all((side == side[0]).all() for side in (some.p, some.q)):
            why = mistake_of(MistakeKind.FIXED_SEED, runs=len(some.p), others=len(some.q))
        elif len(places) == 1:
            why = mistake_of(MistakeKind.NO_NOISE, "column", columns=names, gap=gap)
        else:
            why = mistake_of(MistakeKind.NOISE_REUSED, columns=names, spread=spread, gap=gap)
        name, family = "a combination without noise", "noiseless"
        scores.append(NamedScore(name, noiseless, family=family, share=2.0, explanation=why))
    if grid is not None:
        grid = replace(grid, column=int(columns[grid.column]))
        column = training.name(grid.column)
        why = mistake_of(
            MistakeKind.COARSE_NOISE, "grid", column=column, step=grid.step, shift=grid.shift
        )
        scores.append(NamedScore("distance to a grid", grid, family="grid", explanation=why))
    return scores


# Order statistics and numbers of different values are taken of at most this many columns.
_MOST_SORTED = 1024
# Summaries are compared on at most this many values of each side.
_MOST_VALUES = 2**20
# The levels above which values are counted are these quantiles of all outputs.
_LEVELS = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
_ORDERS = (0.05, 0.25, 0.5, 0.75, 0.95)
_SUMMARY_SHARE = 0.5
_LARGEST_IN_SUM = 1e300


# Of values of shape (n, k), and of a level: a threshold, a place in the order, or a number of rows.
_SUMMARIES: dict[str, Callable[[Array, float], Array]] = {
    "zeros": lambda values, _: (values == 0.0).sum(axis=1),
    "negative values": lambda values, _: (values < 0.0).sum(axis=1),
    "smallest value": lambda values, _: values.min(axis=1),
    "largest value": lambda values, _: values.max(axis=1),
    "range": lambda values, _: values.max(axis=1) / 2.0 - values.min(axis=1) / 2.0,
    "largest size": lambda values, _: np.maximum(values.max(axis=1), -values.min(axis=1)),
    "sum": lambda values, _: (
        np.clip(values, -_LARGEST_IN_SUM, _LARGEST_IN_SUM) @ np.ones(values.shape[1])
    ),
    "values above a level": lambda values, level: (values > level).sum(axis=1),
    "different values": lambda values, _: (
        (ordered := np.sort(values, axis=1))[:, 1:] != ordered[:, :-1]
    ).sum(axis=1),
    "order statistic": lambda values, order: np.partition(
        values, place := round(order * (values.shape[1] - 1)), axis=1
    )[:, place],
    "rows that are not zero": lambda values, rows: (
        (values.reshape(len(values), int(rows), -1) != 0.0).any(2).sum(1)
    ),
}
# Those of all outputs that have no level. Only the sizes say how much is released; the others say
# how large it is.
_EVERY = tuple(_SUMMARIES)[:7]
_SIZES = ("zeros", "rows that are not zero", "different values")


def summary(kind: str, columns: NDArray[np.intp], level: float, outputs: Array, /) -> Array:
    """A number that summarises some columns of each output; ``kind`` is a key of the table."""
    values = outputs if len(columns) == outputs.shape[1] else outputs[:, columns]
    return np.asarray(_SUMMARIES[kind](values, level), dtype=np.float64)


def count_scores(training: TrainingOutputs) -> list[NamedScore]:
    """Summaries of outputs, the clearest first, as one half of the outputs shows them."""
    columns = training.numbers
    if len(columns) < 2:
        return []
    some = training.within(_MOST_VALUES).half(0)
    found = []
    for name, kind, places, level in _summaries(some, columns):
        score = partial(summary, kind, places, level)
        values = score(some.p), score(some.q)
        why = None
        if kind in _SIZES:
            p, q = (float(np.mean(side / 4.0)) * 4.0 for side in values)
            why = mistake_of(MistakeKind.SIZE_OF_RELEASE, name=name, p=p, q=q)
        named = NamedScore(name, score, family="counts", share=_SUMMARY_SHARE, explanation=why)
        found.append((clearness(*values), named))
    ordered = sorted(found, key=lambda entry: -entry[0])
    return [named for clear, named in ordered if clear > -np.inf]


def _summaries(
    training: TrainingOutputs, columns: NDArray[np.intp]
) -> Iterator[tuple[str, str, NDArray[np.intp], float]]:
    """The name, the kind, the columns and the level of each summary."""
    yield from ((kind, kind, columns, 0.0) for kind in _EVERY)
    values = np.concatenate([training.p[:, columns].ravel(), training.q[:, columns].ravel()])
    levels = np.quantile(values, _LEVELS, method="inverted_cdf")
    for share, level in zip(_LEVELS, levels, strict=True):
        yield (
            f"values above their {share:g} quantile",
            "values above a level",
            columns,
            float(level),
        )
    if len(columns) <= _MOST_SORTED:
        yield "different values", "different values", columns, 0.0
        for order in _ORDERS:
            yield f"quantile {order:g} of the values", "order statistic", columns, order
    start = 0
    for part, shape in enumerate(training.shapes):
        size = int(np.prod(shape))
        places = np.arange(start, start + size)
        start += size
        if len(shape) >= 2 and size and training.is_number[places].all():
            name = f"rows of part {part} that are not zero"
            yield name, "rows that are not zero", places, float(shape[0])
