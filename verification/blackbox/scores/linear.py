"""A linear score, which is the best score if the mechanism adds noise of a fixed covariance."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rdpkit.verification.estimators.base import Array, OutputScore

# A covariance is estimated only if there are at least this many rows for each column.
_ROWS_A_COLUMN = 10


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Linear:
    """A weighted sum of the outputs.

    Parameters
    ----------
    weights : array_like, shape (d,)
        The weights.
    """

    weights: ArrayLike

    def __call__(self, outputs: Array, /) -> Array:
        """The weighted sum of each row."""
        return np.asarray(outputs @ np.asarray(self.weights, dtype=np.float64))


def linear(p_outputs: Array, q_outputs: Array) -> Linear:
    """A linear score that separates the outputs: Fisher's discriminant, if there are enough rows.

    With too few rows to estimate a covariance there are two proposals: the columns that differ most
    clearly, and all columns, each weighted by itself. The first suits a large difference in a few
    columns, the second many small differences that are visible only in their sum. They are made on
    one half of the outputs, and the other half decides between them.

    Parameters
    ----------
    p_outputs, q_outputs : ndarray, shape (n, d) and (m, d)
        Training outputs.
    """
    if not _too_many(p_outputs, q_outputs):
        return _fisher(p_outputs, q_outputs, np.arange(p_outputs.shape[1]))
    p_learn, q_learn = p_outputs[::2], q_outputs[::2]
    separations = [
        _separation(propose(p_learn, q_learn), p_outputs[1::2], q_outputs[1::2])
        for propose in (_of_clearest, _of_all)
    ]
    best = _of_all if separations[1] > separations[0] else _of_clearest
    return best(p_outputs, q_outputs)


def _too_many(p_outputs: Array, q_outputs: Array) -> bool:
    return bool(p_outputs.shape[1] * _ROWS_A_COLUMN > min(len(p_outputs), len(q_outputs)))


def _moments(p_outputs: Array, q_outputs: Array) -> tuple[Array, Array]:
    """For each column, the difference of the means and the variance, which is 0 for constants."""
    gap = p_outputs.mean(axis=0) - q_outputs.mean(axis=0)
    variance = 0.5 * (p_outputs.var(axis=0) + q_outputs.var(axis=0))
    # The variance of a constant is computed as more than 0, because its mean is rounded.
    still = ~varies(p_outputs, q_outputs)
    gap[still], variance[still] = (p_outputs[0] - q_outputs[0])[still], 0.0
    return gap, variance


def varies(p_outputs: Array, q_outputs: Array) -> NDArray[np.bool_]:
    """For each column, whether it varies on either side."""
    return np.asarray(
        (p_outputs != p_outputs[0]).any(axis=0) | (q_outputs != q_outputs[0]).any(axis=0)
    )


def _separation(score: OutputScore, p_outputs: Array, q_outputs: Array) -> float:
    """The difference of the means of a score, in standard deviations."""
    p, q = score(p_outputs), score(q_outputs)
    spread = math.sqrt(0.5 * (p.var() + q.var()))
    gap = float(p.mean() - q.mean())
    return gap / spread if spread > 0.0 else math.copysign(math.inf, gap) if gap else 0.0


def _of_all(p_outputs: Array, q_outputs: Array) -> Linear:
    """All columns, each weighted by itself, so that small differences add up."""
    gap, variance = _moments(p_outputs, q_outputs)
    weights = np.zeros(gap.size)
    np.divide(gap, variance, out=weights, where=variance > 0.0)
    return _of_size_one(weights)


def _of_clearest(p_outputs: Array, q_outputs: Array) -> Linear:
    """Fisher's discriminant of the columns that differ clearly, or of all if none does."""
    gap, variance = _moments(p_outputs, q_outputs)
    clear = np.zeros(gap.size)
    error = np.sqrt(variance * 2.0 / min(len(p_outputs), len(q_outputs)))
    np.divide(np.abs(gap), error, out=clear, where=error > 0.0)
    chosen = np.flatnonzero(clear > math.sqrt(2.0 * math.log(max(2, gap.size))))
    return _fisher(p_outputs, q_outputs, chosen if len(chosen) else np.arange(gap.size))


def _fisher(p_outputs: Array, q_outputs: Array, chosen: NDArray[np.intp]) -> Linear:
    """Fisher's discriminant of these columns; each is weighted by itself if they are too many."""
    gap, variance = _moments(p_outputs, q_outputs)
    weights = np.zeros(gap.size)
    still = variance == 0.0
    if (still & (gap != 0.0)).any():
        # A constant output that differs between the data sets is the clearest score.
        weights[still] = gap[still]
        return Linear(weights=weights)
    chosen = chosen[~still[chosen]]
    if not len(chosen):
        return Linear(weights=np.ones(gap.size))
    if not _too_many(p_outputs[:, chosen], q_outputs[:, chosen]):
        scale = np.sqrt(variance[chosen])
        covariance = 0.5 * sum(
            np.atleast_2d(np.cov(side[:, chosen] / scale, rowvar=False))
            for side in (p_outputs, q_outputs)
        )
        regular = covariance + 1e-6 * np.eye(len(chosen))
        weights[chosen] = np.linalg.solve(regular, gap[chosen] / scale) / scale
    else:
        weights[chosen] = gap[chosen] / variance[chosen]
    return _of_size_one(weights)


def _of_size_one(weights: Array) -> Linear:
    """Weights scaled to a largest one of 1, so that nothing overflows in any unit."""
    largest = np.abs(weights).max()
    return Linear(weights=weights / largest if largest > 0.0 else np.ones(weights.size))


__all__ = ["Linear", "linear", "varies"]
