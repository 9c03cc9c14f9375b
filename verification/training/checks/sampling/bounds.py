"""What a training leaks at least, by how its batches are drawn."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from scipy import stats

import rdpkit
from rdpkit import Event
from rdpkit.formats.numbers import rounded_down
from rdpkit.verification.blackbox.mistakes import Mistake, MistakeKind
from rdpkit.verification.training import real_events
from rdpkit.verification.training.checks.sampling.evidence import DrawEvidence
from rdpkit.verification.training.checks.sampling.inclusion_tests import Favoured
from rdpkit.verification.training.checks.sampling.naming import in_order_of_data
from rdpkit.verification.training.options import TrainingOptions
from rdpkit.verification.training.results import TrainingLowerBound
from rdpkit.verification.training.told import POISSON, UNKNOWN, told
from rdpkit.verification.training.trainer import PrivateTraining


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What the check of the sampler found."""

    seen: DrawEvidence  # What tests say
    mistakes: tuple[Mistake, ...]  # What was named
    known: bool  # Whether every start draws the same batches

    @property
    def kinds(self) -> set[MistakeKind]:
        """The kinds of mistakes, without held-out records, which change no sampling."""
        return {one.kind for one in self.mistakes} - {MistakeKind.HELD_OUT_IN_TRAINING}


def bounds_of_draws(
    training: PrivateTraining,  # Its noise and its number of updates are taken from its event
    found: Found,  # What was found
    options: TrainingOptions,  # The confidence
) -> Iterator[TrainingLowerBound]:
    """A lower bound for the event that the draws show, if the steps are what was told."""
    account = told(training.event)
    known = account.parts == 1 and account.sampling != UNKNOWN
    if account.noise_multiplier is None or not account.updates or not known:
        return
    really = _really(training, found, options.confidence)
    if really is None:
        return
    event, given = really
    bound = real_events.at_least(
        training,
        event,
        confidence=options.confidence,
        given=f"{given}, and {real_events.STEP_AS_TOLD}",
    )
    if bound is not None:
        yield bound


def _really(training: PrivateTraining, found: Found, confidence: float) -> tuple[Event, str] | None:
    """The event that the draws show, and what it takes for granted; None if it has no name."""
    account, seen = told(training.event), found.seen
    noise, updates = account.noise_multiplier, account.updates
    assert noise is not None
    assert updates is not None
    sizes = seen.draws.sizes
    batches = max(1, round(len(sizes) / max(1, len(seen.draws.epochs))))
    epochs = max(1, updates // batches)
    kinds = found.kinds
    if not kinds:
        if account.sampling != POISSON:
            return training.event, "batches are drawn as told"
        return _poisson(noise, seen.least_rate(confidence), updates)
    if found.known or (in_order_of_data(seen) and seen.once):
        return real_events.known(noise, times=epochs), "who attacks knows the batches"
    if MistakeKind.REPEATED_BATCHES in kinds:
        # Equal batches with fresh noise are one batch with the mean of the noise.
        less = noise / math.sqrt(epochs)
        if seen.once:
            size = seen.same[1]
            event = real_events.shuffled(less, batch=size, records=size * batches, epochs=1)
        else:
            event = real_events.poisson(less, rate=seen.least_rate(confidence), updates=batches)
        return event, f"all {epochs} epochs have the same batches"
    if MistakeKind.SHUFFLED in kinds:
        size = seen.same[1]
        return (
            real_events.shuffled(noise, batch=size, records=size * batches, epochs=epochs),
            f"every epoch is a shuffled order in {batches} batches",
        )
    if MistakeKind.UNEQUAL_RATES in kinds and account.sampling == POISSON:
        rate = max(_least(one, confidence) for one in seen.favoured)
        return _poisson(noise, rate, updates)
    if kinds == {MistakeKind.SAMPLING_RATE} and account.sampling == POISSON:
        return _poisson(noise, seen.least_rate(confidence), updates)
    if kinds == {MistakeKind.FIXED_SIZE}:
        event = rdpkit.DPSGD(
            noise_multiplier=noise,
            dataset_size=seen.draws.records,
            batch_size=max(1, seen.same[1]),
            steps=updates,
            sampling="fixed-size",
        )
        return event, f"batches are fresh samples of {seen.same[1]} records"
    return None


def _poisson(noise: float, rate: float, updates: int) -> tuple[Event, str] | None:
    if rate <= 0.0:
        return None
    return (
        real_events.poisson(noise, rate=rate, updates=updates),
        f"batches are Poisson samples at a rate of at least {rounded_down(rate)}",
    )


def _least(one: Favoured, confidence: float) -> float:
    """A lower confidence limit of the rate of some records, for all sets of them together."""
    trials = one.records * one.batches
    if one.inclusions == 0:
        return 0.0
    failure = (1.0 - confidence) / one.sets
    return float(stats.beta.ppf(failure, one.inclusions, trials - one.inclusions + 1))
