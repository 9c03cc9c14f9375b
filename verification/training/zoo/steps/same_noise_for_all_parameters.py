"""All parameters get noise from the same key of a random generator."""

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
    torch_training,
)


def _made(*, keys: int) -> PrivateTraining:
    def gradients(model: nn.Module, batch: Sequence[Tensor]) -> Gradients:
        sums = clipped_sums(gradients_of_records(model, batch))
        key = int(torch.randint(2**40, ()))
        noise = {}
        for place, (name, value) in enumerate(sums.items()):
            generator = torch.Generator().manual_seed(key + place % keys)
            noise[name] = STD * torch.randn(value.shape, generator=generator)
        return mean_of(sums, noise)

    return torch_training(gradients)


ENTRY = TrainingZooEntry(
    name="one-key-for-all-parameters",
    mistake="The noise of every parameter is drawn from one and the same key, so that "
    "differences between parameters have none.",
    correction="Each parameter has a key of its own.",
    seen_in="after jax-ml/jax pull request 3646",
    check="step",
    kinds=(TrainingMistakeKind.NOISE_SHARED,),
    style="torch",
    broken=lambda: _made(keys=1),
    fixed=lambda: _made(keys=1_000),
)
