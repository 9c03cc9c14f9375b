"""Scores, which turn an output into one number, learnt from outputs of past runs.

A score may be any function that does not depend on the runs that it is tested on. Several scores
are tested together. Each family of scores sees one kind of leak
(:mod:`rdpkit.verification.blackbox.scores.library`).
"""

from rdpkit.verification.blackbox.scores.learned import has_classifiers
from rdpkit.verification.blackbox.scores.library import candidate_scores
from rdpkit.verification.blackbox.scores.linear import linear
from rdpkit.verification.blackbox.scores.named_score import NamedScore
from rdpkit.verification.blackbox.scores.structure import structure_of
from rdpkit.verification.blackbox.scores.training_outputs import TrainingOutputs

__all__ = [
    "NamedScore",
    "TrainingOutputs",
    "candidate_scores",
    "has_classifiers",
    "linear",
    "structure_of",
]
