"""The loop trains a model that Opacus does not know."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from rdpkit.verification.training.mistakes import TrainingMistakeKind
from rdpkit.verification.training.trainer import PrivateTraining
from rdpkit.verification.training.zoo.base import TrainingZooEntry
from rdpkit.verification.training.zoo.parts import perceptron
from rdpkit.verification.training.zoo.with_opacus import private_parts, trained_with_opacus


def _made() -> PrivateTraining:
    plain = perceptron()
    optimizer = torch.optim.SGD(plain.parameters(), lr=0.1)

    def step(batch: Sequence[Tensor]) -> None:
        optimizer.zero_grad()
        torch.autograd.backward(nn.functional.cross_entropy(plain(batch[0]), batch[1]))
        optimizer.step()

    private = trained_with_opacus(private_parts())
    return dataclasses.replace(private, model=plain, optimizer=optimizer, step=step)


ENTRY = TrainingZooEntry(
    name="model-beside-opacus",
    mistake="What make_private returned is kept, and the loop trains another model: no "
    "clipping, no noise.",
    correction="The loop uses what make_private returned.",
    seen_in="after meta-pytorch/opacus issue 313",
    check="step",
    kinds=(TrainingMistakeKind.NO_NOISE, TrainingMistakeKind.NO_CLIPPING),
    style="opacus",
    broken=_made,
    fixed=lambda: trained_with_opacus(private_parts()),
)
