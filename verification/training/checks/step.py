"""The first check: does one step clip and add noise as was accounted for?

One step is made many times from one state. With equal seeds the noise cancels, and what a record
changes is seen exactly; with equal batches the data cancel, and the noise is seen alone. Their
ratio is the noise multiplier, in whatever units the gradients are.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

import rdpkit
from rdpkit import Event, _validate
from rdpkit.formats.numbers import how_many
from rdpkit.verification.training.batches import size
from rdpkit.verification.training.checks.carried import carried_mistakes
from rdpkit.verification.training.checks.effects import FACTORS, LARGE, SMALL, Effect, Effects
from rdpkit.verification.training.checks.naming import (
    StepEvidence,
    clipping_mistakes,
    dependence_mistakes,
)
from rdpkit.verification.training.checks.noise import (
    NoiseMeasured,
    measure_noise,
    not_gaussian,
    repeated,
    shared_noise,
)
from rdpkit.verification.training.checks.trials import Trials
from rdpkit.verification.training.error_budget import ErrorBudget
from rdpkit.verification.training.mistakes import TrainingMistake, TrainingMistakeKind
from rdpkit.verification.training.options import TrainingOptions
from rdpkit.verification.training.results import CheckResult, TrainingLowerBound
from rdpkit.verification.training.rhythm import Rhythm, rhythm_of, splits_batches
from rdpkit.verification.training.state import (
    TrainingState,
    random_numbers_kept,
    seed_everything,
)
from rdpkit.verification.training.told import POISSON, TRUNCATED, UNKNOWN, Told, told
from rdpkit.verification.training.trainer import Batch, PrivateTraining, TrainingMaker
from rdpkit.verification.training.updates import Vector

_RECORDS = 24
_PAIRS = 150
_TRIED = 6
_PAIRS_LATER, _TRIED_LATER = 24, 2
_PAIRS_BESIDE = 2
# Parts of the training after which steps are looked at again.
_MOMENTS = (0.3, 0.6, 1.0)
_FEWEST_ENTRIES = 8
_EQUAL = 1e-3
_OTHER_SEEDS = 20_000
_SAME_NOISE = 0.1
TESTS = (
    "scale of the noise",
    "noise of the first update",
    "law of the noise",
    "noise of parameters",
    "noise of consecutive updates",
    "noise of another start",
)
LATER = "noise of a later update,"
_CONSECUTIVE, _FEWEST_CONSECUTIVE = 12, 3
_SHARE_OF_TIME = 0.3
# Rounding and the small constants that libraries add to norms; a mistake is larger than this.
_TOLERANCE = 2e-3
_LEAST_MULTIPLIER = 0.05
_SCALE = TrainingMistakeKind.BATCH_DEPENDENT_SCALE
_NOT_CANCELLED = (
    "the same seed does not give the same noise with another batch (randomness from the operating "
    "system, or drawn for each record), so what one record changes was not looked at"
)
_UNEVEN = (
    "the noise is larger in some directions than in others, so its law was not held against a "
    "Gaussian's"
)
_SCALED = (
    "updates are scaled by their own size after noise was added, as Adam does, and no optimiser of "
    "torch was seen that is handed the noisy gradient; so what one record changes beside the noise "
    "was not looked at. Check the step with plain gradient descent in its place"
)
_SPARSE = (
    "random numbers decide which entries an update has, so what one record changes was not "
    "compared with the noise. Check the step with all entries, or with the same ones in each step"
)
_DIVIDED = "divided by the number of records in the batch"


def check_step(maker: TrainingMaker, options: TrainingOptions) -> CheckResult:
    """Check whether a step clips each record's gradient and adds the noise that was accounted for.

    Guarantee
    ---------
    A step that clips each record to one norm, and adds independent Gaussian noise of at least the
    told multiple of it to the sum, is rejected with probability at most
    ``options.rate_of_a_check``.

    Parameters
    ----------
    maker : TrainingMaker
        Makes trainings that are alike.
    options : TrainingOptions
        The error rate, the time and the seed.

    Raises
    ------
    ValueError
        If the step fails, or the loader yields too few records.
    """
    began = time.perf_counter()
    assert options.seed is not None
    until = began + _SHARE_OF_TIME * options.seconds
    seed_everything(options.seed)
    rhythm = rhythm_of(maker.fresh(), until=began + 0.2 * (until - began))
    seed_everything(options.seed)
    training = maker.fresh()
    budget = ErrorBudget(options.rate_of_a_check)
    level = budget.equally(*TESTS, *(f"{LATER} {place + 1}" for place in range(len(_MOMENTS))))
    notes = [*_dropout_off(training), *_rhythm_notes(rhythm)]
    moment = _moment(training, rhythm, options, notes, until=until)
    if moment.noise.nowhere:
        found = _without_noise(moment.trials, options, began, notes, width=moment.width or 1)
        return dataclasses.replace(found, spent=budget.spent)
    if moment.noise.uneven:
        notes.append(_UNEVEN)
    changed = _changed_after_noise(moment, options.seed)
    scaled = changed == _SCALED
    scales = (
        []
        if moment.noise.sparse
        else list(
            _scale_mistakes(moment, seed=options.seed, rate=level, scaled=scaled, until=until)
        )
    )
    evidence = _evidence(moment, level, divided=scales)
    mistakes = [*_carried(moment, options.seed), *scales]
    if not changed:
        mistakes += [
            *dependence_mistakes(evidence),
            *clipping_mistakes(evidence),
            *(laws := list(_law_mistakes(moment.noise, level))),
        ]
        # Entries that are the same noise are no independent evidence of what comes again.
        if TrainingMistakeKind.NOISE_SHARED not in {one.kind for one in laws}:
            mistakes += _repetition_mistakes(maker, moment, level, options.seed, notes, until=until)
    if not mistakes and not changed:
        mistakes += _later_mistakes(maker, moment, level, options, notes, until=until)
    return CheckResult(
        name="step",
        false_alarm_rate=options.rate_of_a_check,
        mistakes=_one_of_a_kind(mistakes),
        measured=tuple(_measured(evidence, moment.trials)),
        bounds=tuple(_bounds(evidence, options)) if account_is_of_a_step(moment) else (),
        notes=tuple(notes),
        inconclusive=changed or ("" if moment.found else _NOT_CANCELLED),
        spent=budget.spent,
        seconds=time.perf_counter() - began,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Moment:
    """What is seen of the steps from one state of the training."""

    trials: Trials
    width: int | None
    joins: bool
    small: Batch
    noise: NoiseMeasured
    effects: Effects
    found: list[Effect]
    account: Told

    @property
    def farthest(self) -> float:
        """How far a record moved an update at most."""
        return max(map(_length, self.found), default=0.0)

    @property
    def strongest(self) -> Batch:
        """A small batch with the record of 100 times the features that moves it farthest."""
        effects = self.effects
        large = [one for one in self.found if one.factor == FACTORS[-1]]
        place = max(large, key=_length).record if large else effects.records[0]
        joining = effects.record(place, FACTORS[-1])
        if joining is None:
            return self.small
        return effects.together(effects.bases[0][1:], joining)

    @property
    def handed(self) -> bool:
        """Whether an optimiser was seen that is handed the noisy gradient."""
        return self.noise.handed


def _length(effect: Effect) -> float:
    return float(np.linalg.norm(effect.change))


def _moment(
    training: PrivateTraining,
    rhythm: Rhythm,
    options: TrainingOptions,
    notes: list[str],
    *,
    until: float,
    pairs: int = _PAIRS,
    records: int = _TRIED,
    there: Batch | None = None,
) -> _Moment:
    """Measure the noise, and what records change, from the present state."""
    assert options.seed is not None
    seed, now = options.seed, time.perf_counter()
    account = told(training.event)
    trials = Trials(training, records=_RECORDS, rhythm=rhythm, found=there)
    width = _only_width(trials)
    joins = width is None and account.sampling in (POISSON, TRUNCATED, UNKNOWN)
    if width is not None and there is None:
        notes.append(f"the step takes no small batches, so all trials have {width} records")
        trials = Trials(training, records=2 * width + _TRIED, rhythm=rhythm)
    least = SMALL if joins else min(width or LARGE, trials.available // 2)
    small = trials.batch(*range(least))
    noise = measure_noise(trials, small, pairs=pairs, seed=seed, until=now + 0.4 * (until - now))
    effects = Effects(trials, seed=seed, joins=joins, width=width)
    found: list[Effect] = []
    if not noise.nowhere:
        cancels = trials.same_again(small, seed) and trials.draws_alike(
            small, trials.batch(*effects.bases[1], *effects.records[: int(joins)]), seed
        )
        if cancels:
            found = list(effects.all(records=records, until=until))
    return _Moment(
        trials=trials,
        width=width,
        joins=joins,
        small=small,
        noise=noise,
        effects=effects,
        found=found,
        account=account,
    )


def _evidence(
    moment: _Moment, level: float, divided: Sequence[TrainingMistake] = ()
) -> StepEvidence:
    return StepEvidence(
        effects=moment.found,
        noise=moment.noise,
        account=moment.account,
        training=moment.trials.training,
        limits=moment.noise.upper(0.5 * level),
        failure=0.5 * level / max(1, len(moment.found)),
        tolerance=_TOLERANCE,
        probe=moment.effects,
        divided=any(_DIVIDED in mistake.message for mistake in divided),
    )


def account_is_of_a_step(moment: _Moment) -> bool:
    """Whether what was told is the same for all steps."""
    return moment.account.parts == 1


def _rhythm_notes(rhythm: Rhythm) -> list[str]:
    if not rhythm.regular:
        return [
            "updates come after different numbers of calls of step(batch), so only updates that "
            "the first call makes were looked at"
        ]
    if rhythm.calls == 1:
        return []
    return [f"an update is made from {rhythm.calls} calls of step(batch), and seen as a whole"]


def _changed_after_noise(moment: _Moment, seed: int) -> str:
    """Why what a record changes beside the noise cannot be seen in updates, in words."""
    if moment.noise.sparse:
        return _SPARSE
    return _SCALED if _scaled_after_noise(moment, seed) else ""


def _scaled_after_noise(moment: _Moment, seed: int) -> bool:
    """Whether updates are changed after noise was added: scaled to one length, or cut at some.

    So they are if they have one length whatever the noise is, or entries of one size, as Adam's; if
    the two longest of them are of one length; or if the largest entries of both signs are of one
    size.
    """
    trials, effects = moment.trials, moment.effects
    batches = [moment.small, moment.small, moment.strongest, moment.strongest]
    if moment.width is None:
        batches += [effects.together(effects.bases[1][:-1], moment.strongest)] * 2
    # Equal seeds would give equal lengths where a record changes nothing.
    updates = [
        trials.update(batch, seed + _OTHER_SEEDS + place).vector
        for place, batch in enumerate(batches)
    ]
    several = updates[0].size >= _FEWEST_ENTRIES
    lengths = np.array(moment.noise.lengths)
    # Lengths vary about as one entry of the noise does, however long updates are.
    same = _EQUAL * moment.noise.typical
    if several and float(np.ptp(lengths)) < same:
        return True
    second, longest = np.sort([*lengths, *map(np.linalg.norm, updates)])[-2:]
    clamped = any(update.max() == -update.min() > 0.0 for update in updates)
    if several and (longest - second < same or clamped):
        return True
    entries = np.abs(np.concatenate(updates[:2]))
    typical = float(np.median(entries))
    near = np.abs(entries - typical) < _EQUAL * typical
    return not moment.handed and bool(near.mean() > 0.5)


def _carried(moment: _Moment, seed: int) -> Iterator[TrainingMistake]:
    """What a step keeps of its batch, where each record is told to be in one update at a time."""
    if moment.account.sampling == UNKNOWN or not moment.found:
        return
    count = len(moment.effects.bases[0])
    places = moment.effects.bases[1] + moment.effects.records
    other = moment.trials.batch(*[place for place in places if place >= count][:count])
    one = moment.trials.batch(*moment.effects.bases[0])
    if size(one) == size(other):
        yield from carried_mistakes(moment.trials, one, other, seed=seed)


def _later_mistakes(
    maker: TrainingMaker,
    first: _Moment,
    level: float,
    options: TrainingOptions,
    notes: list[str],
    *,
    until: float,
) -> Iterator[TrainingMistake]:
    """The same at later moments of a training that goes on."""
    assert options.seed is not None
    updates = first.account.updates or 1
    if updates < 2 or not first.found:
        return
    if splits_batches(maker.fresh().loader):
        notes.append("steps were looked at in the first update alone: the loader splits batches")
        return
    seed_everything(options.seed + 1)
    training = maker.fresh()
    _dropout_off(training)
    TrainingState(training).reseed(options.seed + 1)
    began = TrainingState(training)
    before, rhythm = first.trials.rhythm.before, first.trials.rhythm
    made = _advance(training, before, rhythm.calls, until=until)
    rhythm = dataclasses.replace(rhythm, before=0)
    for share in _MOMENTS:
        wanted = before + min(updates - 1, max(1, round(share * updates))) * rhythm.calls
        more = _advance(training, wanted - made, rhythm.calls, until=until)
        made += more
        if not more:
            break
        later = _moment(
            training,
            rhythm,
            options,
            [],
            until=until,
            pairs=_PAIRS_LATER,
            records=_TRIED_LATER,
            there=first.trials.records,
        )
        for mistake in _mistakes_of_moment(first, later, level):
            words = f"After {how_many((made - before) // rhythm.calls, 'update')}: "
            yield dataclasses.replace(mistake, message=words + mistake.message)
            began.restore()
            return
        later.trials.state.restore()
    began.restore()
    reached = (made - before) // rhythm.calls
    if reached < updates - 1:
        notes.append(f"steps were looked at up to update {reached} of {updates}, and not later")


def _mistakes_of_moment(first: _Moment, moment: _Moment, level: float) -> Iterator[TrainingMistake]:
    """What is wrong later, and was not at the beginning."""
    if moment.noise.nowhere:
        yield _no_noise()
        return
    evidence = _evidence(moment, level)
    found = list(clipping_mistakes(evidence))
    further = moment.farthest / max(first.farthest, 1e-300)
    same_noise = abs(moment.noise.typical / first.noise.typical - 1.0) < _SAME_NOISE
    if found and same_noise and further > 1.0 + _SAME_NOISE:
        yield TrainingMistake(
            kind=TrainingMistakeKind.NO_CLIPPING,
            message=f"A record moves the update {further:.3g} times as far as at the beginning, "
            "and the noise is the same: clipping has ended, or its norm has grown.",
            advice="Clip the gradient of each record in every step, and let the noise grow with "
            "the clipping norm.",
        )
        return
    yield from found
    yield from dependence_mistakes(evidence)


def _advance(training: PrivateTraining, calls: int, each: int, *, until: float) -> int:
    """Go on with the training, by whole updates; returns how many calls of the step were made."""
    made = idle = 0
    while made < calls and idle < 2:
        idle += 1
        for batch in training.loader:
            if made >= calls or (made % each == 0 and time.perf_counter() > until):
                return made
            training.step(batch)
            made += 1
            idle = 0
    return made


def _one_of_a_kind(mistakes: list[TrainingMistake]) -> tuple[TrainingMistake, ...]:
    """The first mistake of each kind; noise that is too small is said only where nothing else is.

    A gradient that is not clipped, or noise that is missing somewhere, makes noise too small as
    well; to say so twice would hide the cause.
    """
    named = {mistake.kind: mistake for mistake in reversed(mistakes)}
    found = list(named.values())[::-1]
    others = [one for one in found if one.kind is not TrainingMistakeKind.NOISE_TOO_SMALL]
    return tuple(others or found)


def _dropout_off(training: PrivateTraining) -> list[str]:
    """Switch dropout off: it draws for each record, and the guarantee holds for any mask."""
    if training.model is None:
        return []
    layers = [
        module
        for module in training.model.modules()
        if "Dropout" in type(module).__name__ and getattr(module, "p", None)
    ]
    for layer in layers:
        layer.p = 0.0
    return ["dropout was switched off for the check of the step"] if layers else []


def _only_width(trials: Trials) -> int | None:
    """The size of the loader's batches if the step takes no small ones; None if it does."""
    try:
        for count in (SMALL, SMALL + 1, LARGE, LARGE + 1):
            trials.update(trials.batch(*range(min(count, trials.available))), 0)
    except ValueError:
        return next((size(batch) for batch in trials.training.loader if size(batch) > 1), None)
    return None


