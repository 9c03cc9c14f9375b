"""The claimed epsilon is not that of the training."""

from __future__ import annotations

from rdpkit.verification.training.mistakes import TrainingMistakeKind
from rdpkit.verification.training.zoo.base import TrainingZooEntry
from rdpkit.verification.training.zoo.with_opacus import private_parts, trained_with_opacus

ENTRY = TrainingZooEntry(
    name="claim-of-another-training",
    mistake="Epsilon 1 is claimed for a training that has more than 4 at this delta.",
    correction="Epsilon 5 is claimed.",
    seen_in="after raptor7197/caamas issue 36 (an epsilon that no accountant computed)",
    check="accountant",
    kinds=(TrainingMistakeKind.CLAIM_TOO_SMALL,),
    style="opacus",
    broken=lambda: trained_with_opacus(private_parts(), epsilon=1.0),
    fixed=lambda: trained_with_opacus(private_parts(), epsilon=5.0),
)
