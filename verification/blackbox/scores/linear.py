"""A linear score, which is the best score if the mechanism adds noise of a fixed covariance.

Of a release with rows, it is also learnt from the sums of the rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rdpkit.verification.blackbox.scores.named_score import (
    NamedScore,
    Standard,
    TrainingOutputs,
    standard,
    thinned,
)
from rdpkit.verification.estimators.base import Array, OutputScore

# A covariance is inverted as it is only if there are at least this many rows for each column, and
# otherwise mixed with the variances.
_ROWS_A_COLUMN = 10
# A covariance of more columns than this is not estimated.
_MOST_COLUMNS = 1024
# Rows times the square of columns, at most, for the estimate of a covariance.
_MOST_PRODUCTS = 1e9
# Outputs beyond these sizes are brought to another unit before they are squared.
_TINY, _HUGE = 1e-100, 1e100
_LARGEST = 1e300
# Rows whose moments are computed at once, which fit into a processor's cache.
_BLOCK = 256
# A robust score is learnt from at most this many values of each side.
_MOST_VALUES = 2**22
# In a robust score, columns are clipped at this many robust deviations.
_CLIPPED = 1.5


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Moments:
    """Moments of columns on one side."""

    count: int
    mean: Array
    variance: Array


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
    return _Moments(count=len(rows), mean=first + mean, variance=variance)


def _pooled(one: _Moments, two: _Moments) -> _Moments:
    count = one.count + two.count
    share = two.count / count
    gap = two.mean - one.mean
    return _Moments(
        count=count,
        mean=one.mean + share * gap,
        variance=(1.0 - share) * one.variance
        + share * two.variance
        + share * (1.0 - share) * gap**2,
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Sides:
    """Outputs on both sides and their moments."""

    p: Array
    q: Array
    p_moments: _Moments
    q_moments: _Moments

    @classmethod
    def of(cls, p: Array, q: Array) -> _Sides:
        return cls(p=p, q=q, p_moments=_moments_of(p), q_moments=_moments_of(q))

    @property
    def runs(self) -> int:
        return min(len(self.p), len(self.q))

    @property
    def gap(self) -> Array:
        """For each column, the difference of the means."""
        return self.p_moments.mean - self.q_moments.mean

    @property
    def variance(self) -> Array:
        """For each column, the variance, which is 0 for constants."""
        return 0.5 * (self.p_moments.variance + self.q_moments.variance)


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

    There are several proposals: Fisher's discriminant of all columns, or of the columns that differ
    most clearly, and all columns, each weighted by itself. The second suits a large difference in a
    few columns, the third many small differences that are visible only in their sum. They are made
    on one half of the outputs, and the other half decides between them.
    """
    units = _units(p_outputs, q_outputs)
    if units is not None:
        p_outputs, q_outputs = p_outputs / units, q_outputs / units
    if min(len(p_outputs), len(q_outputs)) < 4:
        return _in(_of_all(_Sides.of(p_outputs, q_outputs)), units)
    first, second = (_Sides.of(p_outputs[half::2], q_outputs[half::2]) for half in (0, 1))
    together = _Sides(
        p=p_outputs,
        q=q_outputs,
        p_moments=_pooled(first.p_moments, second.p_moments),
        q_moments=_pooled(first.q_moments, second.q_moments),
    )
    proposals: list[Callable[[_Sides], Linear]] = [_of_clearest]
    if p_outputs.shape[1] > 1:
        proposals += [_of_all, _shrunk]
    # Whether the covariance of all columns can be estimated.
    fits = p_outputs.shape[1] <= _MOST_COLUMNS
    separations = [
        _separation(propose(first), second) if propose is not _shrunk or fits else -math.inf
        for propose in proposals
    ]
    return _in(proposals[int(np.argmax(separations))](together), units)


def _in(score: Linear, units: Array | None) -> Linear:
    return score if units is None else Linear(weights=score.weights, units=units)


def _separation(score: Linear, sides: _Sides) -> float:
    """The difference of the means of a score, in standard deviations."""
    p, q = score(sides.p), score(sides.q)
    spread = math.sqrt(0.5 * (p.var() + q.var()))
    gap = float(p.mean() - q.mean())
    return gap / spread if spread > 0.0 else math.copysign(math.inf, gap) if gap else 0.0


