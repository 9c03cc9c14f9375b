"""The second check: are batches drawn as the accountant was told?

The loader is iterated for several epochs, where possible without loading data, and the sizes of
batches and the records in them are compared with what the event says.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

import rdpkit
from rdpkit.formats.numbers import how_many, rounded_down
from rdpkit.verification.blackbox.mistakes import Mistake, MistakeKind, mistake_of
from rdpkit.verification.training import events
from rdpkit.verification.training.batches import Key, keys_of_batch, keys_of_records, parts_of
from rdpkit.verification.training.checks import draw_tests
from rdpkit.verification.training.checks.checking import Checking
from rdpkit.verification.training.checks.draw_evidence import (
    TESTS,
    DrawEvidence,
    evidence_of,
    mistakes_of_draws,
)
from rdpkit.verification.training.checks.draws import BATCH_SAMPLER, Draws, see_draws
from rdpkit.verification.training.events import FULL, POISSON, UNKNOWN, told
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
# Held-out records with the content of training records. How many training records have the content
# of another says how many held-out ones do, give or take so many standard deviations and records,
# and no data that are split at random go beyond that with a probability that matters.
_DEVIATIONS, _MORE_ALIKE, _NO_CHANCE = 6.0, 20.0, 1e-9
ANOTHER_START, NEVER_DRAWN = "batches of another start", "records that are never drawn"
_SHOWN = 5
_NO_BATCHES = "the loader yielded no batches that could be looked at"
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
    work = Checking("sampler", maker, options)
    training = work.fresh()
    account, state = told(training.event), TrainingState(training)
    # How many batches an update is made from; one, where the steps cannot say.
    try:
        rhythm = rhythm_of(work.fresh(), until=work.until(_SHARE_OF_TIME))
    except ValueError:
        rhythm = Rhythm()
    seed_everything(work.seed)
    level = work.rates.equally(*TESTS, NEVER_DRAWN, ANOTHER_START)
    until = work.until(_SHARE_OF_TIME)
    draws = see_draws(training, until=until, calls=rhythm.calls, level=level)
    state.restore()
    contents = _contents(work, training, until=work.until(0.5 * _SHARE_OF_TIME))
    state.restore()
    if draws is None or not len(draws.sizes):
        # The contents of records may have been compared all the same.
        return work.result(
            **contents, skipped="" if contents["mistakes"] else _NO_BATCHES, spent={}
        )
    if not rhythm.regular and draws.source != BATCH_SAMPLER:
        draws = draws.changed(_IRREGULAR, known=False, units=False)
    seen = evidence_of(draws, account, level=level, rng=np.random.default_rng(work.seed))
    notes = [*draws.notes, *work.notes, *_notes(seen)]
    mistakes = [*mistakes_of_draws(seen), *contents["mistakes"]]
    known_start = False
    if account.sampling not in (FULL, UNKNOWN) and draws.known:
        if maker.repeats:
            fixed = _same_start(work, draws, seen, calls=rhythm.calls)
            if fixed is not None and fixed.kind not in {one.kind for one in mistakes}:
                mistakes.append(fixed)
            known_start = fixed is not None
        else:
            notes.append("no second training could be made, so a fixed seed was not looked for")
    kinds = {one.kind for one in mistakes} - {MistakeKind.HELD_OUT_IN_TRAINING}
    compared = account.sampling == FULL or (
        account.sampling != UNKNOWN and (draws.counted or draws.known)
    )
    return work.result(
        mistakes=mistakes,
        measured=[*_measured(draws, seen), *contents["measured"]],
        bounds=[_bound(training, seen, kinds, options.confidence, known=known_start)],
        notes=notes,
        inconclusive="" if compared else _NOT_COMPARED,
    )


def _same_start(work: Checking, draws: Draws, seen: DrawEvidence, *, calls: int) -> Mistake | None:
    """Whether another training, with other global seeds, draws the same batches."""
    until = work.until(_SHARE_OF_TIME)
    second = work.fresh(1)
    seed_everything(work.seed + 1)
    other = see_draws(
        second, until=until, batches=_BATCHES_OF_A_START, calls=calls, level=seen.level
    )
    if other is None or not other.known or other.records != draws.records:
        return None
    first, again = (one.first_of_each_epoch if seen.once else one.batches for one in (draws, other))
    several = draws.several | other.several
    p, same, compared = draw_tests.again_at_each_start(first, again, draws.records, several)
    if p >= seen.level or same < _MOST * compared:
        return None
    batches = how_many(compared, "batch", "batches")
    return mistake_of(MistakeKind.REPEATED_BATCHES, "start", same=same, compared=batches)


def _notes(seen: DrawEvidence) -> Iterator[str]:
    draws, account = seen.draws, seen.account
    if account.sampling in (FULL, UNKNOWN):
        yield "the event says nothing of how batches are drawn, so that was not compared"
    if draws.strange:
        yield f"{draws.strange} drawn records are none of the training records"
    known = draws.counted and draws.units and account.sampling == POISSON
    if known and account.rate is not None and 1.05 * seen.rate < account.rate:
        yield (
            f"records are drawn at a rate of about {seen.rate:.4g}, less than the "
            f"{account.rate:.4g} that was accounted for: that is safe"
        )
    if draws.known and len(draws.sizes):
        never = draws.records - len(np.unique(np.concatenate(draws.batches)))
        if never > _NEVER * draws.records and seen.rate * len(draws.sizes) > _EXPECTED:
            yield f"{how_many(never, 'record')} of {draws.records} were never drawn"


def _measured(draws: Draws, seen: DrawEvidence) -> Iterator[tuple[str, str]]:
    sizes, rate, epochs = draws.sizes, seen.account.rate, how_many(len(draws.epochs), "epoch")
    yield "batches", f"{len(sizes)} in {epochs}, seen by {draws.source}"
    yield "sizes", f"{int(sizes.min())} to {int(sizes.max())}, {float(sizes.mean()):.4g} on average"
    if rate is not None and draws.counted:
        yield "sampling rate", f"{seen.rate:.4g} (estimate); told {rate:.4g}"


def _contents(work: Checking, training: PrivateTraining, *, until: float) -> dict[str, list[Any]]:
    """Compare held-out records with training records and with the batches, by their bytes.

    Returns mistakes, and what was measured.
    """
    there, held_out, notes = training.records, training.held_out, work.notes
    parts = None if there is None else parts_of(there)
    if there is not None and held_out is not None:
        parts = min(filter(None, (parts, parts_of(held_out))), default=None)
    trained = None if there is None else keys_of_records(there, parts=parts, until=until)
    kept = None if held_out is None else keys_of_records(held_out, parts=parts, until=until)
    if trained and (again := len(trained) - len(set(trained))):
        notes.append(
            f"{how_many(again, 'record')} of {len(trained)} have the same content as an earlier "
            "one: who is there several times is protected less, as a group is"
        )
    if held_out is not None and kept is None:
        notes.append("held-out records could not be read, or not in the time there is")
    if kept is None:
        return {"mistakes": [], "measured": []}
    if trained is None and there is not None:
        notes.append("training records could not all be read in the time there is")
    among = set(kept)
    places = [place for place, key in enumerate(trained or ()) if key in among]
    drawn: set[Key] = set()
    for batch in training.loader:
        drawn |= set(keys_of_batch(batch, parts=parts))
        if time.perf_counter() > until:
            break
    seen = drawn.union(trained or ())
    both, count = among & seen, how_many(len(kept), "held-out record")
    # Whoever is like others is so by chance where that is as frequent among training records.
    alike = sum(times for times in Counter(trained).values() if times > 1)
    most = alike + _DEVIATIONS * math.sqrt(alike) + _MORE_ALIKE
    share = min(1.0, most / max(1, len(trained or drawn)))
    by_chance = draw_tests.tail(sum(key in seen for key in kept), len(kept), share) > _NO_CHANCE
    if both and by_chance:
        notes.append(
            f"{len(both)} of {count} have the content of training records, which so few may have "
            "by chance: nothing shows that they are the same records"
        )
        return {"mistakes": [], "measured": []}
    where = "in the batches of the loader"
    if places:
        shown = ", ".join(map(str, places[:_SHOWN])) + (", ..." if len(places) > _SHOWN else "")
        where = f"among the {len(trained or ())} training records, at position {shown}"
    kind = MistakeKind.HELD_OUT_IN_TRAINING
    return {
        "mistakes": [mistake_of(kind, both=len(both), kept=count, where=where)] if both else [],
        "measured": [("held-out records", f"{len(both)} of {len(kept)} are trained on")],
    }


def _bound(
    training: PrivateTraining,  # Its noise and its number of updates are taken from its event
    seen: DrawEvidence,
    kinds: set[MistakeKind],  # Of mistakes that change how batches are drawn
    confidence: float,
    *,
    known: bool,  # Whether every start draws the same batches
) -> TrainingLowerBound | None:
    """A lower bound for the event that the draws show, if the steps are what was told.

    None if the event has no name.
    """
    account, size = seen.account, seen.same[1]
    noise, updates = account.noise_multiplier, account.updates
    if noise is None or not updates or account.parts > 1 or account.sampling == UNKNOWN:
        return None
    batches = max(1, round(len(seen.draws.sizes) / max(1, len(seen.draws.epochs))))
    epochs = max(1, updates // batches)
    poisson, rate = account.sampling == POISSON, seen.least_rate(confidence)
    if not kinds and not poisson:
        event, given = training.event, "batches are drawn as told"
    elif kinds and (known or (seen.in_order_of_data and seen.once)):
        event, given = events.with_noise_of(noise, count=epochs), "who attacks knows the batches"
    elif MistakeKind.REPEATED_BATCHES in kinds:
        # Equal batches with fresh noise are one batch with the mean of the noise.
        less, given = noise / math.sqrt(epochs), f"all {epochs} epochs have the same batches"
        if seen.once:
            event = events.shuffled(less, batch=size, records=size * batches, epochs=1)
        else:
            event = events.poisson(less, rate=rate, updates=batches)
    elif MistakeKind.SHUFFLED in kinds:
        event = events.shuffled(noise, batch=size, records=size * batches, epochs=epochs)
        given = f"every epoch is a shuffled order in {batches} batches"
    elif kinds == {MistakeKind.FIXED_SIZE}:
        event = rdpkit.DPSGD(
            noise_multiplier=noise,
            dataset_size=seen.draws.records,
            batch_size=max(1, size),
            steps=updates,
            sampling="fixed-size",
        )
        given = f"batches are fresh samples of {size} records"
    else:
        uneven = poisson and MistakeKind.UNEQUAL_RATES in kinds
        if uneven:
            rate = max(one.least_rate(confidence) for one in seen.favoured)
        if rate <= 0.0 or not (uneven or (poisson and kinds <= {MistakeKind.SAMPLING_RATE})):
            return None
        event = events.poisson(noise, rate=rate, updates=updates)
        given = f"batches are Poisson samples at a rate of at least {rounded_down(rate)}"
    given = f"{given}, and each update adds noise as told"
    return events.at_least(training, event, confidence=confidence, given=given)
