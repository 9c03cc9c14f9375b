"""One run with canaries: gradients, in Opacus or in a training's noisy sum, or records.

Canaries join updates as the accountant was told that records do, whatever the loader does; the
sampler has a check of its own. The score of a coordinate is the logarithm of a likelihood ratio: of
all its noisy gradients if a canary is there, over the same if none is. No score is computed from a
coin.
"""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdpkit import _validate
from rdpkit.adjacency import Adjacency
from rdpkit.verification.training.batches import joined, leaves, records_of, rows, size
from rdpkit.verification.training.checks.noise import measure_noise
from rdpkit.verification.training.checks.trials import Trials
from rdpkit.verification.training.events import ALLOCATED, FULL, SHUFFLE, Told
from rdpkit.verification.training.opacus import Coordinates, OpacusCanaries, trainable
from rdpkit.verification.training.options import TrainingOptions
from rdpkit.verification.training.state import TrainingState, seed_everything
from rdpkit.verification.training.trainer import Batch, PrivateTraining, TrainingMaker, as_training
from rdpkit.verification.training.updates import Vector, observe, parameters_of

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class CanaryRun:
    """What a run with canaries showed."""

    coins: Mask  # Which canaries are in
    scores: Vector  # Of all canaries, in their order
    updates: int  # How many updates were made
    notes: tuple[str, ...]  # Remarks

    @property
    def inside(self) -> Vector:
        """Scores of canaries that are in."""
        return self.scores[self.coins]

    @property
    def outside(self) -> Vector:
        """Scores of those that are out, or have the other sign where one takes another's place."""
        return self.scores[~self.coins]


def ended_early(made: int, wanted: int) -> list[str]:
    """A remark if there was no time for all updates."""
    return [f"the time was enough for {made} of {wanted} updates"] if made < wanted else []


class Joining:
    """Draws who joins each update, and adds up the scores of all coordinates."""

    def __init__(
        self,
        account: Told,  # How records are sampled, as it was told
        *,
        # Whether every canary is there with one of two signs, as where one record takes another's
        # place; otherwise it is there or is not.
        signed: bool,
        # What a canary adds to its coordinate, over the noise's standard deviation there.
        effects: Vector,
        rng: np.random.Generator,  # Draws who joins
    ) -> None:
        self.account, self.signed, self.rng = account, signed, rng
        self.effects = effects
        self.rate = 1.0 if account.rate is None else account.rate
        self._total = np.zeros(effects.size)
        self._epoch = np.zeros((2, 0)) if not self._once_per_epoch else self._new_epoch()
        self._place = 0
        self._batch: NDArray[np.int64] | None = None

    @property
    def _once_per_epoch(self) -> bool:
        return self.account.sampling in (SHUFFLE, ALLOCATED)

    @property
    def _batches(self) -> int:
        return max(1, round(1.0 / self.rate))

    def _new_epoch(self) -> Vector:
        return np.full((2, self.effects.size), -np.inf)

    def draw(self, canaries: int) -> Mask:
        """Who would join the next update, if it is in the data at all."""
        if self.account.sampling == FULL:
            return np.ones(canaries, dtype=bool)
        if not self._once_per_epoch:
            return self.rng.random(canaries) < self.rate
        if self._batch is None:
            self._batch = self.rng.integers(0, self._batches, canaries)
        return np.asarray(self._batch == self._place)

    def seen(self, gradients: Vector) -> None:
        """Take in one update: the noisy gradients over the noise's standard deviation."""
        inside = gradients * self.effects - 0.5 * self.effects**2
        outside = -gradients * self.effects - 0.5 * self.effects**2
        if self.account.sampling == FULL:
            self._total += inside - outside if self.signed else inside
            return
        if not self._once_per_epoch:
            self._total += self._mixed(inside)
            if self.signed:
                self._total -= self._mixed(outside)
            return
        for row, ratio in enumerate((inside, outside)):
            self._epoch[row] = np.logaddexp(self._epoch[row], ratio)
        self._place += 1
        if self._place == self._batches:
            self._total += self._of_epoch()
            self._epoch, self._place, self._batch = self._new_epoch(), 0, None

    def scores(self) -> Vector:
        """The scores of all coordinates so far."""
        if self._once_per_epoch and self._place:
            return self._total + self._of_epoch()
        return self._total.copy()

    def _mixed(self, ratio: Vector) -> Vector:
        if self.rate >= 1.0:
            return ratio
        return np.asarray(np.logaddexp(np.log1p(-self.rate), np.log(self.rate) + ratio))

    def _of_epoch(self) -> Vector:
        left = 1.0 - self._place / self._batches
        with np.errstate(divide="ignore"):
            mixed = np.logaddexp(np.log(left), self._epoch - np.log(self._batches))
        found = mixed[0] - mixed[1] if self.signed else mixed[0]
        return np.asarray(found)


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
        parameters=parameters, which=np.arange(count), offsets=np.zeros(count, dtype=np.int64)
    )
    found: list[tuple[Vector, Vector]] = []

    def seen(gradients: Vector, _: Vector, canaries: Vector) -> None:
        found.append((gradients, canaries))

    for places in (np.arange(0), np.arange(count)):
        trials.state.restore()
        trials.state.reseed(seed)
        watching = OpacusCanaries(
            training, one_each, who=functools.partial(_all_of, places), seen=seen
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
        effects=np.maximum(changes, 0.0), scales=np.full(count, scale), noise=noise.typical
    )