def _without_noise(
    trials: Trials, options: TrainingOptions, began: float, notes: list[str], *, width: int
) -> CheckResult:
    """Updates that are the same for all seeds."""
    batches = [
        trials.batch(*((place + more) % trials.available for more in range(width)))
        for place in range(4)
    ]
    vectors = [trials.update(batch, 0).vector for batch in batches]
    length = float(np.median([np.linalg.norm(vector) for vector in vectors]))
    moved = max(float(np.linalg.norm(vector - vectors[0])) for vector in vectors[1:])
    entries = vectors[0] / max(float(np.abs(vectors[0]).max()), 1e-300)
    trials.state.restore()
    first, second = (trials.observed(batches[0]).vector for _ in range(2))
    mistakes = []
    if length > 3.0 * moved and float((np.abs(entries) > 1e-6).mean()) > 0.9:
        if float(np.linalg.norm(first - second)) < 0.5 * length:
            mistakes.append(_repeated("All steps"))
        mistakes.append(_fixed("the update is the same whatever the random seed is"))
    else:
        mistakes.append(_no_noise())
    return CheckResult(
        name="step",
        false_alarm_rate=options.rate_of_a_check,
        mistakes=tuple(mistakes),
        measured=(("trials", str(trials.made)),),
        notes=tuple(notes),
        seconds=time.perf_counter() - began,
    )


