"""Norms are taken over weights alone, and biases are not clipped."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn

from rdpkit.verification.training.mistakes import TrainingMistakeKind
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


def _weights_alone(model: nn.Module, batch: Sequence[Tensor]) -> Gradients:
    found = gradients_of_records(model, batch)
    weights = {name: value for name, value in found.items() if name.endswith("weight")}
    biases = {name: value.sum(0) for name, value in found.items() if name not in weights}
    sums = {**clipped_sums(weights), **biases}
    return mean_of(sums, noise_like(sums, STD))


ENTRY = TrainingZooEntry(
    name="unclipped-biases",
    mistake="Only the weights are clipped; the gradients of the biases are added as they are.",
    correction="One norm over all parameters, which are all scaled by the same factor.",
    seen_in="after meta-pytorch/opacus issues 542 and 615, where layers of a model are to be "
    "trained in different ways",
    check="step",
    kinds=(TrainingMistakeKind.UNCLIPPED_PARAMETERS,),
    style="torch",
    broken=lambda: torch_training(_weights_alone),
    fixed=torch_training,
)
