"""Mistakes that explain why a claim was rejected.

A test of a claim shows that something is wrong. A mistake says what is wrong, where the score by
which the claim was rejected reveals it. A mistake is never a verdict of its own: correct mechanisms
have constant outputs, rounded outputs and rare outputs as well.
"""

from __future__ import annotations

import functools
import math
import tomllib
from dataclasses import dataclass
from enum import StrEnum
from importlib import resources
from typing import Any

from rdpkit.verification.estimators.error_budget import ErrorBudget


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
    EXACT_RECORD_RELEASED = "exact_record_released"
    """A release holds a record, or a part of it, as it is."""
    CATEGORIES_TOO_LIKELY = "categories_too_likely"
    """Single values or categories are much more likely on one of the data sets."""
    COVARIANCE_OF_THE_DATA = "covariance_of_the_data"
    """The scale, shape or signs of the noise depend on the data."""
    LOW_BITS = "low_bits"
    """The last bits of the outputs depend on the data."""
    KIND_OF_RELEASE = "kind_of_release"
    """What kind of release there is depends on the data: NaN, an error, keys, a shape, an order."""
    SIZE_OF_RELEASE = "size_of_release"
    """How much is released, or how many values of a kind, depends on the data."""


class NamingLevels:
    """The error rates of all names that one test may give to mistakes.

    Guarantee
    ---------
    They add up to at most ``rate``, however many scores may name a mistake. A name is given only
    where evidence of its own reaches its level, so with probability at most ``rate`` there is any
    whose score, or whose processes, keep the claim after all.
    """

    def __init__(
        self,
        rate: float,  # Of the whole test
        *,
        processes: bool,  # Whether releases of new processes may name one
    ) -> None:
        self.budget = ErrorBudget(rate)
        self.processes = self.budget.spend("new processes", 0.5 * rate * processes)
        self._for_scores = self.budget.left

    def next(self) -> float:
        """The level of one more score that may name a mistake: of the k-th, 1/(k (k + 1))."""
        k = len(self.budget.spent)
        return self.budget.spend(f"score {k}", self._for_scores / (k * (k + 1.0)))


@functools.cache
def words(package: str) -> dict[str, Any]:
    """What the file ``mistakes.toml`` of a package says of each kind of mistake."""
    return tomllib.loads(resources.files(package).joinpath("mistakes.toml").read_text("utf-8"))


def said_of(package: str, kind: StrEnum, way: str, measured: dict[str, object]) -> tuple[str, str]:
    """The message and the advice of a mistake, with what was measured in the places of braces."""
    said = words(package)[kind.value]
    said = {**said, **said[way]} if way else said
    return said["message"].format(**measured), said["advice"].format(**measured)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mistake:
    """A mistake that outputs show, if a claim is rejected by the score that says so."""

    kind: MistakeKind  # What it is
    message: str  # What was seen, with numbers
    advice: str  # What to do about it
    log_e_value: float = 0.0
    """The evidence against the claim that scores of this kind found by themselves: the natural
    logarithm of what a unit of capital has become that was bet on them.
    """

    @classmethod
    def seen(cls, kind: MistakeKind, way: str = "", /, **measured: object) -> Mistake:
        """A mistake in the words of the table, without evidence yet."""
        assert __package__
        message, advice = said_of(__package__, kind, way, measured)
        return cls(kind=kind, message=message, advice=advice)

    def describe(self) -> str:
        """In words, with its e-value."""
        e_value = math.exp(min(self.log_e_value, 700.0))
        return f"{self.kind.value}: {self.message} {self.advice} (e-value {e_value:.3g})"
