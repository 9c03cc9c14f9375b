"""Records are drawn with replacement, so that one may be in a batch twice."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from rdpkit import DPSGD
from rdpkit.verification.training.mistakes import TrainingMistakeKind
from rdpkit.verification.training.trainer import PrivateTraining
from rdpkit.verification.training.zoo.base import TrainingZooEntry
from rdpkit.verification.training.zoo.parts import (
    BATCH,
    RECORDS,
    accounted,
    loader_of,
    records,
    torch_training,
)


class DrawnBatches:
    """Batches of a fixed size, drawn with or without replacement."""

    def __init__(self, *, replacement: bool) -> None:
        self.replacement = replacement

    def __iter__(self) -> Iterator[list[int]]:
        for _ in range(len(self)):
            if self.replacement:
                yield torch.randint(RECORDS, (BATCH,)).tolist()
            else:
                yield torch.randperm(RECORDS)[:BATCH].tolist()

    def __len__(self) -> int:
        return RECORDS // BATCH


def _made(*, replacement: bool) -> PrivateTraining:
    told: DPSGD = accounted(sampling="fixed-size")
    batches = DrawnBatches(replacement=replacement)
    return torch_training(loader=loader_of(batches, records()), event=told)


ENTRY = TrainingZooEntry(
    name="drawn-with-replacement",
    mistake="The positions of a batch are drawn independently: a record may be in it twice, and "
    "then counts twice.",
    correction="A subset, in which a record is at most once, as the accountant was told.",
    seen_in="after tensorflow/privacy issue 483, which asks which way of sampling is accounted "
    "for, and orobix/Prototypical-Networks-for-Few-shot-Learning-PyTorch issue 31",
    check="sampler",
    kinds=(TrainingMistakeKind.RECORD_TWICE,),
    style="torch",
    broken=lambda: _made(replacement=True),
    fixed=lambda: _made(replacement=False),
)
