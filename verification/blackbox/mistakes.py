"""Mistakes that the outputs of a mechanism show by themselves, apart from any privacy claim.

A test of a claim shows that something is wrong. These checks show what is wrong, where the outputs
reveal it. They look for coincidences that noise from a continuous distribution would hardly ever
produce. A coincidence is reported only if the two data sets differ in it: what is the same on both,
such as a rounded result or probabilities that sum to 1, does not leak anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class MistakeKind(StrEnum):
    """The kind of a mistake."""

    FIXED_SEED = "fixed_seed"
    """The outputs are the same in every run."""
    SEED_AT_IMPORT = "seed_at_import"
    """The outputs vary within a process, and repeat in the next process."""
    NO_NOISE = "no_noise"
    """A part of the output has no noise."""
    NOISE_REUSED = "noise_reused"
    """Parts of the output have the same noise, so that a combination of them has none."""
    COARSE_NOISE = "coarse_noise"
    """The noise has few levels, and the data move them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mistake:
    """A mistake that was found in outputs.

    Parameters
    ----------
    kind : MistakeKind
        What it is.
    message : str
        What was seen, with numbers.
    advice : str
        What to do about it.
    """

    kind: MistakeKind
    message: str
    advice: str


__all__ = ["Mistake", "MistakeKind"]
