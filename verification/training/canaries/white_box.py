"""One training run with gradient canaries, in a training with Opacus."""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdpkit.adjacency import Adjacency
from rdpkit.verification.training.canaries.joining import CanaryRun, Joining, ended_early
from rdpkit.verification.training.canaries.opacus import Coordinates, OpacusCanaries, trainable
from rdpkit.verification.training.checks.noise import measure_noise
from rdpkit.verification.training.checks.trials import Trials
from rdpkit.verification.training.options import TrainingOptions
from rdpkit.verification.training.state import seed_everything
from rdpkit.verification.training.told import Told
from rdpkit.verification.training.trainer import PrivateTraining, TrainingMaker
from rdpkit.verification.training.updates import Vector

OTHERS = 10_000
_BYTES = 2**28
_PAIRS = 8
_NEGLIGIBLE = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class WhiteBoxRun(CanaryRun):
    """What a run with gradient canaries showed."""

    others: Vector  # Scores of coordinates without canaries
    # The noise's standard deviation over the largest effect of a canary, as it was measured.
    multiplier: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Measured:
    """Before the run: what a canary adds to each parameter, its scale, and the noise."""

    effects: Vector
    scales: Vector
    noise: float


def white_box_run(
    maker: TrainingMaker, account: Told, options: TrainingOptions, *, until: float
) -> WhiteBoxRun | None:  # None if canaries have no effect, or there is no noise to measure
    """Train once with gradient canaries."""
    seed_everything(options.known_seed)
    training = maker.fresh()
    parameters = trainable(training)
    measured = _measured(training, parameters, options.known_seed)
    if measured is None:
        return None
    rng = np.random.default_rng([options.known_seed, 3])
    usable = measured.effects > _NEGLIGIBLE * measured.effects.max()
    canaries, notes = _how_many(parameters, usable, account, options)
    coordinates = _drawn(parameters, usable, canaries + OTHERS, rng)
    coins = rng.random(canaries) < 0.5
    signed = training.adjacency is Adjacency.REPLACE_ONE
    ratios = (measured.effects / measured.noise)[coordinates.which]
    joining = Joining(account, signed=signed, effects=ratios, rng=rng)
    scales = measured.scales[coordinates.which]
    made = 0

    def who() -> tuple[NDArray[np.int64], Vector]:
        places = np.flatnonzero(joining.draw(canaries) & (coins | signed))
        return places, np.where(coins[places], 1.0, -1.0)

    def seen(gradients: Vector, records: Vector, _: Vector) -> None:
        nonlocal made
        if made < wanted:
            joining.seen((gradients - scales * records) / measured.noise)
        made += 1

    wanted = options.steps or account.updates or 1
    watching = OpacusCanaries(training, coordinates, who=who, seen=seen)
    with watching.open():
        _train(training, lambda: made >= wanted or (made > 0 and time.perf_counter() > until))
    scores = joining.scores()
    return WhiteBoxRun(
        coins=coins,
        scores=scores[:canaries],
        others=scores[canaries:],
        updates=min(made, wanted),
        multiplier=measured.noise / float(measured.effects.max()),
        notes=(*notes, *ended_early(made, wanted)),
    )


def _train(training: PrivateTraining, enough: Callable[[], bool]) -> None:
    idle = 0
    while not enough() and idle < 2:
        idle += 1
        for batch in training.loader:
            idle = 0
            training.step(batch)
            if enough():
                return


def _measured(
    training: PrivateTraining, parameters: tuple[Any, ...], seed: int
) -> _Measured | None:
    """What one canary at each parameter changes, with noise that cancels; and the noise."""
    trials = Trials(training, records=8)
    batch = trials.batch(*range(min(4, trials.available)))
    noise = measure_noise(trials, batch, pairs=_PAIRS, seed=seed, until=math.inf)
    count = len(parameters)
    one_each = Coordinates(
        parameters=parameters,
        which=np.arange(count),
        offsets=np.zeros(count, dtype=np.int64),
    )
    found: list[tuple[Vector, Vector]] = []

    def seen(gradients: Vector, _: Vector, canaries: Vector) -> None:
        found.append((gradients, canaries))

    for places in (np.arange(0), np.arange(count)):
        trials.state.restore()
        trials.state.reseed(seed)
        watching = OpacusCanaries(
            training,
            one_each,
            who=functools.partial(_all_of, places),
            seen=seen,
        )
        with watching.open():
            training.step(batch)
    trials.state.restore()
    if len(found) < 2 or noise.nowhere:
        return None
    sums = found[-1][1]
    changes = found[-1][0] - found[0][0]
    if not trials.same_again(batch, seed):
        optimizer = training.optimizer
        mean = getattr(optimizer, "loss_reduction", "mean") == "mean"
        changes = sums / (float(optimizer.expected_batch_size) if mean else 1.0)
    trials.state.restore()
    if not np.any(changes > 0.0) or not np.any(sums > 0.0):
        return None
    scale = float(np.median(changes[sums > 0.0] / sums[sums > 0.0]))
    return _Measured(
        effects=np.maximum(changes, 0.0),
        scales=np.full(count, scale),
        noise=noise.typical,
    )


def _all_of(places: NDArray[np.int64]) -> tuple[NDArray[np.int64], Vector]:
    return places, np.ones(places.size)


def _how_many(
    parameters: tuple[Any, ...],
    usable: NDArray[np.bool_],
    account: Told,
    options: TrainingOptions,
) -> tuple[int, list[str]]:
    """As many canaries as were asked for, unless the model is too small or too large for them."""
    sizes = np.array([p.numel() for p in parameters])
    room = int(sizes[usable].sum()) // 2
    at_once = _BYTES // (4 * int(sizes.sum()))
    rate = 1.0 if account.rate is None else account.rate
    most = max(2, min(room, int(at_once / max(rate, 1e-9))))
    if most >= options.canaries:
        return options.canaries, []
    cause = "half of the parameters" if most == room else "what the memory holds"
    return most, [f"{most} canaries in place of {options.canaries}: {cause}"]


def _drawn(
    parameters: tuple[Any, ...],
    usable: NDArray[np.bool_],
    count: int,
    rng: np.random.Generator,
) -> Coordinates:
    """Random coordinates of the parameters, each at most once."""
    sizes = np.array([p.numel() if use else 0 for p, use in zip(parameters, usable, strict=True)])
    ends = np.cumsum(sizes)
    chosen = rng.permutation(int(ends[-1]))[:count]
    which = np.searchsorted(ends, chosen, side="right")
    return Coordinates(parameters=parameters, which=which, offsets=chosen - (ends - sizes)[which])
