"""A score learnt from samples, for outputs whose distribution is not known."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rdpkit import _validate
from rdpkit.extensions import install_line
from rdpkit.verification.estimators.base import Array, check_outputs

MODELS = ("logistic", "boosting")
# Outputs are clipped at this many robust deviations, because a classifier needs finite features.
# The test stays valid, because a score may be any function.
_FURTHEST = 50.0
# The logistic model uses products of columns if there are at most this many of them.
_MOST_SQUARED = 12
_STEPS = 2000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LearnedScore:
    """A classifier's log-odds of an output being from P.

    Once it has been learnt it is a fixed function, so scores of other outputs are independent if
    these outputs are. Scores of the training outputs must not be tested.
    """

    model: str  # "logistic" or "boosting"
    trained_on: int  # Outputs that it was learnt from, both sides together
    # Columns are standardised with these; shape (d,).
    centre: Array
    scale: Array
    classifier: Any  # A classifier with a method ``decision_function``

    def __call__(self, outputs: ArrayLike, /) -> Array:
        """Scores of outputs of shape (n, d), shape (n,).

        Raises ArithmeticError if an output is NaN. Raises ValueError if the number of columns
        differs from that in training.
        """
        rows = check_outputs("outputs", outputs)
        if rows.shape[1] != self.centre.size:
            raise _validate.fail("outputs", f"to have {self.centre.size} columns", outputs)
        features = _features(self.model, rows, self.centre, self.scale)
        with one_thread():
            found = self.classifier.decision_function(features)
        return np.asarray(found, dtype=np.float64)


def learned_score(
    p_outputs: ArrayLike, q_outputs: ArrayLike, *, model: str, rng: np.random.Generator
) -> LearnedScore:
    """Learn a score that tells outputs from P and from Q apart.

    Parameters
    ----------
    p_outputs, q_outputs : array_like, shape (n, d) and (m, d)
        Training outputs, n, m >= 20; other outputs are to be tested.
    model : str
        "logistic": log-odds are linear in the columns, their squares and, for at most 12 columns,
        their products, which is exact for two Gaussians. "boosting": gradient-boosted trees, for
        other distributions.
    rng : numpy.random.Generator
        All randomness of the training.

    Raises
    ------
    ArithmeticError
        If an output is NaN.
    ImportError
        If scikit-learn is not installed.
    ValueError
        If shapes do not match or the model is not known.
    """
    kind = _validate.choice("model", model, MODELS)
    p = check_outputs("p_outputs", p_outputs, minimum=20)
    q = check_outputs("q_outputs", q_outputs, minimum=20)
    if p.shape[1] != q.shape[1]:
        raise _validate.fail("q_outputs", f"to have {p.shape[1]} columns", q_outputs)
    both = np.concatenate([p, q])
    centre, scale = _standard(both)
    features = _features(kind, both, centre, scale)
    labels = np.concatenate([np.ones(len(p), dtype=np.int64), np.zeros(len(q), dtype=np.int64)])
    # Both sides have the same total weight, so that log-odds estimate log p/q.
    # Equal weights are left out, because weighted quantiles take most of the time of boosting.
    weights = (
        None if len(p) == len(q) else np.where(labels == 1, 0.5 / len(p), 0.5 / len(q)) * len(both)
    )
    classifier = _classifier(kind, int(rng.integers(2**31 - 1)))
    with one_thread():
        classifier.fit(features, labels, sample_weight=weights)
    return LearnedScore(
        model=kind, trained_on=len(both), centre=centre, scale=scale, classifier=classifier
    )


def one_thread() -> AbstractContextManager[Any]:
    """Limit libraries to one thread.

    Sums are then computed in one order, so a seed gives the same score on any number of cores. It
    is also faster, because these classifiers are small and the runs are already parallel.
    """
    if find_spec("threadpoolctl") is None:
        return nullcontext()
    return import_module("threadpoolctl").threadpool_limits(1)  # type: ignore[no-any-return]


def _classifier(kind: str, seed: int) -> Any:
    try:
        ensemble = import_module("sklearn.ensemble")
        linear = import_module("sklearn.linear_model")
    except ImportError as error:
        raise ImportError(
            f"A learned score needs scikit-learn: {install_line('verification')}."
        ) from error
    if kind == "logistic":
        return linear.LogisticRegression(C=1.0, max_iter=_STEPS, random_state=seed)
    return ensemble.HistGradientBoostingClassifier(
        max_iter=60, max_leaf_nodes=8, learning_rate=0.1, early_stopping=False, random_state=seed
    )


def _standard(rows: Array) -> tuple[Array, Array]:
    """A centre and a scale of each column, robust against a few extreme or infinite outputs."""
    finite = np.where(np.isfinite(rows), rows, np.nan)
    kept = [column[~np.isnan(column)] for column in finite.T]
    centre = np.array([np.median(column) if column.size else 0.0 for column in kept])
    scale = np.array([_spread(column, middle) for column, middle in zip(kept, centre, strict=True)])
    return centre, scale


def _spread(column: Array, middle: float) -> float:
    if column.size == 0:
        return 1.0
    distances = np.abs(column - middle)
    for found in (1.4826 * float(np.median(distances)), float(distances.mean())):
        if found > 0.0 and np.isfinite(found):
            return found
    return 1.0


def _features(kind: str, rows: Array, centre: Array, scale: Array) -> Array:
    with np.errstate(over="ignore"):
        unit = np.clip((rows - centre) / scale, -_FURTHEST, _FURTHEST)
    if kind == "boosting":
        return np.asarray(unit)
    # Squares of extreme outputs would dominate all other features.
    squares = np.clip(unit, -6.0, 6.0)
    if unit.shape[1] <= _MOST_SQUARED:
        one, other = np.triu_indices(unit.shape[1])
        products = squares[:, one] * squares[:, other]
    else:
        products = squares**2
    return np.concatenate([unit, products], axis=1)
