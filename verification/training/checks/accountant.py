"""The third check: does the accountant know what the training does?

Updates are counted where they reach the optimiser, and compared with the accountant's history, with
the event, and with the claim.
"""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

from scipy import stats

import rdpkit
from rdpkit import Event
from rdpkit.adjacency import Adjacency
from rdpkit.formats.numbers import how_many, rounded_down, rounded_up
from rdpkit.pairs.claim_check import Soundness
from rdpkit.verification.blackbox.mistakes import (
    Mistake,
    MistakeKind,
    first_of_each_kind,
    mistake_of,
)
from rdpkit.verification.training import events
from rdpkit.verification.training.batches import count_of
from rdpkit.verification.training.checks.checking import Checking
from rdpkit.verification.training.checks.moment import look_at
from rdpkit.verification.training.events import FULL, POISSON, TRUNCATED, Told, told
from rdpkit.verification.training.options import TrainingOptions
from rdpkit.verification.training.results import CheckResult, TrainingLowerBound
from rdpkit.verification.training.state import TrainingState, seed_everything
from rdpkit.verification.training.trainer import PrivateTraining, TrainingMaker
from rdpkit.verification.training.updates import (
    Counted,
    Rhythm,
    count_steps,
    count_training,
    history_of,
    rhythm_of,
)

_SHARE_OF_TIME = 0.07
_MOST_BATCHES = 100
_NOT_COUNTED = (
    "train() was ended before it could make more updates than were accounted for, so these were "
    "not counted. Give it more seconds, or a shorter training"
)
_TOLERANCE = 1e-6
# How far the estimated noise may be below what pays for several updates: a little, and so many
# standard errors.
_NEAR, _ERRORS = 1.02, 5.0
# Relative, for sampling rates: one over the length of a loader is rounded to whole batches.
_RATE_TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """What was counted, beside what was said."""

    training: PrivateTraining
    account: Told
    steps: Counted  # From batches that were handed to the step
    run: Counted | None  # In the training's own function
    rhythm: Rhythm

    @property
    def too_many(self) -> bool:
        """Whether the training makes more updates than were told."""
        told = self.account.updates
        return self.run is not None and told is not None and self.run.updates > told

    @property
    def records(self) -> int | None:
        """How many records there are, or users, if the event speaks of these."""
        counts = (self.account.records, count_of(self.training.records))
        return min((count for count in counts if count is not None), default=None)

    def with_updates(self, updates: int) -> Event | None:
        """What was told, with another number of updates; None but for Poisson samples."""
        noise, rate = self.account.noise_multiplier, self.account.rate
        if noise is None or rate is None or self.account.sampling != POISSON:
            return None
        return events.poisson(noise, rate=rate, updates=updates)

    def both(self, updates: int) -> str:
        """Both epsilons in words, if they can be computed."""
        event = self.with_updates(updates)
        said = events.upper(self.training, self.training.event)
        really = None if event is None else events.at_least(self.training, event)
        if said is None or really is None:
            return ""
        return (
            f": epsilon {rounded_down(really.epsilon)} at least (lower bound), where "
            f"{rounded_up(said)} (upper bound) was accounted for, at {self.training.at}"
        )


