"""Mistakes that tests of code and checks of trainings name; ``mistakes.toml`` has their words.

A test of a claim shows that something is wrong. A mistake says what is wrong, where the score by
which the claim was rejected reveals it. A mistake is never a verdict of its own: correct mechanisms
have constant outputs, rounded outputs and rare outputs as well.
"""

from __future__ import annotations

import functools
import math
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib import resources
from typing import Any

from rdpkit.formats.records import as_plain
from rdpkit.verification.estimators.error_budget import ErrorBudget


class MistakeKind(StrEnum):
    """The kind of a mistake."""

    FIXED_SEED = "fixed_seed"
    """The outputs are the same in every run."""
    SEED_AT_IMPORT = "seed_at_import"
    """The outputs vary within a process, and repeat in the next process."""
    NO_NOISE = "no_noise"
    """A part of the output has no noise, or updates of a training have none at all."""
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
    UNCLIPPED_RECORDS = "unclipped_records"
    """Records that are longer than the claim speaks of move the output."""
    SENSITIVITY_TOO_LARGE = "sensitivity_too_large"
    """One record moves the output further than the claim allows."""
    TOO_LITTLE_NOISE = "too_little_noise"
    """The noise is smaller than the claim says."""
    NOT_NAMED = "not_named"
    """A claim is rejected, and no known mistake explains it alone."""

    # Of trainings.
    NO_NOISE_ON_PARAMETERS = "no_noise_on_parameters"
    """Some parameters move with the data and have no noise."""
    NOISE_TOO_SMALL = "noise_too_small"
    """The noise is smaller, beside what a record can change, than was accounted for."""
    NOISE_NOT_GAUSSIAN = "noise_not_gaussian"
    """The noise has another law than was accounted for."""
    NOISE_SHARED = "noise_shared_between_parameters"
    """Parameters have the same noise, so that a combination of them has none."""
    NOISE_REPEATED = "noise_repeated_between_steps"
    """Updates of different steps have the same noise."""
    NOISE_FIXED_SEED = "noise_from_a_fixed_seed"
    """The noise is the same whenever training is started."""
    NO_CLIPPING = "no_clipping"
    """One record can move an update without limit."""
    UNCLIPPED_PARAMETERS = "unclipped_parameters"
    """One record can move some parameters without limit."""
    CLIPPED_AFTER_AVERAGING = "clipped_after_averaging"
    """The gradient of the batch is clipped, and not that of each record."""
    BATCH_DEPENDENT_SCALE = "batch_dependent_scale"
    """Sum or noise are divided by the number of records that happen to be in the batch."""
    BATCH_STATISTICS = "batch_statistics"
    """A record changes the gradients of the other records of its batch."""
    BUFFERS_HOLD_DATA = "buffers_hold_data"
    """Parts of the model that no noise is added to are changed by records."""
    STATE_HOLDS_DATA = "state_holds_data"
    """What a step keeps for the next ones is changed by records, and has no noise."""
    CLIPPED_AFTER_NOISE = "clipped_after_noise"
    """Noise is added first and the sum is clipped, so that a large gradient drowns the noise."""
    NOT_POISSON = "not_poisson"
    """Batches are no Poisson samples, though they were accounted for as such."""
    OTHER_SAMPLING = "other_sampling"
    """Batches are drawn in another way than was accounted for, which was no Poisson sampling."""
    SHUFFLED = "shuffled"
    """Batches are parts of a shuffled order, and were accounted for as something else."""
    FIXED_SIZE = "fixed_size"
    """All batches have the same size, and were accounted for as something else."""
    TRUNCATED = "truncated"
    """Large batches are cut, and that was not accounted for."""
    PARTIAL_BATCH = "partial_batch"
    """The last batch of an epoch is smaller than the others."""
    SAMPLING_RATE = "sampling_rate"
    """Records are in batches more often than was accounted for."""
    UNEQUAL_RATES = "unequal_rates"
    """Some records are in batches more often than others."""
    REPEATED_BATCHES = "repeated_batches"
    """The same batches come again: the sampler's seed repeats."""
    RECORD_TWICE = "record_twice"
    """A record is in one batch more than once."""
    HELD_OUT_IN_TRAINING = "held_out_in_training"
    """Records that are kept for evaluation are trained on."""
    STEPS_MISCOUNTED = "steps_miscounted"
    """More noisy updates are made than were accounted for."""
    ACCOUNTANT_NOT_TOLD = "accountant_not_told"
    """The accountant's history is not what the training does."""
    DELTA_TOO_LARGE = "delta_too_large"
    """Delta is above one over the number of records: a single record may be published whole."""
    CLAIM_TOO_SMALL = "claim_too_small"
    """The claimed epsilon is smaller than what follows from the accounted training."""
    CLAIM_DIFFERS = "claim_differs"
    """The claim in the repository says less than the training says of itself."""
    LEAKS_MORE = "leaks_more"
    """A training run shows more about its canaries than the claim allows."""


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
def words() -> dict[str, Any]:
    """What the file ``mistakes.toml`` says of each kind of mistake."""
    assert __package__
    return tomllib.loads(resources.files(__package__).joinpath("mistakes.toml").read_text("utf-8"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Mistake:
    """A mistake in code or in a training."""

    kind: MistakeKind  #: What it is
    message: str  #: What was seen, with numbers
    advice: str  #: What to do about it
    log_e_value: float | None = None
    """Of code, the evidence against the claim that scores of this kind found by themselves: the
    natural logarithm of what a unit of capital has become that was bet on them.
    """

    def describe(self) -> str:
        """In words, with its e-value."""
        said = f"{self.kind.value}: {self.message} {self.advice}"
        if self.log_e_value is None:
            return said
        return f"{said} (e-value {math.exp(min(self.log_e_value, 700.0)):.3g})"

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        found = as_plain(self)
        return {name: value for name, value in found.items() if value is not None}


def first_of_each_kind(mistakes: Sequence[Mistake]) -> tuple[Mistake, ...]:
    """The first mistake of each kind."""
    return tuple({one.kind: one for one in reversed(mistakes)}.values())[::-1]


def mistake_of(kind: MistakeKind, way: str = "", /, **measured: object) -> Mistake:
    """A mistake in the words of the table, with what was measured in the places of its braces."""
    said = words()[kind.value]
    said = {**said, **said[way]} if way else said
    message, advice = (said[name].format(**measured) for name in ("message", "advice"))
    return Mistake(kind=kind, message=message, advice=advice)
