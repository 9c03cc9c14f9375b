"""Scores that a classifier learns."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np

from rdpkit.verification.blackbox.scores.named_score import NamedScore
from rdpkit.verification.blackbox.scores.training_outputs import TrainingOutputs

_LEAST_LEARNT = 200


def has_classifiers() -> bool:
    """Whether scikit-learn, which has the classifiers, is installed."""
    return find_spec("sklearn") is not None


def learned_scores(
    training: TrainingOutputs, *, models: tuple[str, ...], rng: np.random.Generator
) -> list[NamedScore]:
    """A score from each classifier; none if there are too few outputs, or if they do not vary.

    Parameters
    ----------
    training : TrainingOutputs
        The outputs to learn from.
    models : tuple of str
        Classifiers to train: "logistic" and "boosting".
    rng : numpy.random.Generator
        All randomness of the training.
    """
    p, q = training.p, training.q
    if min(len(p), len(q)) < _LEAST_LEARNT or bool((p == p[0]).all() and (q == p[0]).all()):
        return []
    found = []
    for model in models:
        from rdpkit.verification.estimators.learned_score import learned_score  # noqa: PLC0415

        score = learned_score(p, q, model=model, rng=rng)
        found.append(NamedScore(name=f"learned ({model})", score=score, family="learned"))
    return found


__all__ = ["has_classifiers", "learned_scores"]