def check_accountant(maker: TrainingMaker, options: TrainingOptions) -> CheckResult:
    """Check whether the accountant counts the updates that are made, and the claim follows.

    Guarantee
    ---------
    A training whose updates, history, delta and claim agree with its event is rejected with
    probability at most ``options.rate_of_a_check``. All of it is counted, and has a false-alarm
    rate of 0, but for the number of records in an update, which is random with Poisson samples.
    """
    work = Checking("accountant", maker, options)
    training = work.fresh()
    account = told(training.event)
    level = work.rates.equally("records of an update")
    state = TrainingState(training)
    rhythm = rhythm_of(work.fresh(), until=work.until(0.3 * _SHARE_OF_TIME))
    seed_everything(work.seed)
    most = min(_MOST_BATCHES, rhythm.calls * (account.updates or _MOST_BATCHES))
    until = work.until(_SHARE_OF_TIME)
    steps = count_steps(training, most=most, calls=rhythm.calls, until=until)
    told_of_noise = list(_noise_mistakes(training, steps, account))
    state.restore()
    run = _run(work, training, leading=rhythm.first)
    share = _share_of_updates(work, rhythm, account)
    for counted in filter(None, (steps, run)):
        counted.updates = math.ceil(share * counted.updates - 1e-9)
    seen = _Seen(training=training, account=account, steps=steps, run=run, rhythm=rhythm)
    mistakes = [
        *_count_mistakes(seen),
        *_batch_mistakes(seen, level),
        *told_of_noise,
        *_seed_mistakes(work, run, leading=rhythm.first),
        *_claim_mistakes(seen, work.notes),
    ]
    ended = run is not None and not run.whole and account.updates is not None
    return work.result(
        mistakes=first_of_each_kind(mistakes),
        measured=_measured(seen),
        bounds=[_bound(seen)],
        inconclusive=_NOT_COUNTED if ended and not seen.too_many else "",
    )


def _share_of_updates(work: Checking, rhythm: Rhythm, account: Told) -> float:
    """How many of the updates of optimisers are counted, where a batch makes several.

    Those that use no record are not, and those of one batch are one, if their noise pays for all.
    """
    if rhythm.public:
        work.notes.append(f"{len(rhythm.public)} of {rhythm.rounds} updates of a step use no batch")
    if rhythm.private == 1 or account.noise_multiplier is None:
        return rhythm.private / rhythm.rounds
    until = work.until(_SHARE_OF_TIME)
    moment = look_at(
        work.maker.fresh(), rhythm, seed=work.seed, until=until, level=work.options.rate_of_a_check
    )
    each = moment.noise.typical / (account.noise_multiplier * math.sqrt(rhythm.private))
    error = math.sqrt(0.5 / max(1, moment.noise.freedom))
    # Where no record was seen to matter, nothing shows that the noise pays for more than one.
    seen = moment.found and moment.farthest() > 0.0
    if not seen or moment.farthest() > (_NEAR + _ERRORS * error) * each:
        return rhythm.private / rhythm.rounds
    work.notes.append(
        f"{rhythm.private} updates are made from one batch with the noise of one and more, and "
        "were counted as one"
    )
    return 1.0 / rhythm.rounds


def _run(work: Checking, training: PrivateTraining, *, leading: int) -> Counted | None:
    """The whole training, if it has a function for that and can be ended."""
    if training.train is None:
        return None
    if training.model is None:
        work.notes.append("train() was not run: without torch, updates in it cannot be counted")
        return None
    fresh = work.fresh()
    seed_everything(work.seed)
    state = TrainingState(fresh)
    found = count_training(fresh, until=work.until(_SHARE_OF_TIME), leading=leading)
    state.restore()
    if not found.whole:
        work.notes.append(
            f"train() was ended after {how_many(found.updates, 'update')}, when its time was over"
        )
    return found


def _seed_mistakes(work: Checking, run: Counted | None, *, leading: int) -> Iterator[Mistake]:
    """A seed that ``train`` sets: its first update is the same whatever was seeded before it."""
    if run is None or not run.first or not work.maker.repeats:
        return
    # The same weights at the beginning, and other random numbers from there.
    fresh = work.fresh()
    seed_everything(work.seed + 1)
    if count_training(fresh, most=1 + leading, leading=leading).first == run.first:
        yield mistake_of(MistakeKind.NOISE_FIXED_SEED, "train")


