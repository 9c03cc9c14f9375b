"""Scores that a classifier learns."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray

from rdpkit.verification.blackbox.scores.named_score import NamedScore, ScoreOfPart
from rdpkit.verification.blackbox.scores.training_outputs import TrainingOutputs, standard

_LEAST_LEARNT = 200
# At most this many columns and outputs of each side, so that a classifier is learnt in two seconds.
_MOST_COLUMNS = {"boosting": 64, "logistic": 256}
_MOST_ROWS = 8000
# Columns are screened on at most this many values of each side.
_MOST_SCREENED = 2**21
# Standard units are clipped here for the screening.
_FURTHEST = 5.0
_SHARE = 2.0


def has_classifiers() -> bool:
    """Whether scikit-learn, which has the classifiers, is installed."""
    return find_spec("sklearn") is not None


def learned_scores(
    training: TrainingOutputs, *, models: tuple[str, ...], rng: np.random.Generator
) -> list[NamedScore]:
    """A score from each classifier; none if there are too few outputs, or if they do not vary.

    Of many columns, those are used whose means or squares differ most.
    """
    if training.runs < _LEAST_LEARNT or not models:
        return []
    order = _clearest_columns(training)
    if not len(order):
        return []
    found = []
    for model in models:
        from rdpkit.verification.estimators.learned_score import learned_score  # noqa: PLC0415

        columns = np.sort(order[: _MOST_COLUMNS.get(model, len(order))])
        some = training.thinned(_MOST_ROWS)
        p, q = some.p[:, columns], some.q[:, columns]
        score = ScoreOfPart(columns=columns, score=learned_score(p, q, model=model, rng=rng))
        found.append(
            NamedScore(name=f"learned ({model})", score=score, family="learned", share=_SHARE)
        )
    return found


def _clearest_columns(training: TrainingOutputs) -> NDArray[np.intp]:
    """The columns of numbers that vary, those that differ most first."""
    some = training.within(_MOST_SCREENED)
    units = standard(some, furthest=_FURTHEST)
    p, q = units(some.p), units(some.q)
    clear = np.zeros(len(units.columns))
    for one, two in ((p, q), (p**2, q**2)):
        error = np.sqrt(one.var(axis=0) / len(one) + two.var(axis=0) / len(two))
        gap = np.abs(one.mean(axis=0) - two.mean(axis=0))
        clear = np.maximum(clear, gap / np.where(error > 0.0, error, np.inf))
    return units.columns[np.argsort(-clear, kind="stable")]