def _no_noise() -> TrainingMistake:
    return TrainingMistake(
        kind=TrainingMistakeKind.NO_NOISE,
        message="The update is the same whatever the random seed is: no noise is added.",
        advice="Add Gaussian noise to the sum of clipped gradients, before the optimiser's step.",
    )


def _repeated(which: str) -> TrainingMistake:
    return TrainingMistake(
        kind=TrainingMistakeKind.NOISE_REPEATED,
        message=f"{which} have the same noise: the generator is seeded anew between them.",
        advice="Seed the generator once, before the first step, from the operating system.",
    )


def _fixed(seen: str) -> TrainingMistake:
    return TrainingMistake(
        kind=TrainingMistakeKind.NOISE_FIXED_SEED,
        message=f"{seen[0].upper()}{seen[1:]}: its generator is seeded with a constant.",
        advice="Seed the generator of the noise from the operating system. Whoever knows the code "
        "can otherwise subtract the noise.",
    )


def _scale_mistakes(
    moment: _Moment, *, seed: int, rate: float, scaled: bool, until: float
) -> Iterator[TrainingMistake]:
    """Noise whose standard deviation depends on the batch."""
    trials, noise, effects, joins = moment.trials, moment.noise, moment.effects, moment.joins
    places = noise.places.values()
    others = [("a batch with a record of 100 times the features", moment.strongest)]
    if joins and not scaled:
        others.insert(0, ("a batch of {} records", trials.batch(*effects.bases[1])))
    # Where updates are scaled after noise was added, records may drown some of it by right.
    told = moment.account.noise_multiplier or 0.0
    drowned = 0.0
    if scaled:
        signal = size(moment.strongest) / math.sqrt(sum(p.stop - p.start for p in places))
        drowned = math.log1p(signal / told) if told else math.inf
    for words, batch in others:
        other = measure_noise(trials, batch, pairs=12, seed=seed + 10_000, until=until)
        ratio = other.typical / noise.typical
        spread = math.sqrt(0.5 / max(1, other.freedom) + 0.5 / max(1, noise.freedom))
        limit = max(0.05, 2.0 * spread * math.sqrt(2.0 * math.log(8.0 / rate)))
        if abs(math.log(max(ratio, 1e-300))) > limit + drowned:
            if scaled:
                yield _clipped_after_noise(ratio)
                return
            sizes = len(effects.bases[0]) / len(effects.bases[1])
            divided = joins and abs(ratio / sizes - 1.0) < 0.1
            cause = _DIVIDED if divided else "not constant"
            yield TrainingMistake(
                kind=_SCALE,
                message=f"The noise has {ratio:.3g} times the standard deviation for "
                f"{words.format(len(effects.bases[1]))} that it has for one of "
                f"{len(effects.bases[0])}: it is {cause}.",
                advice="Divide by the expected batch size, which is public, and never by the size "
                "of the batch at hand; let clipping norm and noise depend on no record.",
            )
            return


