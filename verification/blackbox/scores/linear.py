"""A linear score, which is the best score if the mechanism adds noise of a fixed covariance.

Of a release with rows, it is also learnt from the sums of the rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rdpkit.verification.blackbox.scores.named_score import (
    NamedScore,
    TrainingOutputs,
    score_of,
    standard,
    thinned,
)
from rdpkit.verification.estimators.base import Array

# A covariance is inverted as it is only if there are at least this many rows for each column, and
# otherwise mixed with the variances. One of more columns than the second number is not estimated.
_ROWS_A_COLUMN, _MOST_COLUMNS = 10, 1024
# Columns that differ clearly; all, each weighted by itself; all, with a covariance that is mixed
# with the variances.
_PROPOSALS = ("clearest", "single", "all")
# Rows times the square of columns, at most, for the estimate of a covariance.
_MOST_PRODUCTS = 1e9
# Outputs beyond these sizes are brought to another unit before they are squared.
_TINY, _HUGE = 1e-100, 1e100
_LARGEST = 1e300
# Rows whose moments are computed at once, which fit into a processor's cache.
_BLOCK = 256
# A robust score is learnt from at most this many values of each side, and its columns are clipped
# at this many robust deviations.
_MOST_VALUES, _CLIPPED = 2**22, 1.5


@dataclass(frozen=True, slots=True, eq=False)
class Linear:
    """A weighted sum of the outputs."""

    weights: ArrayLike  # The weights; shape (d,)
    units: ArrayLike | None = None
    """The outputs are divided by these before they are weighted; shape (d,)."""

    def __call__(self, outputs: Array, /) -> Array:
        """The weighted sum of each row."""
        weights = np.asarray(self.weights, dtype=np.float64)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            if self.units is not None:
                used = np.flatnonzero(weights)
                scaled = outputs[:, used] / np.asarray(self.units)[used]
                return np.asarray(np.clip(scaled, -_HUGE, _HUGE) @ weights[used])
            found = outputs @ weights
            if not np.isfinite(found).all():
                used = np.flatnonzero(weights)
                found = np.clip(outputs[:, used], -_LARGEST, _LARGEST) @ weights[used]
        return np.asarray(found)


_Moments = tuple[int, Array, Array]
"""How many rows there are, and the mean and the variance of each column."""


def _moments_of(rows: Array) -> _Moments:
    """The moments; the variance of a column is exactly 0 if, and only if, it is constant."""
    first = rows[0]
    total, squares = np.zeros(first.size), np.zeros(first.size)
    for start in range(0, len(rows), _BLOCK):
        gaps = rows[start : start + _BLOCK] - first
        total += gaps.sum(axis=0)
        squares += np.einsum("ij,ij->j", gaps, gaps)
    mean = total / len(rows)
    variance = np.maximum(squares / len(rows) - mean**2, 0.0)
    # A column that varies has a variance, whatever rounding says.
    variance = np.where((variance == 0.0) & (squares > 0.0), squares / len(rows), variance)
    return len(rows), first + mean, variance


class _Sides(NamedTuple):
    """Outputs on both sides, with their moments."""

    p: Array
    q: Array
    moments: list[_Moments]


def _units(p_outputs: Array, q_outputs: Array) -> Array | None:
    """A power of two for each column; None if squares neither overflow nor underflow as it is."""
    largest = np.maximum(
        np.maximum(p_outputs.max(axis=0), q_outputs.max(axis=0)),
        -np.minimum(p_outputs.min(axis=0), q_outputs.min(axis=0)),
    )
    # A column whose outputs hardly vary has tiny squares as well.
    used = largest[largest > 0.0]
    if not used.size or (used.min() > _TINY and used.max() < _HUGE):
        return None
    _, exponent = np.frexp(largest)
    return np.asarray(np.ldexp(1.0, np.clip(exponent, -1022, 1023)))


def linear(p_outputs: Array, q_outputs: Array) -> Linear:
    """A linear score that separates the outputs.

    There are several proposals: Fisher's discriminant of the columns that differ most clearly, all
    columns, each weighted by itself, and Fisher's discriminant of all columns. The first suits a
    large difference in a few columns, the second many small differences that are visible only in
    their sum. They are made on one half of the outputs, and the other half decides between them.
    """
    units = _units(p_outputs, q_outputs)
    if units is not None:
        p_outputs, q_outputs = p_outputs / units, q_outputs / units
    if min(len(p_outputs), len(q_outputs)) < 4:
        moments = [_moments_of(p_outputs), _moments_of(q_outputs)]
        return Linear(_discriminant(_Sides(p_outputs, q_outputs, moments), "single").weights, units)
    halves = [(p_outputs[half::2], q_outputs[half::2]) for half in (0, 1)]
    first, second = (_Sides(p, q, [_moments_of(p), _moments_of(q)]) for p, q in halves)
    pooled = []
    for (n, mean, variance), (m, other_mean, other_variance) in zip(
        first.moments, second.moments, strict=True
    ):
        share, apart = m / (n + m), other_mean - mean
        within = (1.0 - share) * variance + share * other_variance
        pooled.append((n + m, mean + share * apart, within + share * (1.0 - share) * apart**2))
    together = _Sides(p_outputs, q_outputs, pooled)
    width = p_outputs.shape[1]
    proposals = _PROPOSALS if 1 < width <= _MOST_COLUMNS else _PROPOSALS[: min(width, 2)]
    separations = []
    for which in proposals:
        p, q = map(_discriminant(first, which), (second.p, second.q))
        # The difference of the means, in standard deviations.
        spread, gap = math.sqrt(0.5 * (p.var() + q.var())), float(p.mean() - q.mean())
        certain = math.copysign(math.inf, gap) if gap else 0.0
        separations.append(gap / spread if spread > 0.0 else certain)
    return Linear(_discriminant(together, proposals[np.argmax(separations)]).weights, units)


def _discriminant(sides: _Sides, which: str) -> Linear:
    """A proposal. A constant output that differs between the data sets is the clearest score."""
    (_, p_mean, p_variance), (_, q_mean, q_variance) = sides.moments
    gap, variance = p_mean - q_mean, 0.5 * (p_variance + q_variance)
    runs = min(len(sides.p), len(sides.q))
    still = variance == 0.0
    if (still & (gap != 0.0)).any():
        return Linear(np.where(still, gap, 0.0))
    weights, chosen = np.zeros(gap.size), np.flatnonzero(variance > 0.0)
    single = which == "single"
    if which == "clearest":
        clear = np.abs(gap[chosen]) / np.sqrt(variance[chosen] * 2.0 / runs)
        clearest = chosen[clear > math.sqrt(2.0 * math.log(max(2, gap.size)))]
        chosen = clearest if len(clearest) else chosen
        single = len(chosen) * _ROWS_A_COLUMN > runs
    if single or len(chosen) > _MOST_COLUMNS:
        weights[chosen] = gap[chosen] / variance[chosen]
    elif len(chosen):
        scale = np.sqrt(variance[chosen])
        correlation = _correlation(sides, chosen, scale)
        weights[chosen] = np.linalg.solve(correlation, gap[chosen] / scale) / scale
    # A largest weight of 1, so that nothing overflows in any unit.
    largest = np.abs(weights).max()
    return Linear(weights / largest if 0.0 < largest < math.inf else np.ones(weights.size))


def _correlation(sides: _Sides, chosen: NDArray[np.intp], scale: Array) -> Array:
    """The correlations of columns, mixed with none at all if there are few rows for a column."""
    most = max(int(_MOST_PRODUCTS / len(chosen) ** 2), 2)
    found = np.zeros((len(chosen), len(chosen)))
    rows = 0
    for outputs, (_, mean, _) in zip((sides.p, sides.q), sides.moments, strict=True):
        unit = (thinned(outputs, most)[:, chosen] - mean[chosen]) / scale
        found += 0.5 * (unit.T @ unit) / len(unit)
        rows += len(unit)
    mixed = 1e-6
    if len(chosen) * _ROWS_A_COLUMN > rows // 2:
        # The mean squared error of a correlation is about 1/n, if there is none in truth.
        square = float((found**2).sum() - (np.diagonal(found) ** 2).sum())
        expected = len(chosen) * (len(chosen) - 1) / rows
        mixed = min(1.0, max(mixed, expected / square if square > 0.0 else 1.0))
    return np.asarray((1.0 - mixed) * found + mixed * np.eye(len(chosen)))


def linear_scores(training: TrainingOutputs) -> list[NamedScore]:
    """A linear score of all numbers, and one that is robust against heavy tails."""
    columns = training.numbers
    if not len(columns):
        return []
    weights, units = np.zeros(training.p.shape[1]), np.ones(training.p.shape[1])
    every = training.is_number.all()
    found = linear(*(side if every else side[:, columns] for side in (training.p, training.q)))
    weights[columns] = found.weights
    if found.units is not None:
        units[columns] = found.units
    plain = Linear(weights, None if found.units is None else units)
    scores = [NamedScore("linear", plain, family="linear", share=3.0)]
    some = training.within(_MOST_VALUES)
    clipped = standard(some, furthest=_CLIPPED)
    if len(clipped.columns) > 1:
        robust = partial(score_of, clipped, linear(clipped(some.p), clipped(some.q)))
        scores.append(NamedScore("linear, of clipped outputs", robust, family="linear"))
    return scores


def _sums_of_rows(places: NDArray[np.intp], starts: NDArray[np.intp], outputs: Array, /) -> Array:
    """The sums of groups of rows; ``places`` are those of each row's numbers, group by group."""
    sums = np.add.reduceat(outputs[:, places], starts, axis=1)
    return np.asarray(sums.reshape(len(outputs), -1))


