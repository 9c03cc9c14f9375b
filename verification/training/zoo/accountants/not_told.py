"""The noise is made smaller after make_private, and the accountant is told the old value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rdpkit.verification.training.mistakes import TrainingMistakeKind
from rdpkit.verification.training.trainer import PrivateTraining
from rdpkit.verification.training.zoo.base import TrainingZooEntry
from rdpkit.verification.training.zoo.with_opacus import private_parts, trained_with_opacus

_LESS = 0.5


def _told(accountant: Any, noise: float, rate: float) -> Callable[[Any], None]:
    def hook(optimizer: Any) -> None:
        accountant.step(noise_multiplier=noise, sample_rate=rate)

    return hook


def _made(used: float) -> PrivateTraining:
    parts = private_parts()
    optimizer, rate = parts[1], 1.0 / len(parts[2])
    configured = optimizer.noise_multiplier
    optimizer.attach_step_hook(_told(parts[3].accountant, configured, rate))
    training = trained_with_opacus(parts)
    optimizer.noise_multiplier = used
    return training


ENTRY = TrainingZooEntry(
    name="noise-of-the-configuration",
    mistake="The noise multiplier of the optimiser is lowered to 0.5 for the training, and the "
    "accountant is told the 1.0 of the configuration.",
    correction="The noise of the configuration is the one that is used.",
    seen_in="after ooples/AiDotNet pull request 1318 and meta-pytorch/opacus issue 753, where the "
    "noise that is used and the noise that is accounted for differ",
    check="step",
    kinds=(TrainingMistakeKind.NOISE_TOO_SMALL, TrainingMistakeKind.ACCOUNTANT_NOT_TOLD),
    style="opacus",
    broken=lambda: _made(_LESS),
    fixed=lambda: _made(1.0),
)
