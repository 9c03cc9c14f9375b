"""Mistakes in which records are in a batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import DataLoader, TensorDataset

from rdpkit.verification.training.trainer import PrivateTraining
from rdpkit.verification.training.zoo.parts import (
    BATCH,
    EPOCHS,
    RECORDS,
    PoissonBatches,
    Trainings,
    accounted,
    loader_of,
    records,
    torch_training,
    with_and_without,
)
from rdpkit.verification.training.zoo.with_numpy import NumpyTraining
from rdpkit.verification.training.zoo.with_opacus import private_parts, trained_with_opacus


class FixedSizes(NumpyTraining):
    """Each batch is a fresh subset of exactly the batch size."""

    def places(self) -> Iterator[NDArray[np.intp]]:
        """The positions of the records of each batch of an epoch."""
        count = len(self.labels)
        for _ in range(count // self.batch_size):
            yield self.generator.choice(count, self.batch_size, replace=False)


_BATCH = 60


def _last_batch(*, drop_last: bool) -> PrivateTraining:
    loader = DataLoader(records(), batch_size=_BATCH, shuffle=True, drop_last=drop_last)

    def train() -> None:
        for _ in range(EPOCHS):
            for batch in loader:
                made.step(batch)

    made = torch_training(
        loader=loader,
        event=accounted(batch_size=_BATCH, steps=EPOCHS * (RECORDS // _BATCH), sampling="shuffle"),
        train=train,
    )
    return made


class DrawnBatches:
    """Batches that a function draws, as many as an epoch of the zoo has."""

    def __init__(self, draw: Callable[[], Tensor]) -> None:
        self.draw = draw

    def __iter__(self) -> Iterator[list[int]]:
        return (self.draw().tolist() for _ in range(len(self)))

    def __len__(self) -> int:
        return RECORDS // BATCH


def _drawn(draw: Callable[[], Tensor], **fields: Any) -> PrivateTraining:
    return torch_training(loader=loader_of(DrawnBatches(draw), records()), **fields)


def _poisson(rate: float | Tensor = BATCH / RECORDS) -> Tensor:
    return (torch.rand(RECORDS) < rate).nonzero().flatten()


def _subset(draw: Callable[[], Tensor]) -> PrivateTraining:
    return _drawn(draw, event=accounted(sampling="fixed-size"))


class SeededBatches:
    """Poisson samples from a generator of its own."""

    def __init__(self, *, anew: bool) -> None:
        self.anew = anew
        self.seed = int(torch.randint(2**40, ()))
        self.generator = torch.Generator().manual_seed(self.seed)

    def __iter__(self) -> Iterator[list[int]]:
        if self.anew:
            self.generator.manual_seed(self.seed)
        for _ in range(len(self)):
            chosen = torch.rand(RECORDS, generator=self.generator) < BATCH / RECORDS
            yield chosen.nonzero().flatten().tolist()

    def __len__(self) -> int:
        return RECORDS // BATCH


def _repeated(*, anew: bool) -> PrivateTraining:
    batches = SeededBatches(anew=anew)
    return torch_training(loader=loader_of(batches, records()), objects=(batches,))


def _weighted(weight: float) -> PrivateTraining:
    weights = torch.where(records().tensors[1] == 0, weight, 1.0)
    rates = weights * (BATCH / float(weights.sum()))
    return _drawn(lambda: _poisson(rates))


_WORKERS = 2


def _rate_of_a_worker(told: int) -> PrivateTraining:
    steps = EPOCHS * RECORDS // (BATCH * _WORKERS)
    batches = PoissonBatches(RECORDS, _WORKERS * BATCH / RECORDS, steps // EPOCHS)
    return torch_training(
        loader=loader_of(batches, records()), event=accounted(batch_size=told, steps=steps)
    )


_KEPT = 64


def _held_out(*, apart: bool) -> PrivateTraining:
    features, labels = records(RECORDS + _KEPT).tensors
    trained = TensorDataset(features[:RECORDS], labels[:RECORDS])
    begin = RECORDS if apart else RECORDS - _KEPT
    kept = TensorDataset(features[begin : begin + _KEPT], labels[begin : begin + _KEPT])
    return trained_with_opacus(private_parts(trained), held_out=kept)


TRAININGS: Trainings = {
    "shuffled-as-poisson": (
        lambda: trained_with_opacus(private_parts(shuffle=True, poisson_sampling=False)),
        trained_with_opacus,
    ),
    "fixed-size-as-poisson": (lambda: FixedSizes().training(), lambda: NumpyTraining().training()),
    "last-partial-batch": with_and_without(_last_batch, drop_last=(False, True)),
    "cut-batches": with_and_without(_drawn, draw=(lambda: _poisson()[:68], _poisson)),
    "drawn-with-replacement": with_and_without(
        _subset,
        draw=(lambda: torch.randint(RECORDS, (BATCH,)), lambda: torch.randperm(RECORDS)[:BATCH]),
    ),
    "same-batches-each-epoch": with_and_without(_repeated, anew=(True, False)),
    "weighted-sampler": with_and_without(_weighted, weight=(3.0, 1.0)),
    "batch-of-one-worker": with_and_without(_rate_of_a_worker, told=(BATCH, BATCH * _WORKERS)),
    "evaluation-data-in-training": with_and_without(_held_out, apart=(False, True)),
}
"""The code of each mistake, and the same code without it."""