def row_scores(training: TrainingOutputs) -> list[NamedScore]:
    """A linear score of sums of rows, if all arrays of a release have equally many rows of numbers.

    Rows are synthetic records, gradients of several steps or the like. The effect of a changed
    record on each row may be too small to be seen, and yet visible in their sum. Rows with the same
    constants, such as labels, are added up together.
    """
    shapes, p_outputs, q_outputs = training.shapes, training.p, training.q
    alike = all(shape[:1] == shapes[0][:1] for shape in shapes)
    if not (alike and any(len(shape) > 1 for shape in shapes) and training.is_number.all()):
        return []
    rows = shapes[0][0]
    ends = np.cumsum([math.prod(shape) for shape in shapes])[:-1]
    parts = np.split(np.arange(p_outputs.shape[1]), ends)
    places = np.concatenate([part.reshape(rows, -1) for part in parts], axis=1)
    varies = (p_outputs != p_outputs[0]).any(axis=0) | (q_outputs != q_outputs[0]).any(axis=0)
    constant = ~varies[places].any(axis=0)
    labels = p_outputs[0][places[:, constant]]
    same = (labels == q_outputs[0][places[:, constant]]).all(axis=0)
    _, group = np.unique(labels[:, same], axis=0, return_inverse=True)
    order = np.argsort(group.ravel(), kind="stable")
    starts = np.flatnonzero(np.diff(group.ravel()[order], prepend=-1))
    if constant.all() or len(starts) == rows:
        return []
    varying = places[np.ix_(order, np.flatnonzero(~constant))]
    sums = partial(_sums_of_rows, varying, starts)
    score = partial(score_of, sums, linear(sums(p_outputs), sums(q_outputs)))
    return [NamedScore("linear, of rows added up", score, family="rows", share=2.0)]