def _of_all(sides: _Sides) -> Linear:
    """All columns, each weighted by itself, so that small differences add up."""
    different = _of_constants(sides)
    if different is not None:
        return different
    gap, variance = sides.gap, sides.variance
    weights = np.zeros(gap.size)
    np.divide(gap, variance, out=weights, where=variance > 0.0)
    return _of_size_one(weights)


def _of_clearest(sides: _Sides) -> Linear:
    """Fisher's discriminant of the columns that differ clearly, or of all if none does."""
    gap, variance = sides.gap, sides.variance
    clear = np.zeros(gap.size)
    error = np.sqrt(variance * 2.0 / sides.runs)
    np.divide(np.abs(gap), error, out=clear, where=error > 0.0)
    chosen = np.flatnonzero(clear > math.sqrt(2.0 * math.log(max(2, gap.size))))
    if not len(chosen):
        chosen = np.arange(gap.size)
    return _discriminant(sides, chosen, least=_ROWS_A_COLUMN)


def _shrunk(sides: _Sides) -> Linear:
    """Fisher's discriminant of all columns, with a covariance mixed with the variances."""
    return _discriminant(sides, np.arange(sides.gap.size), least=0)


def _of_constants(sides: _Sides) -> Linear | None:
    """A constant output that differs between the data sets is the clearest score."""
    gap, still = sides.gap, sides.variance == 0.0
    if not (still & (gap != 0.0)).any():
        return None
    return Linear(weights=np.where(still, gap, 0.0))


def _discriminant(sides: _Sides, chosen: NDArray[np.intp], *, least: int) -> Linear:
    """Fisher's discriminant of these columns; each is weighted by itself if they are too many."""
    different = _of_constants(sides)
    if different is not None:
        return different
    gap, variance = sides.gap, sides.variance
    weights = np.zeros(gap.size)
    chosen = chosen[variance[chosen] > 0.0]
    if not len(chosen):
        return Linear(weights=np.ones(gap.size))
    scale = np.sqrt(variance[chosen])
    if len(chosen) > _MOST_COLUMNS or len(chosen) * least > sides.runs:
        weights[chosen] = gap[chosen] / variance[chosen]
    else:
        correlation = _correlation(sides, chosen, scale)
        weights[chosen] = np.linalg.solve(correlation, gap[chosen] / scale) / scale
    return _of_size_one(weights)


def _correlation(sides: _Sides, chosen: NDArray[np.intp], scale: Array) -> Array:
    """The correlations of columns, mixed with none at all if there are few rows for a column."""
    most = max(int(_MOST_PRODUCTS / len(chosen) ** 2), 2)
    found = np.zeros((len(chosen), len(chosen)))
    rows = 0
    for outputs, moments in ((sides.p, sides.p_moments), (sides.q, sides.q_moments)):
        unit = (thinned(outputs, most)[:, chosen] - moments.mean[chosen]) / scale
        found += 0.5 * (unit.T @ unit) / len(unit)
        rows += len(unit)
    mixed = 1e-6
    if len(chosen) * _ROWS_A_COLUMN > rows // 2:
        # The mean squared error of a correlation is about 1/n, if there is none in truth.
        square = float((found**2).sum() - (np.diagonal(found) ** 2).sum())
        expected = len(chosen) * (len(chosen) - 1) / rows
        mixed = min(1.0, max(mixed, expected / square if square > 0.0 else 1.0))
    return np.asarray((1.0 - mixed) * found + mixed * np.eye(len(chosen)))


def _of_size_one(weights: Array) -> Linear:
    """Weights scaled to a largest one of 1, so that nothing overflows in any unit."""
    largest = np.abs(weights).max()
    if not 0.0 < largest < math.inf:
        return Linear(weights=np.ones(weights.size))
    return Linear(weights=weights / largest)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OfStandard:
    """A score of outputs in standard units."""

    standard: Standard  # Brings outputs to standard units
    score: OutputScore  # A score of them

    def __call__(self, outputs: Array, /) -> Array:
        """The score of each output."""
        return self.score(self.standard(outputs))


