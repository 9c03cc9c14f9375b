"""The gradient of the batch is clipped, and not that of each record."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from rdpkit.verification.training.mistakes import TrainingMistakeKind
from rdpkit.verification.training.zoo.base import TrainingZooEntry
from rdpkit.verification.training.zoo.parts import BATCH, NORM, STD, Gradients, torch_training


def _of_the_batch(model: nn.Module, batch: Sequence[Tensor]) -> Gradients:
    model.zero_grad()
    torch.autograd.backward(nn.functional.cross_entropy(model(batch[0]), batch[1]))
    nn.utils.clip_grad_norm_(model.parameters(), NORM)
    return {
        name: parameter.grad + torch.randn_like(parameter) * STD / BATCH
        for name, parameter in model.named_parameters()
        if parameter.grad is not None
    }


ENTRY = TrainingZooEntry(
    name="batch-clipping",
    mistake="The mean gradient of the batch is clipped, and the noise is that for a mean of "
    "clipped gradients.",
    correction="The gradient of each record is clipped before the sum is taken.",
    seen_in="after JeffffffFu/Awesome-Differential-Privacy-and-Meachine-Learning issue 9 and "
    "raptor7197/caamas issue 36",
    check="step",
    kinds=(TrainingMistakeKind.CLIPPED_AFTER_AVERAGING,),
    style="torch",
    broken=lambda: torch_training(_of_the_batch),
    fixed=torch_training,
)
