"""Records of a rare class are sampled more often, and the accountant is told the mean rate."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

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


class WeightedBatches:
    """Every record joins each batch independently, with a probability of its own."""

    def __init__(self, rates: Tensor) -> None:
        self.rates = rates

    def __iter__(self) -> Iterator[list[int]]:
        for _ in range(len(self)):
            yield (torch.rand(RECORDS) < self.rates).nonzero().flatten().tolist()

    def __len__(self) -> int:
        return RECORDS // BATCH


def _made(weight: float) -> PrivateTraining:
    data = records()
    weights = torch.where(data.tensors[1] == 0, weight, 1.0)
    rates = weights * (BATCH / float(weights.sum()))
    return torch_training(loader=loader_of(WeightedBatches(rates), data))


ENTRY = TrainingZooEntry(
    name="weighted-sampler",
    mistake="Records of one class join batches three times as often as all others, and the "
    "accountant is told the mean rate.",
    correction="All records have the same rate; a weighted loss can do the rest.",
    seen_in="after meta-pytorch/opacus issues 600 and 813",
    check="sampler",
    kinds=(TrainingMistakeKind.UNEQUAL_RATES, TrainingMistakeKind.SAMPLING_RATE),
    style="torch",
    broken=lambda: _made(3.0),
    fixed=lambda: _made(1.0),
)
