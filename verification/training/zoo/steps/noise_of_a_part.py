"""Noise is added once for an accumulation, and divided as if each part had its own."""

from __future__ import annotations

from collections.abc import Sequence

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

_PARTS = 4


def _made(*, parts_of_noise: int) -> PrivateTraining:
    def gradients(model: nn.Module, batch: Sequence[Tensor]) -> Gradients:
        total = {name: torch.zeros_like(value) for name, value in model.named_parameters()}
        for features, labels in zip(batch[0].chunk(_PARTS), batch[1].chunk(_PARTS), strict=True):
            sums = clipped_sums(gradients_of_records(model, (features, labels)))
            total = {name: total[name] + sums[name] for name in total}
        return {
            name: (value + STD / parts_of_noise * torch.randn_like(value)).detach() / BATCH
            for name, value in total.items()
        }

    return torch_training(gradients)


ENTRY = TrainingZooEntry(
    name="noise-divided-by-accumulation",
    mistake="Four micro-batches are summed before noise is added once, and that noise is "
    "divided by four.",
    correction="The noise of a whole batch is added to the sum of its micro-batches.",
    seen_in="after meta-pytorch/opacus pull requests 203 and 219 and google-deepmind/optax issue "
    "527, which explain where the noise and the division belong",
    check="step",
    kinds=(TrainingMistakeKind.NOISE_TOO_SMALL,),
    style="torch",
    broken=lambda: _made(parts_of_noise=_PARTS),
    fixed=lambda: _made(parts_of_noise=1),
)
