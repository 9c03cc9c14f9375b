"""Gradients are averaged over micro-batches and clipped afterwards."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from rdpkit.verification.training.mistakes import TrainingMistakeKind
from rdpkit.verification.training.trainer import PrivateTraining
from rdpkit.verification.training.zoo.base import TrainingZooEntry
from rdpkit.verification.training.zoo.parts import (
    STD,
    Gradients,
    clipped_sums,
    gradients_of_records,
    mean_of,
    noise_like,
    torch_training,
)

_TOGETHER = 8


def _parts(rows: Tensor, together: int) -> Sequence[Tensor]:
    return rows.tensor_split(list(range(together, len(rows), together)))


def _made(together: int) -> PrivateTraining:
    def gradients(model: nn.Module, batch: Sequence[Tensor]) -> Gradients:
        found = gradients_of_records(model, batch)
        averages = {
            name: torch.stack([part.mean(0) for part in _parts(value, together)])
            if len(value)
            else value
            for name, value in found.items()
        }
        sums = clipped_sums(averages)
        return mean_of(sums, noise_like(sums, STD))

    return torch_training(gradients)


ENTRY = TrainingZooEntry(
    name="microbatch-averages",
    mistake="The gradients of eight records are averaged and clipped as one, and the accountant "
    "is told that each record was clipped.",
    correction="Micro-batches of one record.",
    seen_in="after tensorflow/privacy issues 46, 81 and 620",
    check="step",
    kinds=(
        TrainingMistakeKind.CLIPPED_AFTER_AVERAGING,
        TrainingMistakeKind.BATCH_STATISTICS,
        TrainingMistakeKind.NOISE_TOO_SMALL,
    ),
    style="torch",
    broken=lambda: _made(_TOGETHER),
    fixed=lambda: _made(1),
)
