"""The gradient of the batch stays where the private one is added."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from rdpkit.verification.training.mistakes import TrainingMistakeKind
from rdpkit.verification.training.zoo.base import TrainingZooEntry
from rdpkit.verification.training.zoo.parts import Gradients, dp_sgd_gradients, torch_training


def _added(model: nn.Module, batch: Sequence[Tensor]) -> Gradients:
    model.zero_grad()
    if len(batch[1]):
        torch.autograd.backward(nn.functional.cross_entropy(model(batch[0]), batch[1]))
    private = dp_sgd_gradients(model, batch)
    return {
        name: private[name] if parameter.grad is None else parameter.grad + private[name]
        for name, parameter in model.named_parameters()
    }


ENTRY = TrainingZooEntry(
    name="gradient-left-over",
    mistake="The backward pass leaves the mean gradient where the clipped and noisy one is added "
    "to it: the update holds both.",
    correction="The gradients of the backward pass are removed first.",
    seen_in="after dayu11/Differentially-Private-Deep-Learning issue 7",
    check="step",
    kinds=(TrainingMistakeKind.NO_CLIPPING, TrainingMistakeKind.NOISE_TOO_SMALL),
    style="torch",
    broken=lambda: torch_training(_added),
    fixed=torch_training,
)
