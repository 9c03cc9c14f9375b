"""The second check: are batches drawn as the accountant was told?

The loader is iterated for several epochs, where possible without loading data, and the sizes of
batches and the records in them are compared with what the event says.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import stats

import rdpkit
from rdpkit import Event
from rdpkit.formats.numbers import how_many, rounded_down
from rdpkit.verification.blackbox.mistakes import Mistake, MistakeKind, mistake_of
from rdpkit.verification.estimators.error_budget import ErrorBudget
from rdpkit.verification.training import events
from rdpkit.verification.training.batches import (
    Key,
    keys_of_batch,
    keys_of_records,
    parts_of,
    repeated_records,
)
from rdpkit.verification.training.checks import draw_tests
from rdpkit.verification.training.checks.draw_evidence import (
    TESTS,
    DrawEvidence,
    evidence_of,
    in_order_of_data,
    mistakes_of_draws,
)
from rdpkit.verification.training.checks.draw_tests import Favoured
from rdpkit.verification.training.checks.draws import (
    BATCH_SAMPLER,
    Draws,
    Positions,
    see_draws,
)
from rdpkit.verification.training.events import FULL, POISSON, UNKNOWN, Told, told
from rdpkit.verification.training.options import TrainingOptions
from rdpkit.verification.training.results import CheckResult, TrainingLowerBound
from rdpkit.verification.training.state import TrainingState, seed_everything
from rdpkit.verification.training.trainer import PrivateTraining, TrainingMaker
from rdpkit.verification.training.updates import Rhythm, rhythm_of

_SHARE_OF_TIME = 0.06
_BATCHES_OF_A_START = 60
# A test shows that two starts have batches in common; that the sampler repeats is said if most are.
_MOST = 0.5
# For a note, and no mistake: where eight draws of a record are expected, e^-8 of them have none.
_NEVER, _EXPECTED = 0.02, 8.0
ANOTHER_START, NEVER_DRAWN = "batches of another start", "records that are never drawn"
_NOT_COMPARED = (
    "neither the rate nor which records are drawn could be compared with what was told, and the "
    "notes say why"
)
_IRREGULAR = (
    "updates come after different numbers of calls of step(batch), so what the batch of an update "
    "is was not known, and nothing was compared"
)


def check_sampler(maker: TrainingMaker, options: TrainingOptions) -> CheckResult:
    """Check whether batches are drawn as was accounted for.

    Guarantee
    ---------
    A loader that draws as the event says, or with a smaller rate for all records, is rejected with
    probability at most ``options.rate_of_a_check``.

    Assumes
    -------
    The loader's random generator draws independent uniform numbers, and draws in this check are
    like those in training.

    Source
    ------
    rdpkit, theory page "Checks of a training".
    """
    began = time.perf_counter()
    seed_everything(options.known_seed)
    training = maker.fresh()
    account = told(training.event)
    state = TrainingState(training)
    seed_everything(options.known_seed)
    budget = _SHARE_OF_TIME * options.seconds
    rhythm = _rhythm(maker, options, time.perf_counter() + budget)
    rates = ErrorBudget(options.rate_of_a_check)
    level = rates.equally(*TESTS, NEVER_DRAWN, ANOTHER_START)
    draws = see_draws(
        training,
        until=time.perf_counter() + budget,
        account=account,
        calls=rhythm.calls,
        level=level,
    )
    state.restore()
    contents = look_at_contents(training, until=time.perf_counter() + 0.5 * budget)
    state.restore()
    if draws is None or not len(draws.sizes):
        return _without_draws(contents, options, began)
    if not rhythm.regular and draws.source != BATCH_SAMPLER:
        draws = dataclasses.replace(
            draws, known=False, units=False, notes=(*draws.notes, _IRREGULAR)
        )
    rng = np.random.default_rng(options.known_seed)
    seen = evidence_of(draws, account, level=level, rng=rng)
    notes = [*draws.notes, *contents.notes, *_notes(seen, account)]
    mistakes = [*mistakes_of_draws(seen, account), *contents.mistakes]
    known_start = False
    if account.sampling not in (FULL, UNKNOWN) and draws.known:
        if maker.repeats:
            fixed = _same_start(
                maker, draws, seen, options, time.perf_counter() + budget, calls=rhythm.calls
            )
            if fixed is not None and fixed.kind not in {one.kind for one in mistakes}:
                mistakes.append(fixed)
            known_start = fixed is not None
        else:
            notes.append("no second training could be made, so a fixed seed was not looked for")
    compared = account.sampling == FULL or (
        account.sampling != UNKNOWN and (draws.counted or draws.known)
    )
    return CheckResult(
        name="sampler",
        false_alarm_rate=options.rate_of_a_check,
        mistakes=tuple(mistakes),
        measured=(*_measured(draws, seen, account), *contents.measured),
        bounds=tuple(
            bounds_of_draws(
                training, Found(seen=seen, mistakes=tuple(mistakes), known=known_start), options
            )
        ),
        notes=tuple(notes),
        inconclusive="" if compared else _NOT_COMPARED,
        spent=rates.spent,
        seconds=time.perf_counter() - began,
    )


def _rhythm(maker: TrainingMaker, options: TrainingOptions, until: float) -> Rhythm:
    """How many batches an update is made from; one, where the steps cannot say."""
    seed_everything(options.known_seed)
    try:
        return rhythm_of(maker.fresh(), until=until)
    except ValueError:
        return Rhythm()
    finally:
        seed_everything(options.known_seed)


def _without_draws(contents: Contents, options: TrainingOptions, began: float) -> CheckResult:
    """Nothing was drawn; the contents of records may have been compared all the same."""
    return CheckResult(
        name="sampler",
        false_alarm_rate=options.rate_of_a_check,
        mistakes=contents.mistakes,
        measured=contents.measured,
        notes=contents.notes,
        skipped=""
        if contents.mistakes
        else "the loader yielded no batches that could be looked at",
        seconds=time.perf_counter() - began,
    )


def _same_start(
    maker: TrainingMaker,
    draws: Draws,
    seen: DrawEvidence,
    options: TrainingOptions,
    until: float,
    *,
    calls: int,
) -> Mistake | None:
    """Whether another training, with other global seeds, draws the same batches."""
    seed_everything(options.known_seed + 1)
    second = maker.fresh()
    seed_everything(options.known_seed + 1)
    other = see_draws(
        second, until=until, batches=_BATCHES_OF_A_START, calls=calls, level=seen.level
    )
    if other is None or not other.known or other.records != draws.records:
        return None
    in_epochs = seen.once
    p, same, compared = draw_tests.again_at_each_start(
        _independent(draws, in_epochs), _independent(other, in_epochs), draws.records
    )
    if p >= seen.level or same < _MOST * compared:
        return None
    batches = how_many(compared, "batch", "batches")
    return mistake_of(MistakeKind.REPEATED_BATCHES, "start", same=same, compared=batches)


def _independent(draws: Draws, in_epochs: bool) -> list[Positions]:
    """Batches that are independent of each other: all, or the first of each epoch."""
    return [epoch[0] for epoch in draws.epochs if epoch] if in_epochs else draws.batches


def _notes(seen: DrawEvidence, account: Told) -> Iterator[str]:
    draws = seen.draws
    if account.sampling in (FULL, UNKNOWN):
        yield "the event says nothing of how batches are drawn, so that was not compared"
    if draws.strange:
        yield f"{draws.strange} drawn records are none of the training records"
    known = draws.counted and draws.units and account.sampling == POISSON
    if known and account.rate is not None and seen.rate < account.rate:
        upper = 1.05 * seen.rate
        if upper < account.rate:
            yield (
                f"records are drawn at a rate of about {seen.rate:.4g}, less than the "
                f"{account.rate:.4g} that was accounted for: that is safe"
            )
    if draws.known and len(draws.sizes):
        never = draws.records - len(np.unique(np.concatenate(draws.batches)))
        if never > _NEVER * draws.records and seen.rate * len(draws.sizes) > _EXPECTED:
            yield f"{how_many(never, 'record')} of {draws.records} were never drawn"


def _measured(draws: Draws, seen: DrawEvidence, account: Told) -> Iterator[tuple[str, str]]:
    sizes = draws.sizes
    yield (
        "batches",
        f"{len(sizes)} in {how_many(len(draws.epochs), 'epoch')}, seen by {draws.source}",
    )
    yield "sizes", f"{int(sizes.min())} to {int(sizes.max())}, {float(sizes.mean()):.4g} on average"
    if account.rate is not None and draws.counted:
        yield "sampling rate", f"{seen.rate:.4g} (estimate); told {account.rate:.4g}"


_SHOWN = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """What is known of the content of records."""

    mistakes: tuple[Mistake, ...] = ()  # Held-out records that are trained on
    measured: tuple[tuple[str, str], ...] = ()  # What was compared
    notes: tuple[str, ...] = ()  # What could not be compared, and records that are there twice


def look_at_contents(
    training: PrivateTraining,  # Its ``records``, ``held_out`` and ``loader`` are read
    *,
    until: float,  # When to stop, by the clock of ``time.perf_counter``
) -> Contents:
    """Compare held-out records with training records and with the batches, by their bytes."""
    if training.records is None:
        trained: list[Key] | None = None
        parts = None
    else:
        parts = parts_of(training.records)
        if training.held_out is not None:
            parts = min(filter(None, (parts, parts_of(training.held_out))), default=None)
        trained = keys_of_records(training.records, parts=parts, until=until)
    notes = []
    again = 0 if trained is None else repeated_records(trained)
    if trained is not None and again:
        notes.append(
            f"{how_many(again, 'record')} of {len(trained)} have the same content as an earlier "
            "one: who is there several times is protected less, as a group is"
        )
    if training.held_out is None:
        return Contents(notes=tuple(notes))
    kept = keys_of_records(training.held_out, parts=parts, until=until)
    if kept is None:
        notes.append("held-out records could not be read, or not in the time there is")
        return Contents(notes=tuple(notes))
    if trained is None and training.records is not None:
        notes.append("training records could not all be read in the time there is")
    among = set(kept)
    places = [place for place, key in enumerate(trained or ()) if key in among]
    drawn = set(_drawn(training, parts, until))
    both = among & (set(trained or ()) | drawn)
    measured = (("held-out records", f"{len(both)} of {len(kept)} are trained on"),)
    found = tuple(_mistake(len(both), kept, places, trained)) if both else ()
    return Contents(mistakes=found, measured=measured, notes=tuple(notes))


def _drawn(training: PrivateTraining, parts: int | None, until: float) -> Iterator[Key]:
    """The records of an epoch's batches, as far as there is time."""
    for batch in training.loader:
        yield from keys_of_batch(batch, parts=parts)
        if time.perf_counter() > until:
            return


