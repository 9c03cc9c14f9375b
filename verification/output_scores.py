"""What a test looks at, where an output is more than one number: scores learnt from training runs.

A score may be anything, as long as it does not depend on the runs that it is then tested on.
Several are tested side by side; the capital of a bettor who spreads evenly over them is their mean.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np
from numpy.typing import ArrayLike

from verification.estimators.base import Array, Score, check_scores
from verification.structure import Structure

# Whitening needs more rows than this for each column.
_ROWS_A_COLUMN = 10
_LEAST_LEARNT = 200
MODELS = ("logistic", "boosting")


def has_classifiers() -> bool:
    """Whether scikit-learn, which classifiers come from, is there."""
    return find_spec("sklearn") is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedScore:
    """A score with its name.

    Parameters
    ----------
    name : str
        In words.
    score : callable
        Turns flattened outputs, shape (n, d), into scores, shape (n,).
    """

    name: str
    score: Score

    def of(self, outputs: Array) -> Array:
        """Scores of outputs.

        Raises
        ------
        ArithmeticError
            If one is NaN.
        ValueError
            If the score does not return one number a row.
        """
        found = check_scores(f"the score {self.name!r}", self.score(outputs))
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
        """The sum of each row."""
        return np.asarray(outputs @ np.asarray(self.weights, dtype=np.float64))


def linear(p_outputs: Array, q_outputs: Array) -> Linear:
    """Fisher's discriminant; of the clearest columns only, where there are too many to whiten.

    Parameters
    ----------
    p_outputs, q_outputs : ndarray, shape (n, d) and (m, d)
        Training outputs.
    """
    width = p_outputs.shape[1]
    gap = p_outputs.mean(axis=0) - q_outputs.mean(axis=0)
    variance = 0.5 * (p_outputs.var(axis=0) + q_outputs.var(axis=0))
    weights = np.zeros(width)
    still = variance == 0.0
    if (still & (gap != 0.0)).any():
        # Nothing is clearer than an output that does not vary.
        weights[still] = gap[still]
        return Linear(weights=weights)
    rows = min(len(p_outputs), len(q_outputs))
    clear = np.zeros(width)
    clear[~still] = np.abs(gap[~still]) / np.sqrt(variance[~still] * 2.0 / rows)
    chosen = np.flatnonzero(clear > math.sqrt(2.0 * math.log(max(2, width))))
    if width * _ROWS_A_COLUMN <= rows or not len(chosen):
        chosen = np.flatnonzero(~still)
    if not len(chosen):
        return Linear(weights=np.ones(width))
    if len(chosen) * _ROWS_A_COLUMN <= rows:
        scale = np.sqrt(variance[chosen])
        covariance = 0.5 * sum(
            np.atleast_2d(np.cov(side[:, chosen] / scale, rowvar=False))
            for side in (p_outputs, q_outputs)
        )
        regular = covariance + 1e-6 * np.eye(len(chosen))
        weights[chosen] = np.linalg.solve(regular, gap[chosen] / scale) / scale
    else:
        weights[chosen] = gap[chosen] / variance[chosen]
    # Of the size of its outputs: no overflow, whatever their units.
    largest = np.abs(weights).max()
    return Linear(weights=weights / largest if largest > 0.0 else np.ones(width))


def candidates(
    p_outputs: Array,
    q_outputs: Array,
    *,
    structure: Structure,
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
        What :func:`verification.structure.structure_of` says of them.
    own : NamedScore or None
        One that was given.
    models : tuple of str
        Of ``MODELS``: classifiers to train.
    rng : numpy.random.Generator
        For the training.
    """
    found = [] if own is None else [own]
    if structure.noiseless is not None:
        found.append(NamedScore(name="a combination without noise", score=structure.noiseless))
    if structure.grid is not None:
        found.append(NamedScore(name="distance to a grid", score=structure.grid))
    found.append(NamedScore(name="linear", score=linear(p_outputs, q_outputs)))
    varies = bool((np.concatenate([p_outputs, q_outputs]) != p_outputs[0]).any())
    if min(len(p_outputs), len(q_outputs)) >= _LEAST_LEARNT and varies:
        for model in models:
            from verification.estimators.learned_score import learned_score  # noqa: PLC0415

            score = learned_score(p_outputs, q_outputs, model=model, rng=rng)
            found.append(NamedScore(name=f"learned ({model})", score=score))
    return found


__all__ = ["MODELS", "Linear", "NamedScore", "candidates", "has_classifiers", "linear"]
