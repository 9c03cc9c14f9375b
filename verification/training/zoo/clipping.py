"""Mistakes in clipping, and in what a clipped sum is divided by."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import torch
from torch import Tensor, nn

from rdpkit.verification.training.mistakes import TrainingMistakeKind
from rdpkit.verification.training.trainer import PrivateTraining
from rdpkit.verification.training.zoo.base import TrainingZooEntry
from rdpkit.verification.training.zoo.parts import (
    BATCH,
    CLASSES,
    FEATURES,
    NOISE,
    NORM,
    STD,
    Gradients,
    clipped_sums,
    dp_sgd_gradients,
    gradients_of_records,
    mean_of,
    noise_like,
    norms,
    torch_training,
)


def _of_the_batch(model: nn.Module, batch: Sequence[Tensor]) -> Gradients:
    model.zero_grad()
    torch.autograd.backward(nn.functional.cross_entropy(model(batch[0]), batch[1]))
    nn.utils.clip_grad_norm_(model.parameters(), NORM)
    return {
        name: parameter.grad + torch.randn_like(parameter) * STD / BATCH
        for name, parameter in model.named_parameters()
        if parameter.grad is not None
    }


BATCH_CLIPPING = TrainingZooEntry(
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


_TOGETHER = 8


def _parts(rows: Tensor, together: int) -> Sequence[Tensor]:
    return rows.tensor_split(list(range(together, len(rows), together)))


def _microbatch_averages(together: int) -> PrivateTraining:
    def gradients(model: nn.Module, batch: Sequence[Tensor]) -> Gradients:
        found = gradients_of_records(model, batch)
        averages = {
            name: torch.stack([part.mean(0) for part in _parts(value, together)])
            if len(value)
            else value
            for name, value in found.items()
        }
        sums = clipped_sums(averages)
        return mean_of(sums, noise_like(sums, STD))

    return torch_training(gradients)


MICROBATCH_AVERAGES = TrainingZooEntry(
    name="microbatch-averages",
    mistake="The gradients of eight records are averaged and clipped as one, and the accountant "
    "is told that each record was clipped.",
    correction="Micro-batches of one record.",
    seen_in="after tensorflow/privacy issues 46, 81 and 620",
    check="step",
    kinds=(
        TrainingMistakeKind.CLIPPED_AFTER_AVERAGING,
        TrainingMistakeKind.BATCH_STATISTICS,
        TrainingMistakeKind.NOISE_TOO_SMALL,
    ),
    style="torch",
    broken=lambda: _microbatch_averages(_TOGETHER),
    fixed=lambda: _microbatch_averages(1),
)


def _added(model: nn.Module, batch: Sequence[Tensor]) -> Gradients:
    model.zero_grad()
    if len(batch[1]):
        torch.autograd.backward(nn.functional.cross_entropy(model(batch[0]), batch[1]))
    private = dp_sgd_gradients(model, batch)
    return {
        name: private[name] if parameter.grad is None else parameter.grad + private[name]
        for name, parameter in model.named_parameters()
    }


GRADIENT_LEFT_OVER = TrainingZooEntry(
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


def _weights_alone(model: nn.Module, batch: Sequence[Tensor]) -> Gradients:
    found = gradients_of_records(model, batch)
    weights = {name: value for name, value in found.items() if name.endswith("weight")}
    biases = {name: value.sum(0) for name, value in found.items() if name not in weights}
    sums = {**clipped_sums(weights), **biases}
    return mean_of(sums, noise_like(sums, STD))


UNCLIPPED_BIASES = TrainingZooEntry(
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


def _layer_thresholds(*, all_together: bool) -> PrivateTraining:
    def gradients(model: nn.Module, batch: Sequence[Tensor]) -> Gradients:
        found = gradients_of_records(model, batch)
        each = NORM / math.sqrt(len(found)) if all_together else NORM
        sums: Gradients = {}
        for name, value in found.items():
            sums |= clipped_sums({name: value}, each)
        return mean_of(sums, noise_like(sums, STD))

    return torch_training(gradients)


LAYER_THRESHOLDS = TrainingZooEntry(
    name="layer-thresholds",
    mistake="Each of four parameters is clipped to C on its own, so that a record moves all of "
    "them together by 2 C, and the noise is that for C.",
    correction="Thresholds whose squares add up to C squared.",
    seen_in="after meta-pytorch/opacus issue 202 and fedbiomed/fedbiomed issue 1443",
    check="step",
    kinds=(TrainingMistakeKind.NOISE_TOO_SMALL,),
    style="torch",
    broken=lambda: _layer_thresholds(all_together=False),
    fixed=lambda: _layer_thresholds(all_together=True),
)


def _by_median(model: nn.Module, batch: Sequence[Tensor]) -> Gradients:
    found = gradients_of_records(model, batch)
    norm = float(norms(found).median()) if len(batch[1]) else 1.0
    sums = clipped_sums(found, norm)
    return mean_of(sums, noise_like(sums, NOISE * norm))


NORM_FROM_BATCH = TrainingZooEntry(
    name="norm-from-the-batch",
    mistake="Gradients are clipped to the median of the batch's norms: a record changes how all "
    "others are clipped, and the noise shows the median.",
    correction="A norm that is fixed in advance.",
    seen_in="after meta-pytorch/opacus issue 152 and pull request 421, where norms are adapted "
    "with noise",
    check="step",
    kinds=(
        TrainingMistakeKind.BATCH_STATISTICS,
        TrainingMistakeKind.BATCH_DEPENDENT_SCALE,
        TrainingMistakeKind.NO_CLIPPING,
    ),
    style="torch",
    broken=lambda: torch_training(_by_median),
    fixed=torch_training,
)


def _by_actual_size(model: nn.Module, batch: Sequence[Tensor]) -> Gradients:
    sums = clipped_sums(gradients_of_records(model, batch))
    return mean_of(sums, noise_like(sums, STD), max(1, len(batch[1])))


ACTUAL_BATCH_SIZE = TrainingZooEntry(
    name="actual-batch-size",
    mistake="The noisy sum is divided by the number of records of the Poisson sample, which "
    "shows how many there were.",
    correction="It is divided by the expected number of records.",
    seen_in="after meta-pytorch/opacus issues 420 (where it is asked for), 571 and 819",
    check="step",
    kinds=(TrainingMistakeKind.BATCH_DEPENDENT_SCALE,),
    style="torch",
    broken=lambda: torch_training(_by_actual_size),
    fixed=torch_training,
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


def _batch_normalisation(normalisation: nn.Module) -> PrivateTraining:
    model = nn.Sequential(nn.Linear(FEATURES, 16), normalisation, nn.Tanh(), nn.Linear(16, CLASSES))
    return torch_training(_one_by_one, model=model)


BATCH_NORMALISATION = TrainingZooEntry(
    name="batch-normalisation",
    mistake="Batch normalisation: each record changes the gradients of all others, and running "
    "means are kept without noise.",
    correction="Group normalisation, which looks at one record at a time.",
    seen_in="after meta-pytorch/opacus issues 319 and 672, which say why Opacus refuses it",
    check="step",
    kinds=(TrainingMistakeKind.BATCH_STATISTICS, TrainingMistakeKind.BUFFERS_HOLD_DATA),
    style="torch",
    broken=lambda: _batch_normalisation(nn.BatchNorm1d(16)),
    fixed=lambda: _batch_normalisation(nn.GroupNorm(4, 16)),
)


ENTRIES = (
    BATCH_CLIPPING,
    MICROBATCH_AVERAGES,
    GRADIENT_LEFT_OVER,
    UNCLIPPED_BIASES,
    LAYER_THRESHOLDS,
    NORM_FROM_BATCH,
    ACTUAL_BATCH_SIZE,
    BATCH_NORMALISATION,
)
"""In the order in which they are listed."""