def _mistake(
    both: int, kept: list[Key], places: list[int], trained: list[Key] | None
) -> Iterator[Mistake]:
    where = "in the batches of the loader"
    if places:
        shown = ", ".join(map(str, places[:_SHOWN])) + (", ..." if len(places) > _SHOWN else "")
        where = f"among the {len(trained or ())} training records, at position {shown}"
    count = how_many(len(kept), "held-out record")
    yield mistake_of(MistakeKind.HELD_OUT_IN_TRAINING, both=both, kept=count, where=where)


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
    bound = events.at_least(
        training,
        event,
        confidence=options.confidence,
        given=f"{given}, and {events.STEP_AS_TOLD}",
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
        return events.known(noise, times=epochs), "who attacks knows the batches"
    if MistakeKind.REPEATED_BATCHES in kinds:
        # Equal batches with fresh noise are one batch with the mean of the noise.
        less = noise / math.sqrt(epochs)
        if seen.once:
            size = seen.same[1]
            event = events.shuffled(less, batch=size, records=size * batches, epochs=1)
        else:
            event = events.poisson(less, rate=seen.least_rate(confidence), updates=batches)
        return event, f"all {epochs} epochs have the same batches"
    if MistakeKind.SHUFFLED in kinds:
        size = seen.same[1]
        return (
            events.shuffled(noise, batch=size, records=size * batches, epochs=epochs),
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
        events.poisson(noise, rate=rate, updates=updates),
        f"batches are Poisson samples at a rate of at least {rounded_down(rate)}",
    )


def _least(one: Favoured, confidence: float) -> float:
    """A lower confidence limit of the rate of some records, for all sets of them together."""
    trials = one.records * one.batches
    if one.inclusions == 0:
        return 0.0
    failure = (1.0 - confidence) / one.sets
    return float(stats.beta.ppf(failure, one.inclusions, trials - one.inclusions + 1))