def _count_mistakes(seen: _Seen) -> Iterator[Mistake]:
    """More updates than the event, the history or the batches allow for."""
    miscounted, steps, allowed = MistakeKind.STEPS_MISCOUNTED, seen.steps, seen.account.updates
    if seen.run is not None and seen.too_many:
        yield mistake_of(
            miscounted,
            "train",
            least="" if seen.run.whole else "at least ",
            made=how_many(seen.run.updates, "noisy update"),
            told=allowed,
            both=seen.both(seen.run.updates),
        )
    has_history = history_of(seen.training) is not None
    for counted in (steps, seen.run):
        if counted is None or not has_history or counted.told >= counted.updates:
            continue
        batches = how_many(counted.batches, "batch", "batches")
        where = f"{batches} made" if counted.batches else "train() made"
        made = how_many(counted.updates, "noisy update")
        if counted.told == 0:
            yield mistake_of(MistakeKind.ACCOUNTANT_NOT_TOLD, "none", where=where, made=made)
        else:
            yield mistake_of(miscounted, "history", where=where, made=made, told=counted.told)
    if steps.updates > steps.batches and seen.account.sampling != FULL:
        each = steps.updates / steps.batches
        yield mistake_of(
            miscounted,
            "several",
            batches=how_many(steps.batches, "batch", "batches"),
            updates=steps.updates,
            each=each,
            both="" if allowed is None else seen.both(round(each * allowed)),
        )


def _batch_mistakes(seen: _Seen, level: float) -> Iterator[Mistake]:
    """Updates that are made of more records than a batch that was accounted for."""
    steps, count = seen.steps, seen.records
    rate, sampling = seen.account.rate, seen.account.sampling
    accumulates = seen.rhythm.regular and seen.rhythm.calls > 1
    if rate is None or count is None or sampling == FULL or not accumulates:
        return
    if not 0 < steps.updates < steps.batches:
        return
    trials = count * steps.updates
    above = (
        stats.binom.sf(steps.records - 1, trials, rate) < level
        if sampling in (POISSON, TRUNCATED)
        else steps.records > trials * rate * (1.0 + _TOLERANCE)
    )
    if above:
        yield mistake_of(
            MistakeKind.STEPS_MISCOUNTED,
            "accumulated",
            batches=steps.batches / steps.updates,
            records=steps.records / steps.updates,
            all=count,
            rate=rate,
            told=rate * count,
        )


def _noise_mistakes(training: PrivateTraining, steps: Counted, account: Told) -> Iterator[Mistake]:
    """A history that speaks of another noise or another rate than there is."""
    if not steps.history:
        return
    noise = min(entry[0] for entry in steps.history)
    rate = max(entry[1] for entry in steps.history)
    own, said = min(steps.multipliers, default=0.0), account.noise_multiplier
    loader = getattr(training.loader, "sample_rate", None)
    found = []
    if steps.multipliers and noise > own * (1.0 + _TOLERANCE):
        found.append(
            f"the optimiser adds noise with the multiplier {own:.4g}, and its history "
            f"says {noise:.4g}"
        )
    if said is not None and said > noise * (1.0 + _TOLERANCE):
        found.append(
            f"the event says a noise multiplier of {said:.4g}, and its history {noise:.4g}"
        )
    if isinstance(loader, int | float) and rate * (1.0 + _RATE_TOLERANCE) < loader:
        found.append(f"the loader draws at a rate of {loader:.4g}, and its history says {rate:.4g}")
    if account.rate is not None and account.rate * (1.0 + 1.0 / 50.0) < rate:
        found.append(
            f"the event says a sampling rate of {account.rate:.4g}, and its history {rate:.4g}"
        )
    if found:
        yield mistake_of(MistakeKind.ACCOUNTANT_NOT_TOLD, "differs", found="; ".join(found))


