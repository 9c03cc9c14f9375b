"""The density ratio P/Q as a function of a one-dimensional score, learnt from samples.

Whatever is learnt, a test that uses it is valid; a better ratio only makes it more powerful. A
ratio takes finitely many values: scores are sorted into cells, each with a value of log P/Q.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from rdpkit.verification.estimators.base import Array
from rdpkit.verification.estimators.witness import Cells
from scipy.special import expit

_NEWTON_STEPS = 40
_RIDGE = 1e-6
_CELLS = 256
_MOST_BINS = 64
_PER_BIN = 40
# A polynomial has few coefficients: more samples than this teach it little.
_MOST_SAMPLES = 20_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RatioModel:
    """An estimate of log P/Q that is constant on cells.

    Parameters
    ----------
    kind, name : str
        How it was learnt, in a word and in words.
    cell : callable
        Maps scores, shape (n,), to cells, from 0 to k - 1.
    log_ratio : ndarray, shape (k,)
        Log P/Q in each cell.
    """

    kind: str
    name: str
    cell: Callable[[Array], Cells]
    log_ratio: Array


def ratio_models(p_scores: Array, q_scores: Array) -> list[RatioModel]:
    """Ratios of several kinds: log-polynomials of degree 1 and 3, and one that is constant on bins.

    Degree 1 is exact for a log-likelihood ratio as the score, and for Gaussians of equal variance.
    """
    models = [_polynomial(p_scores, q_scores, degree) for degree in (1, 3)]
    return [model for model in (*models, _binned(p_scores, q_scores)) if model is not None]


def _polynomial(p_scores: Array, q_scores: Array, degree: int) -> RatioModel | None:
    """Logistic regression of the side on powers of the standardised score."""
    p_scores, q_scores = p_scores[:_MOST_SAMPLES], q_scores[:_MOST_SAMPLES]
    both = np.concatenate([p_scores, q_scores])
    finite = both[np.isfinite(both)]
    if finite.size < 20 or finite.std() == 0.0:
        return None
    low, high = finite.min(), finite.max()
    centre, scale = float(np.median(finite)), float(finite.std())

    def features(scores: Array) -> Array:
        unit = (np.clip(scores, low, high) - centre) / scale
        return np.stack([unit**k for k in range(degree + 1)], axis=1)

    rows = features(both)
    labels = np.concatenate([np.ones(p_scores.size), np.zeros(q_scores.size)])
    # Both sides weigh the same, so that the odds are the ratio of the densities.
    weights = np.where(labels == 1.0, 0.5 / p_scores.size, 0.5 / q_scores.size)
    coefficients = np.zeros(degree + 1)
    for _ in range(_NEWTON_STEPS):
        probability = expit(rows @ coefficients)
        gradient = rows.T @ (weights * (labels - probability)) - _RIDGE * coefficients
        curvature = (rows * (weights * probability * (1.0 - probability))[:, None]).T @ rows
        step = np.linalg.solve(curvature + _RIDGE * np.eye(degree + 1), gradient)
        coefficients = coefficients + np.clip(step, -5.0, 5.0)
        if np.abs(step).max() < 1e-7:
            break

    # From the value that a few of the training samples are below to that which a few exceed.
    values = np.sort(rows @ coefficients)
    rank = min(10, values.size // 20)
    bottom, top = float(values[rank]), float(values[-1 - rank])
    if top - bottom < 1e-12:
        return None
    step_size = (top - bottom) / (_CELLS - 1)

    def cell(scores: Array) -> Cells:
        raw = features(scores) @ coefficients
        return np.rint(np.clip((raw - bottom) / step_size, 0.0, _CELLS - 1.0)).astype(np.int64)

    return RatioModel(
        kind=f"degree {degree}",
        name=f"log-polynomial of degree {degree}",
        cell=cell,
        log_ratio=bottom + step_size * np.arange(_CELLS, dtype=np.float64),
    )


def _binned(p_scores: Array, q_scores: Array) -> RatioModel | None:
    """Constant between quantiles of both samples together, with half a sample added to each bin."""
    both = np.concatenate([p_scores, q_scores])
    bins = min(_MOST_BINS, both.size // _PER_BIN)
    if bins < 2:
        return None
    ordered = np.sort(both)
    places = np.linspace(0.0, both.size - 1.0, bins + 1)[1:-1].astype(np.int64)
    edges = np.unique(ordered[places])

    def cell(scores: Array) -> Cells:
        return np.searchsorted(edges, scores, side="left")

    counts = [np.bincount(cell(side), minlength=edges.size + 1) for side in (p_scores, q_scores)]
    shares = [(count + 0.5) / (count.sum() + 0.5 * count.size) for count in counts]
    return RatioModel(
        kind="bins",
        name=f"step function on {edges.size + 1} bins",
        cell=cell,
        log_ratio=np.log(shares[0]) - np.log(shares[1]),
    )


__all__ = ["RatioModel", "ratio_models"]
