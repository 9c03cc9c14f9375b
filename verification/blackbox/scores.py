"""Scores, which turn an output into one number, learnt from training runs.

A score may be any function that does not depend on the runs that it is tested on. Several scores
are tested together (:mod:`rdpkit.verification.blackbox.combined_test`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rdpkit.verification.blackbox.structure import Structure
from rdpkit.verification.estimators.base import Array, OutputScore, check_scores

# A covariance is estimated only if there are at least this many rows for each column.
_ROWS_A_COLUMN = 10
_LEAST_LEARNT = 200


def has_classifiers() -> bool:
    """Whether scikit-learn, which has the classifiers, is installed."""
    return find_spec("sklearn") is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedScore:
    """A score and its name.

    Parameters
    ----------
    name : str
        The name in words.
    score : callable
        Turns flattened outputs, shape (n, d), into scores, shape (n,).
    """

    name: str
    score: OutputScore

    def of(self, outputs: Array) -> Array:
        """The scores of outputs.

        Raises
        ------
        ArithmeticError
            If one is NaN.
        ValueError
            If the score raises, or does not return one number a row.
        """
        try:
            scores = self.score(outputs)
        except Exception as error:
            raise ValueError(
                f"The score {self.name!r} raised {type(error).__name__}: {error}"
            ) from error
        found = check_scores(f"the score {self.name!r}", scores)
        if found.shape != (len(outputs),):
            raise ValueError(
                f"Expected the score {self.name!r} to return {len(outputs)} numbers, got "
                f"{found.size}."
            )
        return found


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
    still = ~_varies(p_outputs, q_outputs)
    gap[still], variance[still] = (p_outputs[0] - q_outputs[0])[still], 0.0
    return gap, variance


def _varies(p_outputs: Array, q_outputs: Array) -> NDArray[np.bool_]:
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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RowSums:
    """A score of the sums of groups of rows of a release.

    Parameters
    ----------
    places : ndarray of int, shape (rows, columns)
        The places of each row's varying numbers in the flattened output, group by group.
    starts : ndarray of int, shape (groups,)
        The first row of each group.
    score : callable
        Turns sums of shape (n, groups * columns) into scores.
    """

    places: NDArray[np.intp]
    starts: NDArray[np.intp]
    score: OutputScore

    def __call__(self, outputs: Array, /) -> Array:
        """The score of each output."""
        return self.score(_sums_of_rows(outputs, self.places, self.starts))


def _sums_of_rows(outputs: Array, places: NDArray[np.intp], starts: NDArray[np.intp]) -> Array:
    sums = np.add.reduceat(outputs[:, places], starts, axis=1)
    return np.asarray(sums.reshape(len(outputs), -1))


def row_sums(
    p_outputs: Array, q_outputs: Array, *, shapes: tuple[tuple[int, ...], ...]
) -> RowSums | None:
    """A linear score of sums of rows; None if a release has no rows to add up.

    Rows are synthetic records, gradients of several steps or the like. The effect of a changed
    record on each row may be too small to be seen, and yet visible in their sum. Rows with the same
    constants, such as labels, are added up together.

    Parameters
    ----------
    p_outputs, q_outputs : ndarray, shape (n, d) and (m, d)
        Training outputs.
    shapes : tuple of tuple of int
        The shapes of the arrays of a release, in the order in which they are flattened. There are
        rows if all of them begin with the same number.
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


def candidate_scores(
    p_outputs: Array,
    q_outputs: Array,
    *,
    structure: Structure,
    shapes: tuple[tuple[int, ...], ...],
    own: NamedScore | None,
    models: tuple[str, ...],
    rng: np.random.Generator,
) -> list[NamedScore]:
    """The scores to test, from training outputs.

    Parameters
    ----------
    p_outputs, q_outputs : ndarray, shape (n, d) and (m, d)
        Training outputs.
    structure : Structure
        The result of :func:`rdpkit.verification.blackbox.structure.structure_of` for them.
    shapes : tuple of tuple of int
        The shapes of the arrays of a release, in the order in which they are flattened.
    own : NamedScore or None
        A score that was given.
    models : tuple of str
        Classifiers to train: "logistic" and "boosting".
    rng : numpy.random.Generator
        All randomness of the training.
    """
    found = [] if own is None else [own]
    if structure.noiseless is not None:
        found.append(NamedScore(name="a combination without noise", score=structure.noiseless))
    if structure.grid is not None:
        found.append(NamedScore(name="distance to a grid", score=structure.grid))
    found.append(NamedScore(name="linear", score=linear(p_outputs, q_outputs)))
    of_rows = None if own is not None else row_sums(p_outputs, q_outputs, shapes=shapes)
    if of_rows is not None:
        found.append(NamedScore(name="linear, of rows added up", score=of_rows))
    varies = bool((np.concatenate([p_outputs, q_outputs]) != p_outputs[0]).any())
    if min(len(p_outputs), len(q_outputs)) >= _LEAST_LEARNT and varies:
        for model in models:
            from rdpkit.verification.estimators.learned_score import learned_score  # noqa: PLC0415

            score = learned_score(p_outputs, q_outputs, model=model, rng=rng)
            found.append(NamedScore(name=f"learned ({model})", score=score))
    return found


__all__ = [
    "Linear",
    "NamedScore",
    "RowSums",
    "candidate_scores",
    "has_classifiers",
    "linear",
    "row_sums",
]