def _claim_mistakes(seen: _Seen, notes: list[str]) -> Iterator[Mistake]:
    """A large delta, a claim that does not follow from the event, and what is printed instead."""
    training, count = seen.training, seen.records
    delta, claimed, event = training.delta, training.epsilon, training.event
    if not count:
        notes.append("the number of records is not known, so delta was not compared with it")
    elif delta >= 1.0 / count:
        kind, one, tenth = MistakeKind.DELTA_TOO_LARGE, 1.0 / count, 0.1 / count
        yield mistake_of(kind, delta=delta, count=count, one=one, tenth=tenth)
    elif delta > 0.1 / count:
        notes.append(
            f"delta = {delta:.4g} is above a tenth of one over the number of records "
            f"({count}); smaller is usual"
        )
    if claimed is not None:
        try:
            found = rdpkit.check(event, epsilon=claimed, delta=delta, adjacency=training.adjacency)
        except (ValueError, ArithmeticError) as error:
            notes.append(f"the claim could not be compared with the event: {error}")
        else:
            upper = rounded_up(found.upper.epsilon)
            if found.soundness is Soundness.REFUTED:
                assert found.lower is not None
                yield mistake_of(
                    MistakeKind.CLAIM_TOO_SMALL,
                    "event",
                    claimed=claimed,
                    at=training.at,
                    lower=rounded_down(found.lower.epsilon),
                    upper=upper,
                )
            elif found.soundness is Soundness.UNPROVEN:
                notes.append(
                    f"the claimed epsilon {claimed:g} at {training.at} is not proven: at most "
                    f"{upper} (upper bound) follows from the event"
                )
    yield from _printed_mistakes(seen, notes)


def _printed_mistakes(seen: _Seen, notes: list[str]) -> Iterator[Mistake]:
    """What the accountant itself says of the whole training."""
    training, updates = seen.training, seen.account.updates
    ask = getattr(training.accountant, "get_epsilon", None)
    if ask is None or training.adjacency is not Adjacency.ADD_OR_REMOVE_ONE:
        return
    if len(seen.steps.history) != 1 or updates is None:
        return
    noise, rate, _ = seen.steps.history[0]
    try:
        asked = copy.deepcopy(training.accountant)
        asked.history = [(noise, rate, updates)]
        with warnings.catch_warnings(action="ignore"):
            printed = float(asked.get_epsilon(delta=training.delta))
    except Exception as error:
        notes.append(
            f"the accountant's get_epsilon raised {type(error).__name__}: {error}, so what it "
            "prints was not compared"
        )
        return
    least = events.at_least(training, events.poisson(noise, rate=rate, updates=updates))
    if least is not None and printed < least.epsilon * (1.0 - 1e-4):
        yield mistake_of(
            MistakeKind.CLAIM_TOO_SMALL,
            "printed",
            printed=printed,
            at=training.at,
            updates=updates,
            noise=noise,
            rate=rate,
            lower=rounded_down(least.epsilon),
        )


def _measured(seen: _Seen) -> Iterator[tuple[str, str]]:
    training, steps, run, allowed = seen.training, seen.steps, seen.run, seen.account.updates
    said = f"{steps.told} in the history" if history_of(training) is not None else "no history"
    yield "updates", f"{steps.updates} from {how_many(steps.batches, 'batch', 'batches')}, {said}"
    if run is not None:
        known = "" if allowed is None else f"; told {allowed}"
        yield "whole training", f"{'' if run.whole else 'at least '}{run.updates} updates{known}"
    upper = events.upper(training, training.event)
    if upper is not None:
        claimed = "" if training.epsilon is None else f"; claimed {training.epsilon:g}"
        value = f"at most {rounded_up(upper)} at {training.at} (upper bound){claimed}"
        yield "epsilon of the event", value


def _bound(seen: _Seen) -> TrainingLowerBound | None:
    """What follows at least from the event, with the updates that are really made."""
    event, given = seen.training.event, "steps and batches are what was told"
    if seen.run is not None and seen.too_many:
        really = seen.with_updates(seen.run.updates)
        if really is not None:
            event, given = really, f"each of {seen.run.updates} updates is what was told"
    return events.at_least(seen.training, event, given=given)
