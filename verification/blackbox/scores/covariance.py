"""Scores of squares: directions in which outputs vary more on one data set than on the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rdpkit.verification.blackbox.mistakes import Mistake, MistakeKind, mistake_of
from rdpkit.verification.blackbox.scores.difference import directions
from rdpkit.verification.blackbox.scores.linear import Linear, OfStandard, linear
from rdpkit.verification.blackbox.scores.named_score import NamedScore
from rdpkit.verification.blackbox.scores.training_outputs import Standard, TrainingOutputs, standard
from rdpkit.verification.estimators.base import Array, OutputScore

# Directions are looked for among at most this many columns.
_MOST_COLUMNS = 256
# The products of at most this many columns are compared to choose these.
_MOST_COMPARED = 2048
# Rows times the square of columns, at most, for a covariance.
_MOST_PRODUCTS = 1e9
_FEWEST = 50
# Standard units are clipped here before they are squared.
_FURTHEST = 8.0
# Directions of the largest and of the smallest ratio of variances.
_DIRECTIONS = 4
# A direction counts if its variances differ by this many standard errors.
_CLEAR = 2.5
# A covariance is made from at most this many values of each side.
_MOST_WIDE = 2**23
# Squares are learnt from at most this many values of each side.
_MOST_VALUES = 2**21
# An explanation is made from at most this many outputs of each side.
_MOST_EXPLAINED = 1000
# Added to squares in standard units before their logarithm is taken.
_SMALL = 1e-4


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Quadratic:
    """A weighted sum of the squares of projections."""

    standard: Standard  # Brings outputs to standard units
    directions: Array  # The directions, in standard units; shape (columns, k)
    # What is subtracted from each projection, and the weight of its square; shape (k,).
    centre: Array
    weights: Array

    def __call__(self, outputs: Array, /) -> Array:
        """The score of each output."""
        projections = self.standard(outputs) @ self.directions
        return np.asarray((projections - self.centre) ** 2 @ self.weights)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DistanceFromMiddle:
    """The distance of another score from its middle."""

    score: OutputScore  # The other score
    middle: float

    def __call__(self, outputs: Array, /) -> Array:
        """The distance for each output."""
        return np.abs(self.score(outputs) / 2.0 - self.middle / 2.0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LogSquares:
    """A score of the logarithms of squares, in standard units."""

    score: OutputScore | None = None
    """A score of the logarithms, shape (n, k); None for the logarithm of the sum of squares."""

    def __call__(self, unit: Array, /) -> Array:
        """The score of each output in standard units."""
        if self.score is None:
            return np.asarray(np.log(np.einsum("ij,ij->i", unit, unit) + _SMALL))
        return self.score(np.log(unit**2 + _SMALL))


def covariance_scores(training: TrainingOutputs) -> list[NamedScore]:
    """Scores of squares along directions, along the records that differ, and of columns."""
    if training.runs < _FEWEST or not training.is_number.any():
        return []
    found = []
    units = standard(training, furthest=_FURTHEST)
    if not len(units.columns):
        return []
    score = _of_directions(training, units)
    if score is not None:
        found.append(_named("squares along directions", score, training))
    some = training.within(_MOST_VALUES)
    for name, weights in directions(training)[:1]:
        along = Linear(weights=weights)
        both = np.concatenate([along(some.p), along(some.q)])
        distance = DistanceFromMiddle(score=along, middle=float(np.median(both)))
        found.append(_named(f"distance along {name}", distance, training))
    far = standard(some)
    p, q = (np.log(far(side) ** 2 + _SMALL) for side in (some.p, some.q))
    of_squares = OfStandard(standard=far, score=LogSquares(score=linear(p, q)))
    found.append(_named("logarithms of squares", of_squares, training))
    if len(far.columns) > 1:
        norm = OfStandard(standard=far, score=LogSquares())
        found.append(_named("norm", norm, training))
    return found


def _named(name: str, score: OutputScore, training: TrainingOutputs) -> NamedScore:
    return NamedScore(
        name=name, score=score, family="covariance", explanation=_explained(name, score, training)
    )


def _explained(name: str, score: OutputScore, training: TrainingOutputs) -> Mistake:
    some = training.thinned(_MOST_EXPLAINED)
    p, q = (float(np.median(score(side))) for side in (some.p, some.q))
    return mistake_of(MistakeKind.COVARIANCE_OF_THE_DATA, "squares", name=name, p=p, q=q)


def _of_directions(training: TrainingOutputs, units: Standard) -> Quadratic | None:
    """Squares along the directions in which the covariances differ most.

    The directions come from one half of the outputs, and their weights from the other, and again
    the other way round.
    """
    halves = [training.half(which) for which in (0, 1)]
    some = [half.within(_MOST_WIDE).thinned(_most_rows(_MOST_COLUMNS)) for half in halves]
    chosen = units.of(_columns(some[0], units))
    sides = [[chosen(side) for side in (half.p, half.q)] for half in some]
    found, weights = [], []
    centre = 0.5 * sum(side.mean(axis=0) for half in sides for side in half) / 2.0
    for learn, weigh in ((sides[0], sides[1]), (sides[1], sides[0])):
        vectors = _eigenvectors(learn[0], learn[1])
        p, q = (((side - centre) @ vectors) ** 2 for side in weigh)
        gap = p.mean(axis=0) - q.mean(axis=0)
        error = np.sqrt(p.var(axis=0) / len(p) + q.var(axis=0) / len(q))
        clear = np.abs(gap) / np.where(error > 0.0, error, np.inf)
        kept = np.flatnonzero(clear > min(_CLEAR, float(clear.max())) - 1e-12)
        # The logarithm of the ratio of two normal densities.
        weight = 0.5 / np.maximum(q.mean(axis=0), 1e-9) - 0.5 / np.maximum(p.mean(axis=0), 1e-9)
        found.append(vectors[:, kept])
        weights.append(np.clip(weight[kept], -1e6, 1e6))
    every, weight = np.concatenate(found, axis=1), np.concatenate(weights)
    if not weight.any():
        return None
    return Quadratic(standard=chosen, directions=every, centre=centre @ every, weights=weight)


def _most_rows(columns: int) -> int:
    return max(_FEWEST, int(_MOST_PRODUCTS / columns**2))


def _columns(training: TrainingOutputs, units: Standard) -> NDArray[np.intp]:
    """The columns to look at: those whose squares and products differ most, if there are many."""
    width = len(units.columns)
    if width <= _MOST_COLUMNS:
        return np.arange(width)
    some = training.thinned(_most_rows(min(width, _MOST_COMPARED)))
    p, q = (units(side).astype(np.float32) for side in (some.p, some.q))
    if width > _MOST_COMPARED:
        squares = np.abs((p**2).mean(axis=0) - (q**2).mean(axis=0))
        clearest = np.sort(np.argsort(-squares, kind="stable")[:_MOST_COMPARED])
        return clearest[_columns(training, units.of(clearest))]
    difference = p.T @ p / np.float32(len(p)) - q.T @ q / np.float32(len(q))
    strength = np.abs(difference).max(axis=0) + np.abs(np.diagonal(difference))
    return np.sort(np.argsort(-strength, kind="stable")[:_MOST_COLUMNS])


def _eigenvectors(p: Array, q: Array) -> Array:
    """Directions of the largest and smallest ratios of variances, in standard units."""
    width = p.shape[1]
    covariances = [np.atleast_2d(np.cov(side, rowvar=False)) for side in (p, q)]
    pooled = 0.5 * (covariances[0] + covariances[1])
    rows = len(p) + len(q)
    # The variances are mixed in if there are few rows for a column.
    mixed = min(1.0, max(1e-6, width / rows))
    pooled = (1.0 - mixed) * pooled + mixed * np.diag(np.diagonal(pooled) + 1e-9)
    values, basis = np.linalg.eigh(pooled)
    whitening = basis / np.sqrt(np.maximum(values, 1e-9))
    _, vectors = np.linalg.eigh(whitening.T @ (covariances[0] - covariances[1]) @ whitening)
    ends = np.unique(np.r_[: min(_DIRECTIONS, width), max(0, width - _DIRECTIONS) : width])
    return np.asarray(whitening @ vectors[:, ends])
