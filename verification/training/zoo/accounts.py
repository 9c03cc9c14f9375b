"""Mistakes in how batches are drawn, in what the accountant is told, and in what is claimed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain, repeat
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from rdpkit import DPSGD
from rdpkit.verification.training.trainer import PrivateTraining, as_training
from rdpkit.verification.training.zoo.parts import (
    BATCH,
    DELTA,
    EPOCHS,
    NOISE,
    RECORDS,
    DrawnBatches,
    NumpyTraining,
    Trainings,
    accounted,
    dp_sgd_gradients,
    loader_of,
    perceptron,
    poisson_loader,
    poisson_sample,
    private_parts,
    records,
    torch_training,
    trained_with_opacus,
    with_and_without,
)


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


def _drawn(draw: Callable[[], Tensor], **fields: Any) -> PrivateTraining:
    return torch_training(loader=loader_of(DrawnBatches(draw), records()), **fields)


def _subset(draw: Callable[[], Tensor]) -> PrivateTraining:
    return _drawn(draw, event=accounted(sampling="fixed-size"))


def _repeated(*, anew: bool) -> PrivateTraining:
    seed = int(torch.randint(2**40, ()))
    generator = torch.Generator().manual_seed(seed)

    class Seeded(DrawnBatches):
        """Poisson samples from a generator of their own."""

        def __iter__(self) -> Iterator[list[int]]:
            if anew:
                generator.manual_seed(seed)
            return super().__iter__()

    batches = Seeded(lambda: poisson_sample(generator=generator))
    return torch_training(loader=loader_of(batches, records()), objects=(generator,))


def _weighted(weight: float) -> PrivateTraining:
    weights = torch.where(records().tensors[1] == 0, weight, 1.0)
    rates = weights * (BATCH / float(weights.sum()))
    return _drawn(lambda: poisson_sample(rate=rates))


_WORKERS = 2


def _rate_of_a_worker(told: int) -> PrivateTraining:
    steps = EPOCHS * RECORDS // (BATCH * _WORKERS)
    draw = lambda: poisson_sample(rate=_WORKERS * BATCH / RECORDS)  # noqa: E731
    batches = DrawnBatches(draw, steps // EPOCHS)
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


class CountingTrainer:
    """A trainer that keeps the history of its accountant itself."""

    adjacency, delta = "add_or_remove_one", DELTA

    def __init__(
        self,
        virtual: int,  # How many updates it takes for one that is accounted for
    ) -> None:
        self.virtual = virtual
        self.made = 0
        self.history: list[tuple[float, float, int]] = []
        self.model: nn.Module = perceptron()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=0.01)
        self.loader = poisson_loader()
        self.event: DPSGD = accounted(steps=EPOCHS * len(self.loader) // virtual)

    @property
    def accountant(self) -> Any:
        """Who has the history."""
        return self

    def step(self, batch: Sequence[Tensor]) -> None:
        """One noisy update."""
        noisy = dp_sgd_gradients(self.model, batch)
        for name, parameter in self.model.named_parameters():
            parameter.grad = noisy[name]
        self.optimizer.step()
        self.made += 1
        if self.made % self.virtual == 0:
            done = self.history.pop()[2] if self.history else 0
            self.history.append((NOISE, BATCH / RECORDS, done + 1))

    def train(self) -> None:
        """All epochs."""
        for _ in range(EPOCHS):
            for batch in self.loader:
                self.step(batch)


def _updates_of_a_batch(updates: int) -> PrivateTraining:
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


_ALLOWED = 12


def _one_step_too_many(*, looks_before: bool) -> PrivateTraining:
    def train() -> None:
        for done, batch in enumerate(chain.from_iterable(repeat(made.loader))):
            if looks_before and done == _ALLOWED:
                return
            made.step(batch)
            if done == _ALLOWED:
                return

    made = torch_training(event=accounted(steps=_ALLOWED), train=train)
    return made


def _not_told(used: float) -> PrivateTraining:
    parts = private_parts()
    optimizer, rate = parts[1], 1.0 / len(parts[2])
    configured = optimizer.noise_multiplier
    optimizer.attach_step_hook(
        lambda _: parts[3].accountant.step(noise_multiplier=configured, sample_rate=rate)
    )
    training = trained_with_opacus(parts)
    optimizer.noise_multiplier = used
    return training


TRAININGS: Trainings = {
    "shuffled-as-poisson": (
        lambda: trained_with_opacus(private_parts(shuffle=True, poisson_sampling=False)),
        trained_with_opacus,
    ),
    "fixed-size-as-poisson": (lambda: FixedSizes().training(), lambda: NumpyTraining().training()),
    "last-partial-batch": with_and_without(_last_batch, drop_last=(False, True)),
    "cut-batches": with_and_without(_drawn, draw=(lambda: poisson_sample()[:68], poisson_sample)),
    "drawn-with-replacement": with_and_without(
        _subset,
        draw=(lambda: torch.randint(RECORDS, (BATCH,)), lambda: torch.randperm(RECORDS)[:BATCH]),
    ),
    "same-batches-each-epoch": with_and_without(_repeated, anew=(True, False)),
    "weighted-sampler": with_and_without(_weighted, weight=(3.0, 1.0)),
    "batch-of-one-worker": with_and_without(_rate_of_a_worker, told=(BATCH, BATCH * _WORKERS)),
    "evaluation-data-in-training": with_and_without(_held_out, apart=(False, True)),
    "virtual-steps": (
        lambda: as_training(CountingTrainer(virtual=4)),
        lambda: as_training(CountingTrainer(virtual=1)),
    ),
    "two-updates-of-a-batch": with_and_without(_updates_of_a_batch, updates=(2, 1)),
    "one-step-too-many": with_and_without(_one_step_too_many, looks_before=(False, True)),
    "noise-of-the-configuration": with_and_without(_not_told, used=(0.5, 1.0)),
    "delta-above-one-in-n": with_and_without(trained_with_opacus, delta=(0.01, 1e-5)),
    "claim-of-another-training": with_and_without(trained_with_opacus, epsilon=(1.0, 5.0)),
}
"""The code of each mistake, and the same code without it."""
