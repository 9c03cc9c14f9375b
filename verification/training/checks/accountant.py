"""The third check: does the accountant know what the training does?

Updates are counted where they reach the optimiser, and compared with the accountant's history, with
the event, and with the claim.
"""

from __future__ import annotations

import copy
import math
import time
import warnings
from collections.abc import Iterator

from scipy import stats

import rdpkit
from rdpkit.adjacency import Adjacency
from rdpkit.formats.numbers import how_many, rounded_down, rounded_up
from rdpkit.pairs.claim_check import Soundness
from rdpkit.verification.blackbox.mistakes import (
    Mistake,
    MistakeKind,
    first_of_each_kind,
    mistake_of,
)
from rdpkit.verification.estimators.error_budget import ErrorBudget
from rdpkit.verification.training import events
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


def check_accountant(maker: TrainingMaker, options: TrainingOptions) -> CheckResult:
    """Check whether the accountant counts the updates that are made, and the claim follows.

    Guarantee
    ---------
    A training whose updates, history, delta and claim agree with its event is rejected with
    probability at most ``options.rate_of_a_check``. All of it is counted, and has a false-alarm
    rate of 0, but for the number of records in an update, which is random with Poisson samples.
    """
    began = time.perf_counter()
    seed_everything(options.known_seed)
    training = maker.fresh()
    account = told(training.event)
    notes: list[str] = []
    rates = ErrorBudget(options.rate_of_a_check)
    level = rates.equally("records of an update")
    budget = _SHARE_OF_TIME * options.seconds
    state = TrainingState(training)
    seed_everything(options.known_seed)
    rhythm = rhythm_of(maker.fresh(), until=began + 0.3 * budget)
    seed_everything(options.known_seed)
    most = min(_MOST_BATCHES, rhythm.calls * (account.updates or _MOST_BATCHES))
    steps = count_steps(training, most=most, calls=rhythm.calls, until=time.perf_counter() + budget)
    told_of_noise = list(_noise_mistakes(training, steps, account))
    state.restore()
    run = _run(maker, training, options, notes, budget, before=rhythm.first)
    share = _share_of_updates(maker, rhythm, account, options, notes)
    steps = steps.times(share)
    run = None if run is None else run.times(share)
    mistakes = [
        *_count_mistakes(training, account, steps, run),
        *_batch_mistakes(training, account, steps, level, rhythm),
        *told_of_noise,
        *_seed_mistakes(maker, run, options, before=rhythm.first),
        *_delta_mistakes(training, notes),
        *_claim_mistakes(training, notes),
        *_printed_mistakes(training, account, steps, notes),
    ]
    allowed = account.updates
    ended = run is not None and not run.whole and allowed is not None and run.updates <= allowed
    return CheckResult(
        name="accountant",
        false_alarm_rate=options.rate_of_a_check,
        mistakes=first_of_each_kind(mistakes),
        measured=tuple(_measured(training, account, steps, run)),
        bounds=tuple(_bounds(training, account, run)),
        notes=tuple(notes),
        inconclusive=_NOT_COUNTED if ended else "",
        spent=rates.spent,
        seconds=time.perf_counter() - began,
    )


def _share_of_updates(
    maker: TrainingMaker, rhythm: Rhythm, account: Told, options: TrainingOptions, notes: list[str]
) -> float:
    """How many of the updates of optimisers are counted, where a batch makes several.

    Those that use no record are not, and those of one batch are one, if their noise pays for all.
    """
    if rhythm.public:
        notes.append(f"{len(rhythm.public)} of {rhythm.rounds} updates of a step use no batch")
    if rhythm.private == 1 or account.noise_multiplier is None:
        return rhythm.private / rhythm.rounds
    until = time.perf_counter() + _SHARE_OF_TIME * options.seconds
    moment = look_at(maker.fresh(), rhythm, options, [], until=until)
    each = moment.noise.typical / (account.noise_multiplier * math.sqrt(rhythm.private))
    error = math.sqrt(0.5 / max(1, moment.noise.freedom))
    # Where no record was seen to matter, nothing shows that the noise pays for more than one.
    seen = moment.found and moment.farthest > 0.0
    if not seen or moment.farthest > (_NEAR + _ERRORS * error) * each:
        return rhythm.private / rhythm.rounds
    notes.append(
        f"{rhythm.private} updates are made from one batch with the noise of one and more, and "
        "were counted as one"
    )
    return 1.0 / rhythm.rounds