def _clipped_after_noise(ratio: float) -> TrainingMistake:
    return TrainingMistake(
        kind=TrainingMistakeKind.CLIPPED_AFTER_NOISE,
        message="All updates have the same length, and beside a record of 100 times the features "
        f"the noise has {ratio:.3g} times the standard deviation: noise is added first, and the "
        "sum is clipped, so that a large gradient drowns the noise.",
        advice="Clip the gradient of each record, then add them, then add noise.",
    )


def _law_mistakes(noise: NoiseMeasured, rate: float) -> Iterator[TrainingMistake]:
    alike = shared_noise(noise, rate)
    if alike is not None:
        yield TrainingMistake(
            kind=TrainingMistakeKind.NOISE_SHARED,
            message=f"The noise of one update comes twice: {alike}.",
            advice="Draw fresh noise for every parameter and on every worker; never seed the "
            "generator between them.",
        )
        return
    distance = not_gaussian(noise, rate)
    if distance is not None:
        yield TrainingMistake(
            kind=TrainingMistakeKind.NOISE_NOT_GAUSSIAN,
            message=f"The noise is not Gaussian: its distribution differs by {distance:.2g} at "
            "some point.",
            advice="Draw from a normal distribution, or account for the noise that is drawn.",
        )


def _repetition_mistakes(
    maker: TrainingMaker,
    moment: _Moment,
    rate: float,
    seed: int,
    notes: list[str],
    *,
    until: float,
) -> Iterator[TrainingMistake]:
    """Noise that comes again in another step, or when training is started again."""
    runs: list[list[tuple[Vector, NoiseMeasured]]] = []
    for start in range(2 if maker.repeats else 1):
        # Seeded before the training is made, so that a seed of its own is not hidden.
        seed_everything(seed + 1000 * (start + 1))
        training = maker.started_anew()
        _dropout_off(training)
        if training.reseed is not None:
            training.reseed(seed + 1000 * (start + 1))
        width = moment.width or 2
        trials = Trials(training, records=max(4, width), rhythm=moment.trials.rhythm)
        count = _CONSECUTIVE if start == 0 else 1
        runs.append(_consecutive(trials, width, count, seed, until=until))
    pair = repeated([one for one, _ in runs[0]], [noise for _, noise in runs[0]], rate)
    if pair is not None:
        yield _repeated(f"Steps {pair[0] + 1} and {pair[1] + 1} of one run")
    if not maker.repeats:
        notes.append("no second training could be made, so a fixed seed was not looked for")
        return
    starts = [runs[0][0], runs[1][0]]
    if repeated([one for one, _ in starts], [noise for _, noise in starts], rate) is not None:
        yield _fixed("the noise of the first step is the same whenever training is started")


