"""Batch normalisation mixes the records of a batch before their gradients are taken."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor, nn

from rdpkit.verification.training.mistakes import TrainingMistakeKind
from rdpkit.verification.training.trainer import PrivateTraining
from rdpkit.verification.training.zoo.base import TrainingZooEntry
from rdpkit.verification.training.zoo.parts import (
    CLASSES,
    FEATURES,
    STD,
    Gradients,
    clipped_sums,
    mean_of,
    noise_like,
    torch_training,
)


def _one_by_one(model: nn.Module, batch: Sequence[Tensor]) -> Gradients:
    """One forward pass for the batch, and a backward pass for the loss of each record."""
    names, parameters = zip(*model.named_parameters(), strict=True)
    losses: Iterable[Tensor] = (
        nn.functional.cross_entropy(model(batch[0]), batch[1], reduction="none")
        if len(batch[1]) > 1
        else []
    )
    rows = [torch.autograd.grad(loss, parameters, retain_graph=True) for loss in losses]
    found = {
        name: torch.stack([row[place] for row in rows])
        if rows
        else torch.zeros(0, *parameters[place].shape)
        for place, name in enumerate(names)
    }
    sums = clipped_sums(found)
    return mean_of(sums, noise_like(sums, STD))


def _made(normalisation: nn.Module) -> PrivateTraining:
    model = nn.Sequential(nn.Linear(FEATURES, 16), normalisation, nn.Tanh(), nn.Linear(16, CLASSES))
    return torch_training(_one_by_one, model=model)


ENTRY = TrainingZooEntry(
    name="batch-normalisation",
    mistake="Batch normalisation: each record changes the gradients of all others, and running "
    "means are kept without noise.",
    correction="Group normalisation, which looks at one record at a time.",
    seen_in="after meta-pytorch/opacus issues 319 and 672, which say why Opacus refuses it",
    check="step",
    kinds=(TrainingMistakeKind.BATCH_STATISTICS, TrainingMistakeKind.BUFFERS_HOLD_DATA),
    style="torch",
    broken=lambda: _made(nn.BatchNorm1d(16)),
    fixed=lambda: _made(nn.GroupNorm(4, 16)),
)