def linear_scores(training: TrainingOutputs) -> list[NamedScore]:
    """A linear score of all numbers, and one that is robust against heavy tails."""
    columns = training.numbers
    if not len(columns):
        return []
    weights, units = np.zeros(training.p.shape[1]), np.ones(training.p.shape[1])
    found = linear(*training.only_numbers())
    weights[columns] = found.weights
    if found.units is not None:
        units[columns] = found.units
    plain = Linear(weights=weights, units=None if found.units is None else units)
    scores = [NamedScore(name="linear", score=plain, family="linear", share=3.0)]
    some = training.within(_MOST_VALUES)
    clipped = standard(some, furthest=_CLIPPED)
    if len(clipped.columns) > 1:
        robust = OfStandard(standard=clipped, score=linear(clipped(some.p), clipped(some.q)))
        scores.append(NamedScore(name="linear, of clipped outputs", score=robust, family="linear"))
    return scores


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RowSums:
    """A score of the sums of groups of rows of a release."""

    places: NDArray[np.intp]
    """The places of each row's varying numbers in the flattened output, group by group; shape
    (rows, columns).
    """
    starts: NDArray[np.intp]  # The first row of each group; shape (groups,)
    score: OutputScore  # Turns sums of shape (n, groups * columns) into scores

    def __call__(self, outputs: Array, /) -> Array:
        """The score of each output."""
        return self.score(_sums_of_rows(outputs, self.places, self.starts))


def _sums_of_rows(outputs: Array, places: NDArray[np.intp], starts: NDArray[np.intp]) -> Array:
    sums = np.add.reduceat(outputs[:, places], starts, axis=1)
    return np.asarray(sums.reshape(len(outputs), -1))


def row_sums(
    # Training outputs; shape (n, d) and (m, d)
    p_outputs: Array,
    q_outputs: Array,
    *,
    # The shapes of the arrays of a release, in the order in which they are flattened. There are
    # rows if all of them begin with the same number.
    shapes: tuple[tuple[int, ...], ...],
) -> RowSums | None:
    """A linear score of sums of rows; None if a release has no rows to add up.

    Rows are synthetic records, gradients of several steps or the like. The effect of a changed
    record on each row may be too small to be seen, and yet visible in their sum. Rows with the same
    constants, such as labels, are added up together.
    """
    if len({shape[:1] for shape in shapes}) != 1 or all(len(shape) < 2 for shape in shapes):
        return None
    rows = shapes[0][0]
    ends = np.cumsum([math.prod(shape) for shape in shapes])[:-1]
    parts = np.split(np.arange(p_outputs.shape[1]), ends)
    places = np.concatenate([part.reshape(rows, -1) for part in parts], axis=1)
    constant = ~_varies(p_outputs, q_outputs)[places].any(axis=0)
    labels = p_outputs[0][places[:, constant]]
    same = (labels == q_outputs[0][places[:, constant]]).all(axis=0)
    _, group = np.unique(labels[:, same], axis=0, return_inverse=True)
    order = np.argsort(group.ravel(), kind="stable")
    starts = np.flatnonzero(np.diff(group.ravel()[order], prepend=-1))
    if constant.all() or len(starts) == rows:
        return None
    varying = places[np.ix_(order, np.flatnonzero(~constant))]
    sums = (_sums_of_rows(outputs, varying, starts) for outputs in (p_outputs, q_outputs))
    return RowSums(places=varying, starts=starts, score=linear(*sums))


def _varies(p_outputs: Array, q_outputs: Array) -> NDArray[np.bool_]:
    """For each column, whether it varies on either side."""
    return np.asarray(
        (p_outputs != p_outputs[0]).any(axis=0) | (q_outputs != q_outputs[0]).any(axis=0)
    )


def row_scores(training: TrainingOutputs) -> list[NamedScore]:
    """A linear score of sums of rows, if there are rows of numbers to add up."""
    if not training.is_number.all():
        return []
    score = row_sums(training.p, training.q, shapes=training.shapes)
    if score is None:
        return []
    return [NamedScore(name="linear, of rows added up", score=score, family="rows", share=2.0)]
