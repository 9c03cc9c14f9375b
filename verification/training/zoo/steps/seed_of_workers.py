"""Workers that hold different shards of the parameters draw the same noise."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import torch
from torch import Tensor, nn

from rdpkit.verification.training.mistakes import TrainingMistakeKind
from rdpkit.verification.training.trainer import PrivateTraining
from rdpkit.verification.training.zoo.base import TrainingZooEntry
from rdpkit.verification.training.zoo.parts import (
    BATCH,
    STD,
    Gradients,
    clipped_sums,
    gradients_of_records,
    torch_training,
)

_WORKERS = 2


def _made(*, own_seeds: bool) -> PrivateTraining:
    def gradients(model: nn.Module, batch: Sequence[Tensor]) -> Gradients:
        sums = clipped_sums(gradients_of_records(model, batch))
        flat = torch.cat([value.flatten() for value in sums.values()])
        seed = int(torch.randint(2**40, ()))
        shards = []
        for rank, shard in enumerate(flat.chunk(_WORKERS)):
            generator = torch.Generator().manual_seed(seed + rank if own_seeds else seed)
            shards.append(shard + STD * torch.randn(shard.shape, generator=generator))
        ends = list(accumulate(value.numel() for value in sums.values()))
        noisy = torch.cat(shards).tensor_split(ends[:-1])
        return {
            name: part.view_as(value) / BATCH
            for (name, value), part in zip(sums.items(), noisy, strict=True)
        }

    return torch_training(gradients)


ENTRY = TrainingZooEntry(
    name="one-seed-for-all-workers",
    mistake="Two workers hold half of the parameters each and seed their generators alike: both "
    "halves have the same noise.",
    correction="The seed of a worker depends on its rank.",
    seen_in="after mlcommons/training pull request 844 (ranks that share a seed) and "
    "VsonicV/es-at-scale issue 46 (layers that share one)",
    check="step",
    kinds=(TrainingMistakeKind.NOISE_SHARED,),
    style="torch",
    broken=lambda: _made(own_seeds=False),
    fixed=lambda: _made(own_seeds=True),
)