def _run(
    maker: TrainingMaker,
    training: PrivateTraining,
    options: TrainingOptions,
    notes: list[str],
    budget: float,
    *,
    before: int,
) -> Counted | None:
    """The whole training, if it has a function for that and can be ended."""
    if training.train is None:
        return None
    if training.model is None:
        notes.append("train() was not run: without torch, updates in it cannot be counted")
        return None
    seed_everything(options.known_seed)
    fresh = maker.fresh()
    seed_everything(options.known_seed)
    state = TrainingState(fresh)
    found = count_training(fresh, until=time.perf_counter() + budget, leading=before)
    state.restore()
    if not found.whole:
        notes.append(
            f"train() was ended after {how_many(found.updates, 'update')}, when its time was over"
        )
    return found


def _seed_mistakes(
    maker: TrainingMaker, run: Counted | None, options: TrainingOptions, *, before: int
) -> Iterator[Mistake]:
    """A seed that ``train`` sets: its first update is the same whatever was seeded before it."""
    if run is None or not run.first or not maker.repeats:
        return
    # The same weights at the beginning, and other random numbers from there.
    seed_everything(options.known_seed)
    fresh = maker.fresh()
    seed_everything(options.known_seed + 1)
    again = count_training(fresh, until=math.inf, most=1 + before, leading=before)
    if again.first == run.first:
        yield mistake_of(MistakeKind.NOISE_FIXED_SEED, "train")


def _count_mistakes(
    training: PrivateTraining, account: Told, steps: Counted, run: Counted | None
) -> Iterator[Mistake]:
    """More updates than the event, the history or the batches allow for."""
    miscounted = MistakeKind.STEPS_MISCOUNTED
    if run is not None and account.updates is not None and run.updates > account.updates:
        yield mistake_of(
            miscounted,
            "train",
            least="" if run.whole else "at least ",
            made=how_many(run.updates, "noisy update"),
            told=account.updates,
            both=_both(training, account, run.updates),
        )
    has_history = history_of(training) is not None
    for counted in (steps, run):
        if counted is None or not has_history or counted.told >= counted.updates:
            continue
        seen = how_many(counted.batches, "batch", "batches")
        where = f"{seen} made" if counted.batches else "train() made"
        made = how_many(counted.updates, "noisy update")
        if counted.told == 0:
            kind = MistakeKind.ACCOUNTANT_NOT_TOLD
            yield mistake_of(kind, "none", where=where, made=made)
        else:
            yield mistake_of(miscounted, "history", where=where, made=made, told=counted.told)
    if steps.updates > steps.batches and account.sampling != FULL:
        each = steps.updates / steps.batches
        updates = None if account.updates is None else round(each * account.updates)
        yield mistake_of(
            miscounted,
            "several",
            batches=how_many(steps.batches, "batch", "batches"),
            updates=steps.updates,
            each=each,
            both="" if updates is None else _both(training, account, updates),
        )


def _both(training: PrivateTraining, account: Told, updates: int) -> str:
    """Both epsilons in words, if they can be computed."""
    if account.noise_multiplier is None or account.rate is None or account.sampling != POISSON:
        return ""
    said = events.upper(training.event, delta=training.delta, adjacency=training.adjacency)
    really = events.at_least(
        training,
        events.poisson(account.noise_multiplier, rate=account.rate, updates=updates),
        confidence=1.0,
        given="",
    )
    if said is None or really is None:
        return ""
    return (
        f": epsilon {rounded_down(really.epsilon)} at least (lower bound), where "
        f"{rounded_up(said)} (upper bound) was accounted for"
    )


