"""The second check: are batches drawn as the accountant was told?

The loader is iterated for several epochs, where possible without loading data, and the sizes of
batches and the records in them are compared with what the event says.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator

import numpy as np

from rdpkit.formats.numbers import how_many
from rdpkit.verification.blackbox.mistakes import Mistake, MistakeKind, mistake_of
from rdpkit.verification.estimators.error_budget import ErrorBudget
from rdpkit.verification.training.checks.held_out import Contents, look_at_contents
from rdpkit.verification.training.checks.sampling import inclusion_tests
from rdpkit.verification.training.checks.sampling.bounds import Found, bounds_of_draws
from rdpkit.verification.training.checks.sampling.draws import (
    BATCH_SAMPLER,
    Draws,
    Positions,
    see_draws,
)
from rdpkit.verification.training.checks.sampling.evidence import TESTS, DrawEvidence, evidence_of
from rdpkit.verification.training.checks.sampling.naming import mistakes_of_draws
from rdpkit.verification.training.options import TrainingOptions
from rdpkit.verification.training.results import CheckResult
from rdpkit.verification.training.rhythm import Rhythm, rhythm_of
from rdpkit.verification.training.state import TrainingState, seed_everything
from rdpkit.verification.training.told import FULL, POISSON, UNKNOWN, Told, told
from rdpkit.verification.training.trainer import TrainingMaker

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
    p, same, compared = inclusion_tests.again_at_each_start(
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
