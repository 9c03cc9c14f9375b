"""Scores of the products of columns, for a dependence that no single column shows.

For each pair of columns, the mean of their product is compared between D and D'. The pairs that
differ most on one half of the outputs are weighted by their difference on the other half, so that
pairs which differ by chance get no weight on average.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdpkit.verification.blackbox.mistakes import Mistake, MistakeKind, mistake_of
from rdpkit.verification.blackbox.scores.named_score import NamedScore
from rdpkit.verification.blackbox.scores.training_outputs import Standard, TrainingOutputs, standard
from rdpkit.verification.estimators.base import Array

Singles = NDArray[np.floating[Any]]

# A score uses at most this many columns, and pairs are looked for among at most so many.
_MOST_USED, _MOST_COLUMNS = 256, 2048
# Rows times the square of columns, at most, for the means of all products.
_MOST_PRODUCTS = 1e9
_FEWEST = 50
# Standard units are clipped here before they are multiplied.
_FURTHEST = 4.0
# Pairs that differ by less than this many standard errors are left out.
_LEVELS = (0.0, 1.0, 2.0, 3.0, 4.0, 5.0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairProducts:
    """A weighted sum of products of columns."""

    standard: Standard  # The columns, and what brings them to standard units
    centre: Array
    """What is subtracted from a column, or from its sign, before it is multiplied; shape (k,)."""
    weights: Array  # A weight for each pair of columns; shape (k, k)
    signs: bool  # Whether to multiply the signs of the columns

    def __call__(self, outputs: Array, /) -> Array:
        """The score of each output."""
        unit = _unit(self.standard, outputs, signs=self.signs) - self.centre
        return np.asarray(np.einsum("ij,ij->i", unit @ self.weights, unit))


def _unit(standard_units: Standard, outputs: Array, *, signs: bool) -> Array:
    unit = standard_units(outputs)
    return np.asarray(np.sign(unit, out=unit) if signs else unit)


def pair_scores(training: TrainingOutputs) -> list[NamedScore]:
    """Scores of products of columns, and of products of their signs."""
    width = int(training.is_number.sum())
    if not 1 < width <= _MOST_COLUMNS or training.runs < _FEWEST:
        return []
    some = training.thinned(max(2 * _FEWEST, int(2 * _MOST_PRODUCTS / width**2)))
    units = standard(some, furthest=_FURTHEST)
    if len(units.columns) < 2:
        return []
    found = []
    for signs, what in ((False, "products of columns"), (True, "products of signs of columns")):
        score = _of_products(some, units, signs=signs)
        if score is not None:
            found.append(
                NamedScore(
                    name=what,
                    score=score,
                    family="covariance",
                    explanation=_explained(some, score),
                )
            )
    return found


def _of_products(training: TrainingOutputs, units: Standard, *, signs: bool) -> PairProducts | None:
    p, q = (_unit(units, side, signs=signs).astype(np.float32) for side in (training.p, training.q))
    centre = 0.5 * (p.mean(axis=0) + q.mean(axis=0))
    p -= centre
    q -= centre
    one, two = (_mean_products(p[h::2]) - _mean_products(q[h::2]) for h in (0, 1))
    error = np.sqrt(_variances(p, q, signs=signs) * 2.0 * (1.0 / len(p) + 1.0 / len(q)))
    one, two = one / error, two / error
    for matrix in (one, two):
        np.fill_diagonal(matrix, 0.0)
    best = max(_LEVELS, key=lambda level: _seen(one, two, level))
    weights = np.where(np.abs(one) > best, two, 0.0) + np.where(np.abs(two) > best, one, 0.0)
    weights /= error
    strength = np.sqrt((weights**2).sum(axis=0))
    used = np.flatnonzero(strength > 0.0)
    if not len(used):
        return None
    if len(used) > _MOST_USED:
        used = np.sort(np.argsort(-strength, kind="stable")[:_MOST_USED])
    chosen = weights[np.ix_(used, used)].astype(np.float64)
    largest = np.abs(chosen).max()
    if largest == 0.0:
        return None
    return PairProducts(
        standard=units.of(used),
        centre=centre[used].astype(np.float64),
        weights=chosen / largest,
        signs=signs,
    )


def _mean_products(unit: Singles) -> Singles:
    return np.asarray(unit.T @ unit / np.float32(len(unit)))


def _variances(p: Singles, q: Singles, *, signs: bool) -> Singles:
    """About the variance of each product, or more."""
    if signs:
        return np.ones((p.shape[1], p.shape[1]), dtype=np.float32)
    squares = _mean_products(p[::2] ** 2) + _mean_products(q[::2] ** 2)
    return np.asarray(0.5 * squares + np.float32(1e-3))


def _seen(one: Singles, two: Singles, level: float) -> float:
    """How clearly a score with the weights of one half separates the other half."""
    found = 0.0
    for learnt, tested in ((one, two), (two, one)):
        weights = np.where(np.abs(learnt) > level, learnt, np.float32(0.0))
        size = math.sqrt(float((weights.astype(np.float64) ** 2).sum()))
        if size > 0.0:
            found += float((weights * tested).sum(dtype=np.float64)) / size
    return found


def _explained(training: TrainingOutputs, score: PairProducts) -> Mistake:
    upper = np.abs(np.triu(score.weights, 1))
    first, second = np.unravel_index(int(np.argmax(upper)), upper.shape)
    columns = [training.name(int(column)) for column in score.standard.columns[[first, second]]]
    clearest = score.standard.of(np.array([first, second], dtype=np.intp))
    p, q = (
        float(np.prod(_unit(clearest, side, signs=score.signs), axis=1).mean())
        for side in (training.p, training.q)
    )
    return mistake_of(
        MistakeKind.COVARIANCE_OF_THE_DATA,
        "products",
        signs="the signs of " if score.signs else "",
        one=columns[0],
        other=columns[1],
        p=p,
        q=q,
    )
