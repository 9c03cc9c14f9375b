"""Mistakes in what the accountant is told, and in what is claimed."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, repeat
from typing import Any

import torch
from torch import Tensor, nn

from rdpkit import DPSGD
from rdpkit.verification.training.trainer import PrivateTraining, as_training
from rdpkit.verification.training.zoo.parts import (
    BATCH,
    DELTA,
    EPOCHS,
    NOISE,
    RECORDS,
    Trainings,
    accounted,
    dp_sgd_gradients,
    perceptron,
    poisson_loader,
    torch_training,
    with_and_without,
)
from rdpkit.verification.training.zoo.with_opacus import private_parts, trained_with_opacus


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
