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

import rdpkit
from rdpkit import Event, _validate
from rdpkit.formats.numbers import how_many
from rdpkit.verification.training.batches import size
from rdpkit.verification.training.checks.effects import LARGE, SMALL, Effects
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
from rdpkit.verification.training.mistakes import TrainingMistake, TrainingMistakeKind
from rdpkit.verification.training.options import TrainingOptions
from rdpkit.verification.training.results import CheckResult, TrainingLowerBound
from rdpkit.verification.training.state import seed_everything
from rdpkit.verification.training.told import POISSON, TRUNCATED, UNKNOWN, told
from rdpkit.verification.training.trainer import PrivateTraining, TrainingMaker
from rdpkit.verification.training.updates import Vector, observe

_RECORDS = 24
_PAIRS = 150
_TRIED = 6
_CONSECUTIVE = 12
_SHARE_OF_TIME = 0.3
# Rounding and the small constants that libraries add to norms; a mistake is larger than this.
_TOLERANCE = 2e-3
_LEAST_MULTIPLIER = 0.05
_SCALE = TrainingMistakeKind.BATCH_DEPENDENT_SCALE
_NOT_CANCELLED = (
    "the same seed does not give the same noise with another batch (randomness from the operating "
    "system, or drawn for each record), so what one record changes was not looked at"
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
    seed = options.seed
    until = began + _SHARE_OF_TIME * options.seconds
    seed_everything(seed)
    training = maker.fresh()
    account = told(training.event)
    rate = options.rate_of_a_check / 6.0
    notes: list[str] = _dropout_off(training)
    trials = Trials(training, records=_RECORDS)
    width = _only_width(trials)
    joins = width is None and account.sampling in (POISSON, TRUNCATED, UNKNOWN)
    if width is not None:
        notes.append(f"the step takes no small batches, so all trials have {width} records")
        trials = Trials(training, records=2 * width + _TRIED)
    least = SMALL if joins else min(width or LARGE, trials.available // 2)
    small = trials.batch(*range(least))
    noise = measure_noise(
        trials, small, pairs=_PAIRS, seed=seed, until=began + 0.4 * (until - began)
    )
    if noise.nowhere:
        return _without_noise(trials, options, began, notes, width=width or 1)
    effects = Effects(trials, seed=seed, joins=joins, width=width)
    cancels = trials.same_again(small, seed) and trials.draws_alike(
        small, trials.batch(*effects.bases[1], *effects.records[: int(joins)]), seed
    )
    found = list(effects.all(records=_TRIED, until=until)) if cancels else []
    if not cancels:
        notes.append(_NOT_CANCELLED)
    scales = list(
        _scale_mistakes(trials, noise, joins=joins, seed=seed, rate=rate, effects=effects)
    )
    evidence = StepEvidence(
        effects=found,
        noise=noise,
        account=account,
        training=training,
        limits=noise.upper(rate),
        tolerance=_TOLERANCE,
        probe=effects,
        divided=any(_DIVIDED in mistake.message for mistake in scales),
    )
    mistakes = [
        *scales,
        *dependence_mistakes(evidence),
        *clipping_mistakes(evidence),
        *_law_mistakes(noise, rate),
        *_repetition_mistakes(maker, noise, rate, seed, notes, width=width or 2),
    ]
    return CheckResult(
        name="step",
        false_alarm_rate=options.rate_of_a_check,
        mistakes=_one_of_a_kind(mistakes),
        measured=tuple(_measured(evidence, trials)),
        bounds=tuple(_bounds(evidence, options)),
        notes=tuple(notes),
        seconds=time.perf_counter() - began,
    )


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
    first, second = (observe(trials.training, batches[0]).vector for _ in range(2))
    mistakes = []
    if length > 3.0 * moved and float((np.abs(entries) > 1e-6).mean()) > 0.9:
        if float(np.linalg.norm(first - second)) < 0.5 * length:
            mistakes.append(_repeated("All steps"))
        mistakes.append(_fixed("the update is the same whatever the random seed is"))
    else:
        mistakes.append(
            TrainingMistake(
                kind=TrainingMistakeKind.NO_NOISE,
                message="The update is the same whatever the random seed is: no noise is added.",
                advice="Add Gaussian noise to the sum of clipped gradients, before the "
                "optimiser's step.",
            )
        )
    return CheckResult(
        name="step",
        false_alarm_rate=options.rate_of_a_check,
        mistakes=tuple(mistakes),
        measured=(("trials", str(trials.made)),),
        notes=tuple(notes),
        seconds=time.perf_counter() - began,
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
    trials: Trials,
    noise: NoiseMeasured,
    *,
    joins: bool,
    seed: int,
    rate: float,
    effects: Effects,
) -> Iterator[TrainingMistake]:
    """Noise whose standard deviation depends on the batch."""
    others = [("a batch of {} records", trials.batch(*effects.bases[1]))] if joins else []
    large = effects.record(effects.records[0], 100.0)
    if large is not None:
        first = list(effects.bases[0])[1:]
        others.append(
            ("a batch with a record of 100 times the features", effects.together(first, large))
        )
    for words, batch in others:
        other = measure_noise(trials, batch, pairs=12, seed=seed + 10_000, until=math.inf)
        ratio = other.typical / noise.typical
        spread = math.sqrt(
            0.5 / max(1, sum(other.degrees.values())) + 0.5 / max(1, sum(noise.degrees.values()))
        )
        limit = max(0.05, 2.0 * spread * math.sqrt(2.0 * math.log(8.0 / rate)))
        if abs(math.log(max(ratio, 1e-300))) > limit:
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


def _law_mistakes(noise: NoiseMeasured, rate: float) -> Iterator[TrainingMistake]:
    distance = not_gaussian(noise, rate)
    if distance is not None:
        yield TrainingMistake(
            kind=TrainingMistakeKind.NOISE_NOT_GAUSSIAN,
            message=f"The noise is not Gaussian: its distribution differs by {distance:.2g} at "
            "some point.",
            advice="Draw from a normal distribution, or account for the noise that is drawn.",
        )
    alike = shared_noise(noise, rate)
    if alike is not None:
        yield TrainingMistake(
            kind=TrainingMistakeKind.NOISE_SHARED,
            message=f"The noise of one update comes twice: {alike}.",
            advice="Draw fresh noise for every parameter and on every worker; never seed the "
            "generator between them.",
        )


def _repetition_mistakes(
    maker: TrainingMaker,
    noise: NoiseMeasured,
    rate: float,
    seed: int,
    notes: list[str],
    *,
    width: int,
) -> Iterator[TrainingMistake]:
    """Noise that comes again in another step, or when training is started again."""
    runs: list[list[Vector]] = []
    for start in range(2 if maker.repeats else 1):
        training = maker.fresh()
        _dropout_off(training)
        trials = Trials(training, records=max(4, width))
        trials.state.restore()
        seed_everything(seed + 1000 * (start + 1))
        if training.reseed is not None:
            training.reseed(seed + 1000 * (start + 1))
        batch = trials.batch(*range(width))
        count = _CONSECUTIVE if start == 0 else 1
        runs.append([observe(training, batch).vector for _ in range(count)])
    pair = repeated(runs[0], noise, rate)
    if pair is not None:
        yield _repeated(f"Steps {pair[0] + 1} and {pair[1] + 1} of one run")
    if not maker.repeats:
        notes.append("no second training could be made, so a fixed seed was not looked for")
    elif repeated([runs[0][0], runs[1][0]], noise, rate) is not None:
        yield _fixed("the noise of the first step is the same whenever training is started")


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
