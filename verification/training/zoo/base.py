"""Entries of the zoo of trainings: a mistake, and a training with and without it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rdpkit.verification.training.mistakes import TrainingMistakeKind
from rdpkit.verification.training.trainer import PrivateTraining


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingZooEntry:
    """A mistake in a training, with the code that makes it and the code that does not.

    Parameters
    ----------
    name : str
        The name of the broken training; the one without the mistake is called ``NAME-fixed``.
    mistake : str
        What is wrong, as a sentence.
    correction : str
        What the repaired training does instead.
    seen_in : str
        Where the mistake was reported.
    check : str
        The check that finds it: "step", "sampler", "accountant" or "run".
    kinds : tuple of TrainingMistakeKind
        The names that say what is wrong; the first is the most exact one.
    style : str
        How the training is written: "opacus", "torch" or "numpy".
    broken, fixed : callable
        Make the training with and without the mistake.
    """

    name: str
    mistake: str
    correction: str
    seen_in: str
    check: str
    kinds: tuple[TrainingMistakeKind, ...]
    style: str
    broken: Callable[[], PrivateTraining]
    fixed: Callable[[], PrivateTraining]
