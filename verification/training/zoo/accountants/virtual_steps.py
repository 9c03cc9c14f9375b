"""One noisy update in four is accounted for, as if the others were parts of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from rdpkit import DPSGD
from rdpkit.verification.training.mistakes import TrainingMistakeKind
from rdpkit.verification.training.trainer import PrivateTraining, as_training
from rdpkit.verification.training.zoo.base import TrainingZooEntry
from rdpkit.verification.training.zoo.parts import (
    BATCH,
    DELTA,
    EPOCHS,
    NOISE,
    RECORDS,
    accounted,
    dp_sgd_gradients,
    perceptron,
    poisson_loader,
)


class CountingTrainer:
    """A trainer that keeps the history of its accountant itself.

    Parameters
    ----------
    virtual : int
        How many updates it takes for one that is accounted for.
    """

    adjacency, delta = "add_or_remove_one", DELTA

    def __init__(self, virtual: int) -> None:
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


def _made(virtual: int) -> PrivateTraining:
    return as_training(CountingTrainer(virtual))


ENTRY = TrainingZooEntry(
    name="virtual-steps",
    mistake="Every batch makes a noisy update, and the accountant counts one step for four, as "
    "if gradients were accumulated.",
    correction="A step is counted for each noisy update.",
    seen_in="after google-deepmind/jax_privacy issue 288, where batches and updates were mixed "
    "up, and meta-pytorch/opacus pull request 16",
    check="accountant",
    kinds=(TrainingMistakeKind.STEPS_MISCOUNTED, TrainingMistakeKind.ACCOUNTANT_NOT_TOLD),
    style="torch",
    broken=lambda: _made(4),
    fixed=lambda: _made(1),
)
