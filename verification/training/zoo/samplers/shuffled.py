"""Shuffled batches, accounted for as Poisson samples."""

from __future__ import annotations

from rdpkit.verification.training.mistakes import TrainingMistakeKind
from rdpkit.verification.training.zoo.base import TrainingZooEntry
from rdpkit.verification.training.zoo.with_opacus import private_parts, trained_with_opacus

ENTRY = TrainingZooEntry(
    name="shuffled-as-poisson",
    mistake="Opacus is asked not to sample (poisson_sampling=False), and its accountant goes on "
    "as if the shuffled batches were Poisson samples.",
    correction="Poisson samples, which are Opacus's default.",
    seen_in="after meta-pytorch/opacus issue 80 and pull request 128, and tensorflow/privacy "
    "issue 483",
    check="sampler",
    kinds=(TrainingMistakeKind.SHUFFLED, TrainingMistakeKind.NOT_POISSON),
    style="opacus",
    broken=lambda: trained_with_opacus(private_parts(shuffle=True, poisson_sampling=False)),
    fixed=lambda: trained_with_opacus(private_parts()),
)
