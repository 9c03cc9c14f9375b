"""Mistakes in what the accountant is told, and in what is claimed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain, repeat
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
    torch_training,
)
from rdpkit.verification.training.zoo.with_opacus import private_parts, trained_with_opacus


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


def _virtual_steps(virtual: int) -> PrivateTraining:
    return as_training(CountingTrainer(virtual))


VIRTUAL_STEPS = TrainingZooEntry(
    name="virtual-steps",
    mistake="Every batch makes a noisy update, and the accountant counts one step for four, as "
    "if gradients were accumulated.",
    correction="A step is counted for each noisy update.",
    seen_in="after google-deepmind/jax_privacy issue 288, where batches and updates were mixed "
    "up, and meta-pytorch/opacus pull request 16",
    check="accountant",
    kinds=(TrainingMistakeKind.STEPS_MISCOUNTED, TrainingMistakeKind.ACCOUNTANT_NOT_TOLD),
    style="torch",
    broken=lambda: _virtual_steps(4),
    fixed=lambda: _virtual_steps(1),
)


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


UPDATES_OF_A_BATCH = TrainingZooEntry(
    name="two-updates-of-a-batch",
    mistake="Each batch is used for two noisy updates, and the accountant is told of one step.",
    correction="One update for each batch.",
    seen_in="after ooples/AiDotNet pull request 1318 (noise chosen for one update of each batch "
    "where the critic makes several)",
    check="accountant",
    kinds=(TrainingMistakeKind.STEPS_MISCOUNTED, TrainingMistakeKind.ACCOUNTANT_NOT_TOLD),
    style="opacus",
    broken=lambda: _updates_of_a_batch(2),
    fixed=lambda: _updates_of_a_batch(1),
)


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


ONE_STEP_TOO_MANY = TrainingZooEntry(
    name="one-step-too-many",
    mistake="The loop updates first and looks at the budget afterwards: 13 updates are made "
    "where 12 are accounted for.",
    correction="The loop looks at the budget before each update.",
    seen_in="after opendp/smartnoise-sdk pull request 424",
    check="accountant",
    kinds=(TrainingMistakeKind.STEPS_MISCOUNTED,),
    style="torch",
    broken=lambda: _one_step_too_many(looks_before=False),
    fixed=lambda: _one_step_too_many(looks_before=True),
)


_LESS = 0.5


def _told(accountant: Any, noise: float, rate: float) -> Callable[[Any], None]:
    def hook(optimizer: Any) -> None:
        accountant.step(noise_multiplier=noise, sample_rate=rate)

    return hook


def _not_told(used: float) -> PrivateTraining:
    parts = private_parts()
    optimizer, rate = parts[1], 1.0 / len(parts[2])
    configured = optimizer.noise_multiplier
    optimizer.attach_step_hook(_told(parts[3].accountant, configured, rate))
    training = trained_with_opacus(parts)
    optimizer.noise_multiplier = used
    return training


NOT_TOLD = TrainingZooEntry(
    name="noise-of-the-configuration",
    mistake="The noise multiplier of the optimiser is lowered to 0.5 for the training, and the "
    "accountant is told the 1.0 of the configuration.",
    correction="The noise of the configuration is the one that is used.",
    seen_in="after ooples/AiDotNet pull request 1318 and meta-pytorch/opacus issue 753, where the "
    "noise that is used and the noise that is accounted for differ",
    check="step",
    kinds=(TrainingMistakeKind.NOISE_TOO_SMALL, TrainingMistakeKind.ACCOUNTANT_NOT_TOLD),
    style="opacus",
    broken=lambda: _not_told(_LESS),
    fixed=lambda: _not_told(1.0),
)


LARGE_DELTA = TrainingZooEntry(
    name="delta-above-one-in-n",
    mistake="Delta is 0.01 for 512 records: publishing five of them whole would keep the claim.",
    correction="Delta is far below one over the number of records.",
    seen_in="after tensorflow/privacy issues 60 and 71",
    check="accountant",
    kinds=(TrainingMistakeKind.DELTA_TOO_LARGE,),
    style="opacus",
    broken=lambda: trained_with_opacus(private_parts(), delta=0.01),
    fixed=lambda: trained_with_opacus(private_parts(), delta=1e-5),
)


CLAIM_OF_ANOTHER_TRAINING = TrainingZooEntry(
    name="claim-of-another-training",
    mistake="Epsilon 1 is claimed for a training that has more than 4 at this delta.",
    correction="Epsilon 5 is claimed.",
    seen_in="after raptor7197/caamas issue 36 (an epsilon that no accountant computed)",
    check="accountant",
    kinds=(TrainingMistakeKind.CLAIM_TOO_SMALL,),
    style="opacus",
    broken=lambda: trained_with_opacus(private_parts(), epsilon=1.0),
    fixed=lambda: trained_with_opacus(private_parts(), epsilon=5.0),
)


ENTRIES = (
    VIRTUAL_STEPS,
    UPDATES_OF_A_BATCH,
    ONE_STEP_TOO_MANY,
    NOT_TOLD,
    LARGE_DELTA,
    CLAIM_OF_ANOTHER_TRAINING,
)
"""In the order in which they are listed."""
