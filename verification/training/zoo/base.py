"""Entries of the zoo of trainings: a mistake, and a training with and without it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from rdpkit.verification.blackbox.mistakes import MistakeKind
from rdpkit.verification.training.trainer import PrivateTraining

Maker = Callable[[], PrivateTraining]
Trainings = dict[str, tuple[Maker, Maker]]
"""For each mistake, what makes the training with it, and without it."""


def with_and_without(make: Callable[..., PrivateTraining], **values: Any) -> tuple[Maker, Maker]:
    """Two trainings that differ by one argument: its value with the mistake, and without it."""
    ((name, (broken, fixed)),) = values.items()
    return partial(make, **{name: broken}), partial(make, **{name: fixed})


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingZooEntry:
    """A mistake in a training, with the code that makes it and the code that does not."""

    name: str  # Of the broken training; the one without the mistake is called ``NAME-fixed``
    mistake: str  # What is wrong, as a sentence
    correction: str  # What the repaired training does instead
    seen_in: str  # Where the mistake was reported
    check: str  # The check that finds it: "step", "sampler", "accountant" or "run"
    kinds: tuple[MistakeKind, ...]  # What says what is wrong, the most exact name first
    style: str  # How the training is written: "opacus", "torch" or "numpy"
    broken: Maker  # Makes the training with the mistake
    fixed: Maker  # Makes it without
