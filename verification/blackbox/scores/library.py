"""The scores to test, from outputs of past runs."""

from __future__ import annotations

import numpy as np

from rdpkit.verification.blackbox.scores.learned import learned_scores
from rdpkit.verification.blackbox.scores.linear import linear
from rdpkit.verification.blackbox.scores.named_score import NamedScore
from rdpkit.verification.blackbox.scores.rows import row_sums
from rdpkit.verification.blackbox.scores.structure import structure_scores
from rdpkit.verification.blackbox.scores.training_outputs import TrainingOutputs


def candidate_scores(
    training: TrainingOutputs,
    *,
    own: NamedScore | None,
    models: tuple[str, ...],
    rng: np.random.Generator,
) -> list[NamedScore]:
    """The scores to test, from outputs of past runs; at least one.

    Parameters
    ----------
    training : TrainingOutputs
        The outputs to learn from. They must not be tested with these scores.
    own : NamedScore or None
        A score that was given.
    models : tuple of str
        Classifiers to train: "logistic" and "boosting".
    rng : numpy.random.Generator
        All randomness of the training.
    """
    p, q = training.p, training.q
    found = [] if own is None else [own]
    found += structure_scores(training)
    found.append(NamedScore(name="linear", score=linear(p, q), family="linear"))
    of_rows = None if own is not None else row_sums(p, q, shapes=training.shapes)
    if of_rows is not None:
        found.append(NamedScore(name="linear, of rows added up", score=of_rows, family="rows"))
    return found + learned_scores(training, models=models, rng=rng)


__all__ = ["candidate_scores"]