def _batch_mistakes(
    training: PrivateTraining, account: Told, steps: Counted, level: float, rhythm: Rhythm
) -> Iterator[Mistake]:
    """Updates that are made of more records than a batch that was accounted for."""
    accumulates = rhythm.regular and rhythm.calls > 1
    if account.rate is None or not accumulates or not 0 < steps.updates < steps.batches:
        return
    count = _records(training)
    if count is None or account.sampling == FULL:
        return
    trials = count * steps.updates
    random = account.sampling in (POISSON, TRUNCATED)
    above = (
        stats.binom.sf(steps.records - 1, trials, account.rate) < level
        if random
        else steps.records > trials * account.rate * (1.0 + _TOLERANCE)
    )
    if above:
        yield mistake_of(
            MistakeKind.STEPS_MISCOUNTED,
            "accumulated",
            batches=steps.batches / steps.updates,
            records=steps.records / steps.updates,
            all=count,
            rate=account.rate,
            told=account.rate * count,
        )


def _records(training: PrivateTraining) -> int | None:
    said = told(training.event).records
    there = _length(training)
    # Where several records belong to one user, the event speaks of users.
    return min((count for count in (said, there) if count is not None), default=None)


def _length(training: PrivateTraining) -> int | None:
    columns = training.records
    if isinstance(columns, tuple | dict):
        parts = list(columns.values()) if isinstance(columns, dict) else list(columns)
        if parts and all(hasattr(part, "shape") for part in parts):
            return len(parts[0])
    try:
        return len(columns)
    except TypeError:
        return None


def _noise_mistakes(training: PrivateTraining, steps: Counted, account: Told) -> Iterator[Mistake]:
    """A history that speaks of another noise or another rate than there is."""
    if not steps.history:
        return
    noise = min(entry[0] for entry in steps.history)
    rate = max(entry[1] for entry in steps.history)
    own = min(steps.multipliers, default=None)
    found = []
    if own is not None and noise > own * (1.0 + _TOLERANCE):
        found.append(
            f"the optimiser adds noise with the multiplier {own:.4g}, and its history "
            f"says {noise:.4g}"
        )
    if account.noise_multiplier is not None and (
        account.noise_multiplier > noise * (1.0 + _TOLERANCE)
    ):
        found.append(
            f"the event says a noise multiplier of {account.noise_multiplier:.4g}, and "
            f"its history {noise:.4g}"
        )
    loader = getattr(training.loader, "sample_rate", None)
    if isinstance(loader, int | float) and rate * (1.0 + _RATE_TOLERANCE) < loader:
        found.append(f"the loader draws at a rate of {loader:.4g}, and its history says {rate:.4g}")
    if account.rate is not None and account.rate * (1.0 + 1.0 / 50.0) < rate:
        found.append(
            f"the event says a sampling rate of {account.rate:.4g}, and its history {rate:.4g}"
        )
    if found:
        kind = MistakeKind.ACCOUNTANT_NOT_TOLD
        yield mistake_of(kind, "differs", found="; ".join(found))


def _delta_mistakes(training: PrivateTraining, notes: list[str]) -> Iterator[Mistake]:
    count = _records(training)
    if not count:
        notes.append("the number of records is not known, so delta was not compared with it")
        return
    if training.delta >= 1.0 / count:
        yield mistake_of(
            MistakeKind.DELTA_TOO_LARGE,
            delta=training.delta,
            count=count,
            one=1.0 / count,
            tenth=0.1 / count,
        )
    elif training.delta > 0.1 / count:
        notes.append(
            f"delta = {training.delta:.4g} is above a tenth of one over the number of records "
            f"({count}); smaller is usual"
        )


