"""The mistakes that checks of a training can name; ``mistakes.toml`` has what is said of them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from rdpkit.verification.blackbox.mistakes import said_of


class TrainingMistakeKind(StrEnum):
    """The kind of a mistake in a training."""

    NO_NOISE = "no_noise"
    """Updates have no noise at all."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingMistake:
    """A mistake that was found in a training."""

    kind: TrainingMistakeKind  #: What it is
    message: str  #: What was seen, with numbers
    advice: str  #: What to do about it

    def describe(self) -> str:
        """In words."""
        return f"{self.kind.value}: {self.message} {self.advice}"

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"kind": self.kind.value, "message": self.message, "advice": self.advice}


def mistake_of(kind: TrainingMistakeKind, way: str = "", /, **measured: object) -> TrainingMistake:
    """A mistake in the words of the table, with what was measured in the places of its braces."""
    assert __package__
    message, advice = said_of(__package__, kind, way, measured)
    return TrainingMistake(kind=kind, message=message, advice=advice)
