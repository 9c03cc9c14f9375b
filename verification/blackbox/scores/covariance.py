"""Scores of squares and of products of columns, for what no mean shows.

Squares see directions in which outputs vary more on one data set than on the other. Products see a
dependence that no single column shows: for each pair of columns, the mean of their product is
compared between D and D'. The pairs that differ most on one half of the outputs are weighted by
their difference on the other half, so that pairs which differ by chance get no weight on average.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdpkit.verification.blackbox.mistakes import MistakeKind, mistake_of
from rdpkit.verification.blackbox.scores.linear import Linear, linear
from rdpkit.verification.blackbox.scores.named_score import (
    NamedScore,
    Standard,
    TrainingOutputs,
    standard,
)
from rdpkit.verification.blackbox.scores.record import directions
from rdpkit.verification.estimators.base import Array, OutputScore

# Directions are looked for among at most this many columns.
_MOST_COLUMNS = 256
# The products of at most this many columns are compared to choose these.
_MOST_COMPARED = 2048
# Rows times the square of columns, at most, for a covariance and for the means of all products.
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


def _squares(
    units: Standard,
    # The directions, in standard units, shape (columns, k); of each projection what is subtracted,
    # and the weight of its square, shape (k,).
    directions: Array,
    centre: Array,
    weights: Array,
    outputs: Array,
    /,
) -> Array:
    """A weighted sum of the squares of projections."""
    return np.asarray((units(outputs) @ directions - centre) ** 2 @ weights)


def _from_middle(score: OutputScore, middle: float, outputs: Array, /) -> Array:
    """The distance of another score from its middle."""
    return np.abs(score(outputs) / 2.0 - middle / 2.0)


def _log_squares(units: Standard, score: OutputScore | None, outputs: Array, /) -> Array:
    """A score of the logarithms of squares in standard units, or that of the sum of squares."""
    unit = units(outputs)
    if score is None:
        return np.asarray(np.log(np.einsum("ij,ij->i", unit, unit) + _SMALL))
    return score(np.log(unit**2 + _SMALL))


def covariance_scores(training: TrainingOutputs) -> list[NamedScore]:
    """Scores of squares along directions, along the records that differ, and of columns."""
    if training.runs < _FEWEST or not training.is_number.any():
        return []
    units = standard(training, furthest=_FURTHEST)
    if not len(units.columns):
        return []
    score = _of_directions(training, units)
    found: list[tuple[str, OutputScore]] = []
    if score is not None:
        found.append(("squares along directions", score))
    some = training.within(_MOST_VALUES)
    for name, weights in directions(training)[:1]:
        along = Linear(weights)
        middle = float(np.median(np.concatenate([along(some.p), along(some.q)])))
        found.append((f"distance along {name}", partial(_from_middle, along, middle)))
    far = standard(some)
    p, q = (np.log(far(side) ** 2 + _SMALL) for side in (some.p, some.q))
    found.append(("logarithms of squares", partial(_log_squares, far, linear(p, q))))
    if len(far.columns) > 1:
        found.append(("norm", partial(_log_squares, far, None)))
    few, scores = training.thinned(_MOST_EXPLAINED), []
    for name, score in found:
        one, other = (float(np.median(score(side))) for side in (few.p, few.q))
        why = mistake_of(MistakeKind.COVARIANCE_OF_THE_DATA, "squares", name=name, p=one, q=other)
        scores.append(NamedScore(name, score, family="covariance", explanation=why))
    return scores


def _of_directions(training: TrainingOutputs, units: Standard) -> OutputScore | None:
    """Squares along the directions in which the covariances differ most.

    The directions come from one half of the outputs, and their weights from the other, and again
    the other way round.
    """
    halves = [training.half(which) for which in (0, 1)]
    rows = max(_FEWEST, int(_MOST_PRODUCTS / _MOST_COLUMNS**2))
    some = [half.within(_MOST_WIDE).thinned(rows) for half in halves]
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
    return partial(_squares, chosen, every, centre @ every, weight)


def _columns(training: TrainingOutputs, units: Standard) -> NDArray[np.intp]:
    """The columns to look at: those whose squares and products differ most, if there are many."""
    width = len(units.columns)
    if width <= _MOST_COLUMNS:
        return np.arange(width)
    some = training.thinned(max(_FEWEST, int(_MOST_PRODUCTS / min(width, _MOST_COMPARED) ** 2)))
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


Singles = NDArray[np.floating[Any]]

# A score uses at most this many columns, and pairs are looked for among at most so many.
_MOST_USED, _MOST_IN_PAIRS = 256, 2048
# Standard units are clipped here before they are multiplied.
_FURTHEST_IN_PAIRS = 4.0
# Pairs that differ by less than this many standard errors are left out.
_LEVELS = (0.0, 1.0, 2.0, 3.0, 4.0, 5.0)


def _products(
    units: Standard,
    # What is subtracted from a column, or from its sign, before it is multiplied, shape (k,); and a
    # weight for each pair of columns, shape (k, k).
    centre: Array,
    weights: Array,
    outputs: Array,
    /,
) -> Array:
    """A weighted sum of products of columns."""
    unit = units(outputs) - centre
    return np.asarray(np.einsum("ij,ij->i", unit @ weights, unit))


def pair_scores(training: TrainingOutputs) -> list[NamedScore]:
    """Scores of products of columns, and of products of their signs."""
    width = int(training.is_number.sum())
    if not 1 < width <= _MOST_IN_PAIRS or training.runs < _FEWEST:
        return []
    some = training.thinned(max(2 * _FEWEST, int(2 * _MOST_PRODUCTS / width**2)))
    units = standard(some, furthest=_FURTHEST_IN_PAIRS)
    if len(units.columns) < 2:
        return []
    found = [_of_products(some, replace(units, signs=signs)) for signs in (False, True)]
    return [one for one in found if one is not None]


def _of_products(training: TrainingOutputs, units: Standard) -> NamedScore | None:
    p, q = (units(side).astype(np.float32) for side in (training.p, training.q))
    centre = 0.5 * (p.mean(axis=0) + q.mean(axis=0))
    p -= centre
    q -= centre
    one, two = (_mean_products(p[h::2]) - _mean_products(q[h::2]) for h in (0, 1))
    # About the variance of each product, or more.
    variances: Singles = np.ones((p.shape[1], p.shape[1]), dtype=np.float32)
    if not units.signs:
        squares = _mean_products(p[::2] ** 2) + _mean_products(q[::2] ** 2)
        variances = np.asarray(0.5 * squares + np.float32(1e-3))
    error = np.sqrt(variances * 2.0 * (1.0 / len(p) + 1.0 / len(q)))
    one, two = one / error, two / error
    for matrix in (one, two):
        np.fill_diagonal(matrix, 0.0)
    best = _LEVELS[np.argmax([_seen(one, two, level) for level in _LEVELS])]
    weights = np.where(np.abs(one) > best, two, 0.0) + np.where(np.abs(two) > best, one, 0.0)
    weights /= error
    strength = np.sqrt((weights**2).sum(axis=0))
    used = np.flatnonzero(strength > 0.0)
    if len(used) > _MOST_USED:
        used = np.sort(np.argsort(-strength, kind="stable")[:_MOST_USED])
    chosen = weights[np.ix_(used, used)].astype(np.float64)
    largest = np.abs(chosen).max(initial=0.0)
    if largest == 0.0:
        return None
    kept, chosen = units.of(used), chosen / largest
    score = partial(_products, kept, centre[used].astype(np.float64), chosen)
    upper = np.abs(np.triu(chosen, 1))
    pair = np.array(np.unravel_index(int(np.argmax(upper)), upper.shape), dtype=np.intp)
    columns = [training.name(int(column)) for column in kept.columns[pair]]
    means = [
        float(np.prod(kept.of(pair)(side), axis=1).mean()) for side in (training.p, training.q)
    ]
    signs = "signs of " if units.signs else ""
    why = mistake_of(
        MistakeKind.COVARIANCE_OF_THE_DATA,
        "products",
        signs=f"the {signs}" if signs else "",
        one=columns[0],
        other=columns[1],
        p=means[0],
        q=means[1],
    )
    name = f"products of {signs}columns"
    return NamedScore(name, score, family="covariance", explanation=why)


def _mean_products(unit: Singles) -> Singles:
    return np.asarray(unit.T @ unit / np.float32(len(unit)))


def _seen(one: Singles, two: Singles, level: float) -> float:
    """How clearly a score with the weights of one half separates the other half."""
    found = 0.0
    for learnt, tested in ((one, two), (two, one)):
        weights = np.where(np.abs(learnt) > level, learnt, np.float32(0.0))
        size = math.sqrt(float((weights.astype(np.float64) ** 2).sum()))
        if size > 0.0:
            found += float((weights * tested).sum(dtype=np.float64)) / size
    return found
