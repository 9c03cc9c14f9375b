"""Mistakes in clipping, and in what a clipped sum is divided by."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import torch
from torch import Tensor, nn

from rdpkit.verification.training.trainer import PrivateTraining
from rdpkit.verification.training.zoo.parts import (
    BATCH,
    CLASSES,
    FEATURES,
    NOISE,
    NORM,
    STD,
    Gradients,
    Trainings,
    clipped_sums,
    dp_sgd_gradients,
    gradients_of_records,
    mean_of,
    noise_like,
    norms,
    torch_training,
    with_and_without,
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


def _added(model: nn.Module, batch: Sequence[Tensor]) -> Gradients:
    model.zero_grad()
    if len(batch[1]):
        torch.autograd.backward(nn.functional.cross_entropy(model(batch[0]), batch[1]))
    private = dp_sgd_gradients(model, batch)
    return {
        name: private[name] if parameter.grad is None else parameter.grad + private[name]
        for name, parameter in model.named_parameters()
    }


def _weights_alone(model: nn.Module, batch: Sequence[Tensor]) -> Gradients:
    found = gradients_of_records(model, batch)
    weights = {name: value for name, value in found.items() if name.endswith("weight")}
    biases = {name: value.sum(0) for name, value in found.items() if name not in weights}
    sums = {**clipped_sums(weights), **biases}
    return mean_of(sums, noise_like(sums, STD))


def _layer_thresholds(*, all_together: bool) -> PrivateTraining:
    def gradients(model: nn.Module, batch: Sequence[Tensor]) -> Gradients:
        found = gradients_of_records(model, batch)
        each = NORM / math.sqrt(len(found)) if all_together else NORM
        sums: Gradients = {}
        for name, value in found.items():
            sums |= clipped_sums({name: value}, each)
        return mean_of(sums, noise_like(sums, STD))

    return torch_training(gradients)


def _by_median(model: nn.Module, batch: Sequence[Tensor]) -> Gradients:
    found = gradients_of_records(model, batch)
    norm = float(norms(found).median()) if len(batch[1]) else 1.0
    sums = clipped_sums(found, norm)
    return mean_of(sums, noise_like(sums, NOISE * norm))


def _by_actual_size(model: nn.Module, batch: Sequence[Tensor]) -> Gradients:
    sums = clipped_sums(gradients_of_records(model, batch))
    return mean_of(sums, noise_like(sums, STD), max(1, len(batch[1])))


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


TRAININGS: Trainings = {
    "batch-clipping": (lambda: torch_training(_of_the_batch), torch_training),
    "microbatch-averages": with_and_without(_microbatch_averages, together=(8, 1)),
    "gradient-left-over": (lambda: torch_training(_added), torch_training),
    "unclipped-biases": (lambda: torch_training(_weights_alone), torch_training),
    "layer-thresholds": with_and_without(_layer_thresholds, all_together=(False, True)),
    "norm-from-the-batch": (lambda: torch_training(_by_median), torch_training),
    "actual-batch-size": (lambda: torch_training(_by_actual_size), torch_training),
    "batch-normalisation": (
        lambda: _batch_normalisation(nn.BatchNorm1d(16)),
        lambda: _batch_normalisation(nn.GroupNorm(4, 16)),
    ),
}
"""The code of each mistake, and the same code without it."""