def _consecutive(
    trials: Trials, width: int, count: int, seed: int, *, until: float
) -> list[tuple[Vector, NoiseMeasured]]:
    """Updates one after the other, and the noise of each, which is measured beside the run."""
    found = []
    began = TrainingState(trials.training)
    batch = trials.batch(*range(width))
    for number in range(count):
        if number >= _FEWEST_CONSECUTIVE and time.perf_counter() > until:
            break
        with random_numbers_kept():
            trials.state = TrainingState(trials.training)
            noise = measure_noise(
                trials, batch, pairs=_PAIRS_BESIDE, seed=seed + 7 * number, until=math.inf
            )
            trials.state.restore()
        found.append((trials.observed(batch).vector, noise))
    began.restore()
    return found


def _measured(evidence: StepEvidence, trials: Trials) -> Iterator[tuple[str, str]]:
    account = evidence.account
    distance = evidence.distance()
    if distance > 0.0:
        said = "" if account.noise_multiplier is None else f"; told {account.noise_multiplier:.4g}"
        yield "noise multiplier", f"at most {1.0 / distance:.4g} (upper limit{said})"
    std = evidence.noise.typical
    parameters = how_many(len(evidence.noise.std), "parameter")
    yield "noise", f"standard deviation {std:.4g} (estimate, in gradient units) on {parameters}"
    if evidence.effects:
        largest = max(float(np.linalg.norm(one.change)) for one in evidence.effects)
        yield "largest change", f"{largest:.4g} by one record, in the same units"
    yield "trials", f"{trials.made} steps"


