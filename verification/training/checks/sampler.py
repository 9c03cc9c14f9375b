"""The second check: are batches drawn as the accountant was told?

The loader is iterated for several epochs, where possible without loading data, and the sizes of
batches and the records in them are compared with what the event says.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator

import numpy as np

from rdpkit import DPSGD
from rdpkit.formats.numbers import how_many
from rdpkit.verification.training.checks import inclusion_tests
from rdpkit.verification.training.checks.draw_bounds import Found, bounds_of_draws
from rdpkit.verification.training.checks.drawn import TESTS, Seen, look
from rdpkit.verification.training.checks.draws import Draws, Positions, see_draws
from rdpkit.verification.training.checks.held_out import Contents, look_at_contents
from rdpkit.verification.training.checks.naming_draws import mistakes_of_draws
from rdpkit.verification.training.mistakes import TrainingMistake, TrainingMistakeKind
from rdpkit.verification.training.options import TrainingOptions
from rdpkit.verification.training.results import CheckResult
from rdpkit.verification.training.state import TrainingState, seed_everything
from rdpkit.verification.training.told import FULL, POISSON, UNKNOWN, Told, told
from rdpkit.verification.training.trainer import PrivateTraining, TrainingMaker

_SHARE_OF_TIME = 0.06
_BATCHES_OF_A_START = 60


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

    Parameters
    ----------
    maker : TrainingMaker
        Makes trainings that are alike.
    options : TrainingOptions
        The error rate, the time and the seed.

    Source
    ------
    rdpkit, theory page "Checks of a training".
    """
    began = time.perf_counter()
    assert options.seed is not None
    seed_everything(options.seed)
    training = maker.fresh()
    account = told(training.event)
    state = TrainingState(training)
    seed_everything(options.seed)
    budget = _SHARE_OF_TIME * options.seconds
    draws = see_draws(training, until=time.perf_counter() + budget)
    state.restore()
    contents = look_at_contents(training, until=time.perf_counter() + 0.5 * budget)
    state.restore()
    if draws is None or not len(draws.sizes):
        return _without_draws(contents, options, began)
    draws = _population(draws, training)
    rng = np.random.default_rng(options.seed)
    seen = look(draws, account, rate=options.rate_of_a_check, rng=rng)
    notes = [*draws.notes, *contents.notes, *_notes(seen, account)]
    mistakes = [*mistakes_of_draws(seen, account), *contents.mistakes]
    known_start = False
    if account.sampling not in (FULL, UNKNOWN) and draws.known:
        if maker.repeats:
            fixed = _same_start(maker, draws, seen, options, time.perf_counter() + budget)
            if fixed is not None and not _named(mistakes, TrainingMistakeKind.REPEATED_BATCHES):
                mistakes.append(fixed)
            known_start = fixed is not None
        else:
            notes.append("no second training could be made, so a fixed seed was not looked for")
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
        seconds=time.perf_counter() - began,
    )


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


def _named(mistakes: list[TrainingMistake], *kinds: TrainingMistakeKind) -> bool:
    return any(mistake.kind in kinds for mistake in mistakes)


def _population(draws: Draws, training: PrivateTraining) -> Draws:
    """The number of records from the event, if the training does not say."""
    if training.records is not None or not isinstance(training.event, DPSGD):
        return draws
    return dataclasses.replace(draws, records=max(draws.records, training.event.dataset_size))


def _same_start(
    maker: TrainingMaker,
    draws: Draws,
    seen: Seen,
    options: TrainingOptions,
    until: float,
) -> TrainingMistake | None:
    """Whether another training, with other global seeds, draws the same batches."""
    assert options.seed is not None
    seed_everything(options.seed + 1)
    second = maker.fresh()
    seed_everything(options.seed + 1)
    other = see_draws(second, until=until, batches=_BATCHES_OF_A_START)
    if other is None or not other.known:
        return None
    in_epochs = seen.once
    p, same, compared = inclusion_tests.again_at_each_start(
        _independent(draws, in_epochs), _independent(other, in_epochs), draws.records
    )
    if p >= options.rate_of_a_check / TESTS or same < 0.5 * compared:
        return None
    return TrainingMistake(
        kind=TrainingMistakeKind.REPEATED_BATCHES,
        message=f"A second training, started with other random seeds, drew the same records: "
        f"{same} of {how_many(compared, 'batch', 'batches')} are identical. The sampler has a "
        "generator of its own, and its seed is a constant.",
        advice="Seed the sampler from the operating system. Whoever knows the code knows the "
        "batches otherwise, and sampling then hides nothing.",
    )


def _independent(draws: Draws, in_epochs: bool) -> list[Positions]:
    """Batches that are independent of each other: all, or the first of each epoch."""
    return [epoch[0] for epoch in draws.epochs if epoch] if in_epochs else draws.batches


def _notes(seen: Seen, account: Told) -> Iterator[str]:
    draws = seen.draws
    if account.sampling in (FULL, UNKNOWN):
        yield "the event says nothing of how batches are drawn, so that was not compared"
    if draws.strange:
        yield f"{draws.strange} drawn records are none of the training records"
    if account.rate is not None and account.sampling == POISSON and seen.rate < account.rate:
        upper = 1.05 * seen.rate
        if upper < account.rate:
            yield (
                f"records are drawn at a rate of about {seen.rate:.4g}, less than the "
                f"{account.rate:.4g} that was accounted for: that is safe"
            )
    if draws.known and len(draws.sizes):
        never = draws.records - len(np.unique(np.concatenate(draws.batches)))
        if never > 0.02 * draws.records and seen.rate * len(draws.sizes) > 8.0:
            yield f"{how_many(never, 'record')} of {draws.records} were never drawn"


def _measured(draws: Draws, seen: Seen, account: Told) -> Iterator[tuple[str, str]]:
    sizes = draws.sizes
    yield (
        "batches",
        f"{len(sizes)} in {how_many(len(draws.epochs), 'epoch')}, seen by {draws.source}",
    )
    yield "sizes", f"{int(sizes.min())} to {int(sizes.max())}, {float(sizes.mean()):.4g} on average"
    if account.rate is not None:
        yield "sampling rate", f"{seen.rate:.4g} (estimate); told {account.rate:.4g}"


__all__ = ["check_sampler"]
