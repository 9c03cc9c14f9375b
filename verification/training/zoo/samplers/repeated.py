"""The sampler is seeded at the beginning of each epoch, and makes the same batches again."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from rdpkit.verification.training.mistakes import TrainingMistakeKind
from rdpkit.verification.training.trainer import PrivateTraining
from rdpkit.verification.training.zoo.base import TrainingZooEntry
from rdpkit.verification.training.zoo.parts import (
    BATCH,
    RECORDS,
    loader_of,
    records,
    torch_training,
)


class SeededBatches:
    """Poisson samples from a generator of its own."""

    def __init__(self, *, anew: bool) -> None:
        self.anew = anew
        self.seed = int(torch.randint(2**40, ()))
        self.generator = torch.Generator().manual_seed(self.seed)

    def __iter__(self) -> Iterator[list[int]]:
        if self.anew:
            self.generator.manual_seed(self.seed)
        for _ in range(len(self)):
            chosen = torch.rand(RECORDS, generator=self.generator) < BATCH / RECORDS
            yield chosen.nonzero().flatten().tolist()

    def __len__(self) -> int:
        return RECORDS // BATCH


def _made(*, anew: bool) -> PrivateTraining:
    batches = SeededBatches(anew=anew)
    return torch_training(loader=loader_of(batches, records()), objects=(batches,))


ENTRY = TrainingZooEntry(
    name="same-batches-each-epoch",
    mistake="The generator of the sampler is seeded at the start of each epoch: all epochs have "
    "the same batches, and sampling hides nothing after the first one.",
    correction="The generator moves on from epoch to epoch.",
    seen_in="after huggingface/diffusers issues 175 and 7991",
    check="sampler",
    kinds=(TrainingMistakeKind.REPEATED_BATCHES,),
    style="torch",
    broken=lambda: _made(anew=True),
    fixed=lambda: _made(anew=False),
)