def _bounds(evidence: StepEvidence, options: TrainingOptions) -> Iterator[TrainingLowerBound]:
    """What the training leaks at least, if every step is like this one."""
    account = evidence.account
    limits = evidence.noise.upper(1.0 - options.confidence)
    distance = dataclasses.replace(evidence, limits=limits).distance()
    if account.noise_multiplier is None or distance <= 0.0:
        return
    multiplier = 1.0 / distance
    if multiplier < _LEAST_MULTIPLIER:
        return
    training = evidence.training
    event = with_noise(training.event, multiplier / account.noise_multiplier)
    try:
        found, _ = rdpkit.lower_bound(event, adjacency=training.adjacency, delta=training.delta)
    except (ValueError, ArithmeticError):
        return
    yield TrainingLowerBound(
        epsilon=found.epsilon,
        delta=training.delta,
        confidence=options.confidence,
        given="every step is like the one that was measured, and batches are drawn as told",
    )


def with_noise(event: Event, factor: float) -> Event:
    """The same event with all noise multiplied.

    Raises
    ------
    ValueError
        If it is none of the events that describe DP-SGD.
    """
    for name in ("noise_std", "noise_multiplier"):
        if hasattr(event, name):
            changed = {name: getattr(event, name) * factor}
            return dataclasses.replace(event, **changed)
    if isinstance(event, rdpkit.Repeated):
        return dataclasses.replace(event, event=with_noise(event.event, factor))
    if isinstance(event, rdpkit.Composed):
        return dataclasses.replace(
            event, events=tuple(with_noise(part, factor) for part in event.events)
        )
    raise _validate.fail("event", "to describe DP-SGD", event)


__all__ = ["check_step", "with_noise"]
