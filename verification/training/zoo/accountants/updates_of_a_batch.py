"""Two noisy updates are made from each batch, and one is accounted for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from rdpkit.verification.training.mistakes import TrainingMistakeKind
from rdpkit.verification.training.trainer import PrivateTraining
from rdpkit.verification.training.zoo.base import TrainingZooEntry
from rdpkit.verification.training.zoo.with_opacus import private_parts, trained_with_opacus


def _made(updates: int) -> PrivateTraining:
    parts = private_parts()
    model, optimizer = parts[0], parts[1]
    optimizer.attach_step_hook(None)

    def step(batch: Sequence[Any]) -> None:
        for _ in range(updates):
            optimizer.zero_grad()
            torch.autograd.backward(nn.functional.cross_entropy(model(batch[0]), batch[1]))
            optimizer.step()
        parts[3].accountant.step(
            noise_multiplier=optimizer.noise_multiplier, sample_rate=1.0 / len(parts[2])
        )

    return trained_with_opacus(parts, step=step)


ENTRY = TrainingZooEntry(
    name="two-updates-of-a-batch",
    mistake="Each batch is used for two noisy updates, and the accountant is told of one step.",
    correction="One update for each batch.",
    seen_in="after ooples/AiDotNet pull request 1318 (noise chosen for one update of each batch "
    "where the critic makes several)",
    check="accountant",
    kinds=(TrainingMistakeKind.STEPS_MISCOUNTED, TrainingMistakeKind.ACCOUNTANT_NOT_TOLD),
    style="opacus",
    broken=lambda: _made(2),
    fixed=lambda: _made(1),
)
