"""The accountant is told the batch of one worker, and all workers together take more."""

from __future__ import annotations

from rdpkit.verification.training.mistakes import TrainingMistakeKind
from rdpkit.verification.training.trainer import PrivateTraining
from rdpkit.verification.training.zoo.base import TrainingZooEntry
from rdpkit.verification.training.zoo.parts import (
    BATCH,
    EPOCHS,
    RECORDS,
    PoissonBatches,
    accounted,
    loader_of,
    records,
    torch_training,
)

_WORKERS = 2


def _made(told: int) -> PrivateTraining:
    steps = EPOCHS * RECORDS // (BATCH * _WORKERS)
    batches = PoissonBatches(RECORDS, _WORKERS * BATCH / RECORDS, steps // EPOCHS)
    return torch_training(
        loader=loader_of(batches, records()), event=accounted(batch_size=told, steps=steps)
    )


ENTRY = TrainingZooEntry(
    name="batch-of-one-worker",
    mistake="Two workers take 64 records each for an update, and the accountant is told that a "
    "batch has 64.",
    correction="It is told the batch of all workers together, 128.",
    seen_in="after google-deepmind/optax issue 148 (the batch size has to be multiplied by the "
    "number of devices) and meta-pytorch/opacus issue 335",
    check="sampler",
    kinds=(TrainingMistakeKind.SAMPLING_RATE,),
    style="torch",
    broken=lambda: _made(BATCH),
    fixed=lambda: _made(BATCH * _WORKERS),
)
