"""The first check: does one step clip and add noise as was accounted for?

One step is made many times from one state. With equal seeds the noise cancels, and what a record
changes is seen exactly; with equal batches the data cancel, and the noise is seen alone. Their
ratio is the noise multiplier, in whatever units the gradients are.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Iterator

import numpy as np

from rdpkit.formats.numbers import how_many
from rdpkit.verification.blackbox.mistakes import (
    Mistake,
    MistakeKind,
    first_of_each_kind,
    mistake_of,
)
from rdpkit.verification.training import events
from rdpkit.verification.training.batches import size
from rdpkit.verification.training.checks.checking import Checking
from rdpkit.verification.training.checks.clipping import (
    bends_between_batches,
    clipping_mistakes,
    dependence_mistakes,
)
from rdpkit.verification.training.checks.moment import (
    Changed,
    Moment,
    bends_sometimes,
    carried_mistakes,
    changed_after_noise,
    look_at,
)
from rdpkit.verification.training.checks.noise import (
    NoiseMeasured,
    Trials,
    cut_off,
    measure_noise,
    not_gaussian,
    repeated,
    shared_noise,
)
from rdpkit.verification.training.options import TrainingOptions
from rdpkit.verification.training.results import CheckResult, TrainingLowerBound
from rdpkit.verification.training.state import TrainingState, random_numbers_kept, seed_everything
from rdpkit.verification.training.trainer import Batch, PrivateTraining, TrainingMaker
from rdpkit.verification.training.updates import Vector, rhythm_of, splits_batches, uses_sums_alone

_PAIRS_LATER, _TRIED_LATER = 24, 2
_PAIRS_BESIDE = 2
# Parts of the training after which steps are looked at again.
_MOMENTS = (0.3, 0.6, 1.0)
_SAME_NOISE = 0.1
TESTS = (
    "scale of the noise",
    "limits of the noise",
    "noise along what records change",
    "law of the noise",
    "largest draw of the noise",
    "noise shared by parameters",
    "noise shared within an update",
    "limits of the noise of consecutive updates",
    "distances of consecutive updates",
    "limits of the noise of another start",
    "distances from another start",
)
LATER = ("limits of the noise later,", "noise along what records change later,")
_CONSECUTIVE, _FEWEST_CONSECUTIVE = 12, 3
_SHARE_OF_TIME = 0.3
_LEAST_MULTIPLIER = 0.05
# Updates that are equal for all seeds are a gradient, unless they are this many times as long as
# what records change in them, in this part of their entries: then they are noise from a fixed seed.
_DROWNS, _FILLED = 3.0, 0.9
# Seen where the rates differ by more than chance, a scale counts as another one from here on.
_OTHER_SCALE = 0.05
_NOT_CANCELLED = (
    "the same seed does not give the same noise with another batch (randomness from the operating "
    "system, or drawn for each record), so what one record changes was not looked at"
)
_DRAWN_BEFORE = (
    "the noise is the same whatever the random seed of a step is, and may have been drawn when the "
    "training was made, so what one record changes beside it was not looked at"
)
_ANOTHER_START = 1_000_003
_BENEATH = (
    "updates are changed after noise was added, so what noisy_sum() returned to the step was "
    "looked at in their place; nothing else of a batch is in the first update"
)
_IRREGULAR = (
    "updates come after different numbers of calls of step(batch), so only updates that the first "
    "call makes were looked at"
)
_CURVED = (
    "updates are a curved function of the sum with noise in some batches, so the law of the noise "
    "was not held against a Gaussian's"
)
_UNSETTLED = (
    "the noise of all entries together is smaller than was told, and along what one record changes "
    "that was not seen: it is larger in some directions than in others, or too small by little, "
    "and the updates that were made do not show which"
)
_UNEVEN = (
    "the noise is larger in some directions than in others, so its law was not held against a "
    "Gaussian's"
)


def check_step(maker: TrainingMaker, options: TrainingOptions) -> CheckResult:
    """Check whether a step clips each record's gradient and adds the noise that was accounted for.

    Guarantee
    ---------
    A step that clips each record to one norm, and adds independent Gaussian noise of at least the
    told multiple of it to the sum, is rejected with probability at most
    ``options.rate_of_a_check``.
    """
    work = Checking("step", maker, options)
    until, notes = work.until(_SHARE_OF_TIME), work.notes
    rhythm = rhythm_of(work.fresh(), until=work.until(0.2 * _SHARE_OF_TIME))
    training = work.fresh()
    later = (f"{test} {place + 1}" for test in LATER for place in range(len(_MOMENTS)))
    level = work.rates.equally(*TESTS, *later)
    if _dropout_off(training):
        notes.append("dropout was switched off for the check of the step")
    if not rhythm.regular:
        notes.append(_IRREGULAR)
    elif rhythm.calls > 1:
        notes.append(
            f"an update is made from {rhythm.calls} calls of step(batch), and seen as a whole"
        )
    moment = look_at(training, rhythm, seed=work.seed, until=until, level=level)
    if (width := moment.effects.width) is not None:
        notes.append(f"the step takes no small batches, so all trials have {width} records")
    if moment.noise.nowhere:
        mistakes = _without_noise(work, moment)
        return work.result(
            mistakes=mistakes,
            measured=[("trials", str(moment.effects.trials.made))],
            inconclusive="" if mistakes else _DRAWN_BEFORE,
        )
    if moment.noise.uneven:
        notes.append(_UNEVEN)
    changed = _changed(moment)
    if changed is not None and training.noisy_sum is not None:
        beneath = _beneath(moment, until=until)
        if beneath is not None:
            notes.append(_BENEATH)
            moment, changed = beneath, None
    scale, divided = None, False
    if changed is None or changed is Changed.SCALED:
        scale, divided = _other_scale(moment, scaled=changed is not None, until=until)
    moment = dataclasses.replace(moment, divided=divided)
    mistakes = [*carried_mistakes(moment), *filter(None, [scale])]
    if changed is None:
        laws = list(_law_mistakes(moment, notes))
        mistakes += [*dependence_mistakes(moment), *clipping_mistakes(moment), *laws]
        # Entries that are the same noise are no independent evidence of what comes again.
        if MistakeKind.NOISE_SHARED not in {one.kind for one in laws}:
            mistakes += _repetition_mistakes(work, moment, until=until)
        if moment.drawn:
            # Updates that were made to look along a change are beside the usual ones.
            until = max(until, work.until(0.5 * _SHARE_OF_TIME))
        if not mistakes:
            mistakes += _later_mistakes(work, moment, until=until)
    # A gradient that is not clipped, or noise that is missing somewhere, makes noise too small as
    # well; to say so twice would hide the cause.
    others = [one for one in mistakes if one.kind is not MistakeKind.NOISE_TOO_SMALL]
    return work.result(
        mistakes=first_of_each_kind(others or mistakes),
        measured=_measured(moment, compared=changed is None),
        bounds=[_bound(moment, options.confidence)]
        if moment.account.parts == 1 and changed is None
        else (),
        inconclusive=changed
        or ("" if moment.found else _NOT_CANCELLED)
        or (_UNSETTLED if moment.unsettled else ""),
    )


def _changed(moment: Moment) -> Changed | None:
    """Why what a record changes beside the noise cannot be seen in updates; None if it can."""
    found = changed_after_noise(moment)
    return Changed.BENT if found is None and bends_between_batches(moment) else found


def _beneath(moment: Moment, *, until: float) -> Moment | None:
    """The noisy sums that a step asks its own function for; None if they are not all it uses."""
    trials = moment.effects.trials
    trials.state.restore()
    if not uses_sums_alone(trials.training, moment.small, moment.strongest):
        return None
    sums = dataclasses.replace(trials.rhythm, before=0, sums=True)
    seed, level = moment.effects.seed, moment.level
    found = look_at(trials.training, sums, seed=seed, until=until, level=level)
    return None if found.noise.nowhere or _changed(found) is not None else found


def _later_mistakes(work: Checking, first: Moment, *, until: float) -> Iterator[Mistake]:
    """The same at later moments of a training that goes on."""
    updates = first.account.updates or 1
    if updates < 2 or not first.found:
        return
    if splits_batches(work.maker.fresh().loader):
        work.notes.append(
            "steps were looked at in the first update alone: the loader splits batches"
        )
        return
    training = work.fresh(1)
    _dropout_off(training)
    TrainingState(training).reseed(work.seed + 1)
    began = TrainingState(training)
    rhythm = first.effects.trials.rhythm
    before = rhythm.before
    made = _advance(training, before, rhythm.calls, until=until)
    rhythm = dataclasses.replace(rhythm, before=0)
    reached = 0
    for share in _MOMENTS:
        wanted = before + min(updates - 1, max(1, round(share * updates))) * rhythm.calls
        more = _advance(training, wanted - made, rhythm.calls, until=until)
        made += more
        if not more:
            break
        later = look_at(
            training,
            rhythm,
            seed=work.seed,
            until=until,
            level=first.level,
            pairs=_PAIRS_LATER,
            records=_TRIED_LATER,
            there=first.effects.trials.records,
        )
        later = dataclasses.replace(later, seconds=first.seconds / len(_MOMENTS))
        if _changed(later) is not None:
            work.notes.append(
                "later updates are changed after noise was added, and were not compared"
            )
            break
        reached = (made - before) // rhythm.calls
        for mistake in _mistakes_of_moment(first, later):
            words = f"After {how_many(reached, 'update')}: "
            yield dataclasses.replace(mistake, message=words + mistake.message)
            began.restore()
            return
        if later.unsettled:
            work.notes.append(f"after {how_many(reached, 'update')}: {_UNSETTLED}")
        later.effects.trials.state.restore()
    began.restore()
    if reached < updates - 1:
        work.notes.append(
            f"steps were looked at up to update {reached} of {updates}, and not later"
        )


def _mistakes_of_moment(first: Moment, moment: Moment) -> Iterator[Mistake]:
    """What is wrong later, and was not at the beginning."""
    if moment.noise.nowhere:
        yield mistake_of(MistakeKind.NO_NOISE, "updates")
        return
    found = list(clipping_mistakes(moment))
    further = moment.farthest() / max(first.farthest(), 1e-300)
    same_noise = abs(moment.noise.typical / first.noise.typical - 1.0) < _SAME_NOISE
    if found and same_noise and further > 1.0 + _SAME_NOISE:
        yield mistake_of(MistakeKind.NO_CLIPPING, "later", further=further)
        return
    yield from found
    yield from dependence_mistakes(moment)


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


def _dropout_off(training: PrivateTraining) -> bool:
    """Switch dropout off: it draws for each record, and the guarantee holds for any mask."""
    layers = [
        module
        for module in ([] if training.model is None else training.model.modules())
        if "Dropout" in type(module).__name__ and getattr(module, "p", None)
    ]
    for layer in layers:
        layer.p = 0.0
    return bool(layers)


def _without_noise(work: Checking, moment: Moment) -> list[Mistake]:
    """What is wrong with updates that are the same for all seeds; nothing if that is not known."""
    trials, width = moment.effects.trials, moment.effects.width or 1
    each = range(width)
    batches = [
        trials.batch(*((one + more) % trials.available for more in each)) for one in range(4)
    ]
    vectors = [trials.update(batch, 0).vector for batch in batches]
    length = float(np.median([np.linalg.norm(vector) for vector in vectors]))
    moved = max(float(np.linalg.norm(vector - vectors[0])) for vector in vectors[1:])
    entries = vectors[0] / max(float(np.abs(vectors[0]).max()), 1e-300)
    trials.state.restore()
    first, second = (trials.observed(batches[0]).vector for _ in range(2))
    if length <= _DROWNS * moved or float((np.abs(entries) > 1e-6).mean()) <= _FILLED:
        return [mistake_of(MistakeKind.NO_NOISE, "updates")]
    mistakes = []
    if float(np.linalg.norm(first - second)) < 0.5 * length:
        mistakes.append(mistake_of(MistakeKind.NOISE_REPEATED, "all"))
    # Where no other training can be made, the noise may have been drawn with this one.
    if work.maker.repeats:
        seed_everything(work.seed + _ANOTHER_START)
        training = _started_anew(work.maker, work.notes)
        _dropout_off(training)
        again = Trials(training, records=max(4, width), rhythm=trials.rhythm)
        other = again.update(again.batch(*(more % again.available for more in each)), 0).vector
        if float(np.linalg.norm(other - vectors[0])) <= 0.5 * length:
            mistakes.append(mistake_of(MistakeKind.NOISE_FIXED_SEED, "update"))
    return mistakes


def _other_scale(moment: Moment, *, scaled: bool, until: float) -> tuple[Mistake | None, bool]:
    """What is wrong if the noise has another standard deviation for another batch.

    And whether it is divided by the number of records in the batch.
    """
    noise, effects, strongest = moment.noise, moment.effects, moment.strongest
    few, many = (len(base) for base in effects.bases)
    others = [("a batch with a record of 100 times the features", strongest)]
    if effects.joins and not scaled:
        others.insert(0, (f"a batch of {many} records", effects.trials.batch(*effects.bases[1])))
    # Where updates are scaled after noise was added, records may drown some of it by right.
    told, drowned = moment.told, 0.0
    if scaled:
        entries = sum(place.stop - place.start for place in noise.places.values())
        drowned = math.log1p(size(strongest) / math.sqrt(entries) / told) if told else math.inf
    for words, batch in others:
        seed = effects.seed + 10_000
        other = measure_noise(effects.trials, batch, pairs=12, seed=seed, until=until)
        if moment.found:
            other = other.of_trained([effect.change for effect in moment.found])
        ratio = other.typical / noise.typical
        spread = math.sqrt(0.5 / max(1, other.freedom) + 0.5 / max(1, noise.freedom))
        # A normal variable is beyond this root with probability at most a quarter of the rate;
        # twice, because the logarithm of a ratio of estimates is only nearly normal.
        limit = max(_OTHER_SCALE, 2.0 * spread * math.sqrt(2.0 * math.log(8.0 / moment.level)))
        if abs(math.log(max(ratio, 1e-300))) <= limit + drowned:
            continue
        if scaled:
            return mistake_of(MistakeKind.CLIPPED_AFTER_NOISE, ratio=ratio), False
        divided = effects.joins and abs(ratio * many / few - 1.0) < 0.1
        cause = "divided by the number of records in the batch" if divided else "not constant"
        batches = f"{words} that it has for one of {few}"
        kind = MistakeKind.BATCH_DEPENDENT_SCALE
        return mistake_of(kind, "noise", ratio=ratio, batches=batches, cause=cause), divided
    return None, False


def _law_mistakes(moment: Moment, notes: list[str]) -> Iterator[Mistake]:
    """What is wrong with the law of the noise, where it is that of the noise that was added."""
    noise, rate, kind = moment.noise, moment.level, MistakeKind.NOISE_NOT_GAUSSIAN
    alike = shared_noise(noise, rate)
    if alike is not None:
        yield mistake_of(MistakeKind.NOISE_SHARED, alike=alike)
        return
    distance = not_gaussian(noise, rate)
    largest = cut_off(noise, rate) if distance is None else None
    if distance is None and largest is None:
        return
    if bends_sometimes(moment):
        notes.append(_CURVED)
    elif distance is not None:
        yield mistake_of(kind, "distance", distance=distance)
    else:
        yield mistake_of(kind, "cut_off", draws=noise.draws.size, largest=largest)


def _repetition_mistakes(work: Checking, moment: Moment, *, until: float) -> Iterator[Mistake]:
    """Noise that comes again in another step, or when training is started again."""
    runs: list[list[tuple[Vector, NoiseMeasured]]] = []
    width = moment.effects.width or 2
    for start in range(2 if work.maker.repeats else 1):
        # Seeded before the training is made, so that a seed of its own is not hidden.
        seed = work.seed + 1000 * (start + 1)
        seed_everything(seed)
        training = _started_anew(work.maker, work.notes)
        _dropout_off(training)
        if training.reseed is not None:
            training.reseed(seed)
        trials = Trials(training, records=max(4, width), rhythm=moment.effects.trials.rhythm)
        if start == 0:
            # The same for both starts, so that between them nothing differs but the noise.
            batch = trials.batch(*range(width))
        count = _CONSECUTIVE if start == 0 else 1
        runs.append(_consecutive(trials, batch, count, work.seed, until=until))
    pair = repeated(runs[0], moment.level, moment.noise.spread)
    if pair is not None:
        one, other, negative = pair[0] + 1, pair[1] + 1, pair[2]
        sign = ", but for its sign" if negative else ""
        yield mistake_of(MistakeKind.NOISE_REPEATED, "two", one=one, other=other, sign=sign)
    if not work.maker.repeats:
        work.notes.append("no second training could be made, so a fixed seed was not looked for")
    elif repeated([run[0] for run in runs], moment.level, moment.noise.spread) is not None:
        yield mistake_of(MistakeKind.NOISE_FIXED_SEED, "start")


def _started_anew(maker: TrainingMaker, notes: list[str]) -> PrivateTraining:
    """A training with what its module does at import, if that can be done twice."""
    try:
        return maker.started_anew()
    except ValueError as error:
        notes[:] = dict.fromkeys(
            [*notes, f"{error}; so a seed that is set at import was not looked for"]
        )
        return maker.fresh()


def _consecutive(
    trials: Trials, batch: Batch, count: int, seed: int, *, until: float
) -> list[tuple[Vector, NoiseMeasured]]:
    """Updates one after the other, and the noise of each, which is measured beside the run."""
    found = []
    began = TrainingState(trials.training)
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


def _measured(moment: Moment, *, compared: bool) -> Iterator[tuple[str, str]]:
    distance, told = moment.distance() if compared else 0.0, moment.told
    if distance > 0.0:
        said = f"; told {told:.4g}" if told else ""
        yield "noise multiplier", f"at most {1.0 / distance:.4g} (upper limit{said})"
    std = moment.noise.typical
    parameters = how_many(len(moment.noise.std), "parameter")
    yield "noise", f"standard deviation {std:.4g} (estimate, in gradient units) on {parameters}"
    if moment.found:
        yield "largest change", f"{moment.farthest():.4g} by one record, in the same units"
    yield "trials", f"{moment.effects.trials.made} steps"


def _bound(moment: Moment, confidence: float) -> TrainingLowerBound | None:
    """What the training leaks at least, if every step is like this one."""
    told, training = moment.told, moment.effects.trials.training
    limits = moment.noise.upper(1.0 - confidence)
    distance = dataclasses.replace(moment, limits=limits, level=1.0 - confidence).distance()
    multiplier = 1.0 / distance if distance > 0.0 else 0.0
    if not told or multiplier < _LEAST_MULTIPLIER:
        return None
    really = events.with_noise(training.event, multiplier / told)
    given = "every step is like the one that was measured, and batches are drawn as told"
    return events.at_least(training, really, confidence=confidence, given=given)