def _all_of(places: NDArray[np.int64]) -> tuple[NDArray[np.int64], Vector]:
    return places, np.ones(places.size)


def _how_many(
    parameters: tuple[Any, ...], usable: NDArray[np.bool_], account: Told, options: TrainingOptions
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
    parameters: tuple[Any, ...], usable: NDArray[np.bool_], count: int, rng: np.random.Generator
) -> Coordinates:
    """Random coordinates of the parameters, each at most once."""
    sizes = np.array([p.numel() if use else 0 for p, use in zip(parameters, usable, strict=True)])
    ends = np.cumsum(sizes)
    chosen = rng.permutation(int(ends[-1]))[:count]
    which = np.searchsorted(ends, chosen, side="right")
    return Coordinates(parameters=parameters, which=which, offsets=chosen - (ends - sizes)[which])


_HUGE = 1e6
_DRAWS = 16
_NOTE = (
    "canaries went through noisy_sum() by themselves: what records add to it is known to whoever "
    "knows the records, and would be subtracted"
)


def noisy_sum_run(
    maker: TrainingMaker, account: Told, options: TrainingOptions, *, until: float
) -> WhiteBoxRun | None:  # None if a canary has no effect, or there is no noise
    """Make as many noisy sums as the training has updates, each of the canaries that join it."""
    seed_everything(options.known_seed)
    training = maker.fresh()
    size = sum(values.size for values in parameters_of(training).values())
    effect, noise = _measured_sum(training, size, options.known_seed)
    if effect <= 0.0 or noise <= 0.0:
        return None
    rng = np.random.default_rng([options.known_seed, 5])
    canaries = max(2, min(options.canaries, size // 2))
    places = rng.permutation(size)[: canaries + OTHERS]
    coins = rng.random(canaries) < 0.5
    signed = training.adjacency is Adjacency.REPLACE_ONE
    joining = Joining(account, signed=signed, effects=np.full(places.size, effect / noise), rng=rng)
    wanted = options.steps or account.updates or 1
    made = 0
    seed_everything(options.known_seed + 1)
    while made < wanted and (made == 0 or time.perf_counter() < until):
        there = np.flatnonzero(joining.draw(canaries) & (coins | signed))
        rows = np.zeros((there.size, size))
        rows[np.arange(there.size), places[there]] = np.where(coins[there], _HUGE, -_HUGE)
        joining.seen(_summed(training, rows)[places] / noise)
        made += 1
    scores = joining.scores()
    notes = [_NOTE]
    if canaries < options.canaries:
        notes.append(f"{canaries} canaries in place of {options.canaries}: half of the parameters")
    return WhiteBoxRun(
        coins=coins,
        scores=scores[:canaries],
        others=scores[canaries:],
        updates=made,
        multiplier=noise / effect,
        notes=(*notes, *ended_early(made, wanted)),
    )


def _measured_sum(training: PrivateTraining, size: int, seed: int) -> tuple[float, float]:
    """What one canary adds, with noise that cancels, and the standard deviation of the noise."""
    state = TrainingState(training)
    nobody, one = np.zeros((0, size)), np.zeros((1, size))
    one[0, 0] = _HUGE
    found = []
    for gradients in (nobody, one):
        state.restore()
        state.reseed(seed)
        found.append(_summed(training, gradients))
    draws = np.array([_summed(training, nobody) for _ in range(_DRAWS)])
    state.restore()
    return float((found[1] - found[0])[0]), float(draws.std())


def _summed(training: PrivateTraining, rows: Vector) -> Vector:
    """The noisy sum of some gradients, which are handed in as the training has its own."""
    assert training.noisy_sum is not None
    given: Any = rows
    if training.model is not None:
        import torch  # noqa: PLC0415 - trainings without torch have a noisy sum, too

        given = torch.as_tensor(rows, dtype=next(training.model.parameters()).dtype)
    with _validate.ErrorsOf(f"{training.name}: noisy_sum(gradients)"):
        found = training.noisy_sum(given)
    array = np.asarray(found.detach().cpu() if hasattr(found, "detach") else found, dtype=float)
    if array.size != rows.shape[1]:
        raise _validate.fail(
            "noisy_sum(gradients)", f"to be {rows.shape[1]} numbers, as a row is", array.shape
        )
    return array.ravel()


_FEWEST_CANARIES = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class BlackBoxRun(CanaryRun):
    """What a run with records as canaries showed; a score is how much the loss of one fell."""

    training: PrivateTraining  # The training with the canaries among its records
    kind: str  # What the canaries are, in words


def black_box_run(
    maker: TrainingMaker, account: Told, options: TrainingOptions, *, until: float
) -> BlackBoxRun | str:  # Why there was none, in words
    """Train once with records as canaries."""
    seed_everything(options.known_seed)
    training = maker.fresh()
    if training.with_records is None or training.losses is None:
        return (
            "no gradient canaries: the optimiser is none of Opacus's that clips gradients of "
            "records, and there is no noisy_sum(); no records as canaries: with_records() and "
            "losses() are needed"
        )
    rng = np.random.default_rng([options.known_seed, 4])
    found = _canaries(training, options.canaries, rng)
    if found is None:
        return "no records can be canaries: neither held-out records nor labels were found"
    extra, kind = found
    count = size(extra)
    coins = rng.random(count) < 0.5
    notes = (
        [] if count == options.canaries else [f"{count} canaries in place of {options.canaries}"]
    )
    wanted = options.steps or account.updates or 1
    try:
        chosen = _records(training, extra, np.flatnonzero(coins).tolist())
        with_them = as_training(training.with_records(chosen))
        losses = with_them.losses or training.losses
        before = _numbers(losses(extra))
        made = _trained(with_them, wanted, until)
        after = _numbers(losses(extra))
    except Exception as error:
        return f"training with canaries among the records raised {type(error).__name__}: {error}"
    if not before.shape == after.shape == coins.shape:
        return "losses() did not return one number for each record"
    return BlackBoxRun(
        training=with_them,
        coins=coins,
        scores=before - after,
        updates=made,
        kind=kind,
        notes=(*notes, *ended_early(made, wanted)),
    )


def _trained(training: PrivateTraining, wanted: int, until: float) -> int:
    """Make updates, and return how many were made."""
    made, idle = 0, 0
    while made < wanted and idle < 2 and (made == 0 or time.perf_counter() < until):
        idle += 1
        for batch in training.loader:
            idle = 0
            made += observe(training, batch).count
            if made >= wanted or time.perf_counter() > until:
                break
    return made


def _records(training: PrivateTraining, batch: Batch, which: list[int]) -> list[Any]:
    """Some records of a batch, each as the training's own records are."""
    like = None
    if training.records is not None and len(training.records):
        like = training.records[0]
    return [_single(rows(batch, [place]), like) for place in which]


def _single(batch: Batch, like: Any) -> Any:
    if isinstance(batch, dict):
        parts = like if isinstance(like, dict) else {}
        return {key: _single(value, parts.get(key)) for key, value in batch.items()}
    if isinstance(batch, tuple | list):
        kinds = like if isinstance(like, tuple | list) else [None] * len(batch)
        return tuple(_single(value, kind) for value, kind in zip(batch, kinds, strict=False))
    value = batch[0]
    return int(value) if isinstance(like, int) else value


def _numbers(values: Any) -> Vector:
    detached = values.detach().cpu().double().numpy() if hasattr(values, "detach") else values
    found = np.asarray(detached, dtype=np.float64).ravel()
    return np.nan_to_num(found, nan=0.0, posinf=1e300, neginf=-1e300)


def _canaries(
    training: PrivateTraining, count: int, rng: np.random.Generator
) -> tuple[Batch, str] | None:
    """Records with wrong labels, if there are labels; otherwise held-out records."""
    records = records_of(training.loader, count)
    if records is not None and size(records) >= _FEWEST_CANARIES:
        wrong = _mislabelled(records, rng)
        if wrong is not None:
            return wrong, "black box, records with wrong labels"
    if training.held_out is None:
        return None
    there = min(count, len(training.held_out))
    if there < _FEWEST_CANARIES:
        return None
    return _held_out(training.held_out, there), "black box, held-out records"


def _held_out(records: Any, count: int) -> Batch:
    if hasattr(records, "__getitem__") and not hasattr(records, "shape"):
        singles = [records[place] for place in range(count)]
        if isinstance(singles[0], tuple):
            return tuple(_stacked(list(parts)) for parts in zip(*singles, strict=True))
        return _stacked(singles)
    return joined([records[:count]])


def _stacked(values: list[Any]) -> Any:
    tensors = hasattr(values[0], "detach")
    whole = isinstance(values[0], int) and not isinstance(values[0], bool)
    if tensors or (whole and find_spec("torch") is not None):
        import torch  # noqa: PLC0415 - trainings without torch are verified, too

        return torch.stack(values) if tensors else torch.tensor(values)
    return np.stack([np.asarray(value) for value in values])


def _mislabelled(records: Batch, rng: np.random.Generator) -> Batch | None:
    """The records with other labels, where the last part of a batch is one integer for each."""
    parts = leaves(records)
    labels = parts[-1]
    kind = str(getattr(labels, "dtype", "")).removeprefix("torch.")
    if len(parts) < 2 or getattr(labels, "ndim", 0) != 1 or "int" not in kind:
        return None
    values = np.asarray(labels)
    classes = int(values.max()) + 1
    if classes < 2:
        return None
    other = (values + rng.integers(1, classes, values.size)) % classes
    if hasattr(labels, "detach"):
        import torch  # noqa: PLC0415 - trainings without torch are verified, too

        changed: Any = torch.as_tensor(other, dtype=labels.dtype)
    else:
        changed = other.astype(values.dtype)
    if isinstance(records, dict):
        last = list(records)[-1]
        return {**records, last: changed} if records[last] is labels else None
    if isinstance(records, tuple | list) and records[-1] is labels:
        return type(records)([*records[:-1], changed])
    return None
