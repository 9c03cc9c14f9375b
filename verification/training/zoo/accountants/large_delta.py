"""Delta is larger than one over the number of records."""

from __future__ import annotations

from rdpkit.verification.training.mistakes import TrainingMistakeKind
from rdpkit.verification.training.zoo.base import TrainingZooEntry
from rdpkit.verification.training.zoo.with_opacus import private_parts, trained_with_opacus

ENTRY = TrainingZooEntry(
    name="delta-above-one-in-n",
    mistake="Delta is 0.01 for 512 records: publishing five of them whole would keep the claim.",
    correction="Delta is far below one over the number of records.",
    seen_in="after tensorflow/privacy issues 60 and 71",
    check="accountant",
    kinds=(TrainingMistakeKind.DELTA_TOO_LARGE,),
    style="opacus",
    broken=lambda: trained_with_opacus(private_parts(), delta=0.01),
    fixed=lambda: trained_with_opacus(private_parts(), delta=1e-5),
)
