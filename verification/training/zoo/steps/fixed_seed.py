"""The noise generator is seeded with a number that is written in the code."""

from __future__ import annotations

import torch

from rdpkit.verification.training.mistakes import TrainingMistakeKind
from rdpkit.verification.training.trainer import PrivateTraining
from rdpkit.verification.training.zoo.base import TrainingZooEntry
from rdpkit.verification.training.zoo.with_opacus import private_parts, trained_with_opacus


def _made(*, fixed: bool) -> PrivateTraining:
    generator = torch.Generator()
    if fixed:
        generator.manual_seed(42)
    else:
        generator.seed()
    return trained_with_opacus(private_parts(noise_generator=generator))


ENTRY = TrainingZooEntry(
    name="fixed-seed",
    mistake="The generator that Opacus is given for its noise has a seed from the code: whoever "
    "reads the code can subtract the noise.",
    correction="A seed from the operating system, which nobody knows.",
    seen_in="after google-deepmind/optax pull request 1167, where the seed of the noise had to "
    "be written in the call, and fedbiomed/fedbiomed issue 973",
    check="step",
    kinds=(TrainingMistakeKind.NOISE_FIXED_SEED,),
    style="opacus",
    broken=lambda: _made(fixed=True),
    fixed=lambda: _made(fixed=False),
)