def _claim_mistakes(training: PrivateTraining, notes: list[str]) -> Iterator[Mistake]:
    """A claim that does not follow from the event."""
    if training.epsilon is None:
        return
    try:
        found = rdpkit.check(
            training.event,
            epsilon=training.epsilon,
            delta=training.delta,
            adjacency=training.adjacency,
        )
    except (ValueError, ArithmeticError) as error:
        notes.append(f"the claim could not be compared with the event: {error}")
        return
    if found.soundness is Soundness.REFUTED:
        assert found.lower is not None
        yield mistake_of(
            MistakeKind.CLAIM_TOO_SMALL,
            "event",
            claimed=training.epsilon,
            delta=training.delta,
            lower=rounded_down(found.lower.epsilon),
            upper=rounded_up(found.upper.epsilon),
        )
    elif found.soundness is Soundness.UNPROVEN:
        notes.append(
            f"the claimed epsilon {training.epsilon:g} is not proven: at most "
            f"{rounded_up(found.upper.epsilon)} (upper bound) follows from the event"
        )


def _printed_mistakes(
    training: PrivateTraining, account: Told, steps: Counted, notes: list[str]
) -> Iterator[Mistake]:
    """What the accountant itself says of the whole training."""
    ask = getattr(training.accountant, "get_epsilon", None)
    if ask is None or training.adjacency is not Adjacency.ADD_OR_REMOVE_ONE:
        return
    if len(steps.history) != 1 or account.updates is None:
        return
    noise, rate, _ = steps.history[0]
    try:
        asked = copy.deepcopy(training.accountant)
        asked.history = [(noise, rate, account.updates)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            printed = float(asked.get_epsilon(delta=training.delta))
    except Exception as error:
        notes.append(
            f"the accountant's get_epsilon raised {type(error).__name__}: {error}, so what it "
            "prints was not compared"
        )
        return
    event = events.poisson(noise, rate=rate, updates=account.updates)
    least = events.at_least(training, event, confidence=1.0, given="")
    if least is not None and printed < least.epsilon * (1.0 - 1e-4):
        yield mistake_of(
            MistakeKind.CLAIM_TOO_SMALL,
            "printed",
            printed=printed,
            updates=account.updates,
            noise=noise,
            rate=rate,
            lower=rounded_down(least.epsilon),
        )


def _measured(
    training: PrivateTraining, account: Told, steps: Counted, run: Counted | None
) -> Iterator[tuple[str, str]]:
    said = "no history" if history_of(training) is None else f"{steps.told} in the history"
    yield ("updates", f"{steps.updates} from {how_many(steps.batches, 'batch', 'batches')}, {said}")
    if run is not None:
        known = "" if account.updates is None else f"; told {account.updates}"
        yield "whole training", f"{'' if run.whole else 'at least '}{run.updates} updates{known}"
    upper = events.upper(training.event, delta=training.delta, adjacency=training.adjacency)
    if upper is not None:
        claimed = "" if training.epsilon is None else f"; claimed {training.epsilon:g}"
        yield "epsilon of the event", f"at most {rounded_up(upper)} (upper bound){claimed}"


def _bounds(
    training: PrivateTraining, account: Told, run: Counted | None
) -> Iterator[TrainingLowerBound]:
    """What follows at least from the event, with the updates that are really made."""
    event, given = training.event, "steps and batches are what was told"
    more = run is not None and account.updates is not None and run.updates > account.updates
    if (
        more
        and run is not None
        and account.sampling == POISSON
        and account.noise_multiplier is not None
        and account.rate is not None
    ):
        event = events.poisson(account.noise_multiplier, rate=account.rate, updates=run.updates)
        given = f"each of {run.updates} updates is what was told"
    found = events.at_least(training, event, confidence=1.0, given=given)
    if found is not None:
        yield found
