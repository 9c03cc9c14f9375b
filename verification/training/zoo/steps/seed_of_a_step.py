"""The noise generator is made anew, with the same seed, in each step."""

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


def _made(*, in_each_step: bool) -> PrivateTraining:
    seed = int(torch.randint(2**40, ()))
    kept = torch.Generator().manual_seed(seed)

    def gradients(model: nn.Module, batch: Sequence[Tensor]) -> Gradients:
        generator = torch.Generator().manual_seed(seed) if in_each_step else kept
        sums = clipped_sums(gradients_of_records(model, batch))
        return mean_of(sums, noise_like(sums, STD, generator))

    return torch_training(gradients, objects=(kept,))


ENTRY = TrainingZooEntry(
    name="seed-in-each-step",
    mistake="A generator with the seed of the run is made in each step, so that all steps have "
    "the same noise and differences between updates have none.",
    correction="One generator for the whole run, whose state moves on.",
    seen_in="after huggingface/diffusers issues 175 and 7991 (a seed set inside of the loop) and "
    "IBM/differential-privacy-library issue 31, which says why that breaks privacy",
    check="step",
    kinds=(TrainingMistakeKind.NOISE_REPEATED, TrainingMistakeKind.NOISE_FIXED_SEED),
    style="torch",
    broken=lambda: _made(in_each_step=True),
    fixed=lambda: _made(in_each_step=False),
)
