"""One run with canaries: gradients, in Opacus or in a training's noisy sum, or records.

Canaries join updates as the accountant was told that records do, whatever the loader does; the
sampler has a check of its own. The score of a coordinate is the logarithm of a likelihood ratio: of
all its noisy gradients if a canary is there, over the same if none is. No score is computed from a
coin.
"""

from __future__ import annotations

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
from rdpkit.verification.training.batches import (
    array_of,
    joined,
    leaves,
    mapped,
    records_of,
    rows,
    size,
)
from rdpkit.verification.training.checks.checking import Checking
from rdpkit.verification.training.checks.noise import Trials, measure_noise
from rdpkit.verification.training.events import ALLOCATED, FULL, SHUFFLE, Told
from rdpkit.verification.training.opacus import HUGE, Coordinates, canaries_join
from rdpkit.verification.training.state import TrainingState, seed_everything
from rdpkit.verification.training.trainer import Batch, PrivateTraining, as_training
from rdpkit.verification.training.updates import Vector, observe, parameters_of

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class CanaryRun:
    """What a run with canaries showed."""

    coins: Mask  # Which canaries are in
    scores: Vector  # Of all canaries, in their order
    updates: int  # How many updates were made
    kind: str  # What the canaries are, in words
    notes: tuple[str, ...]  # Remarks
    training: PrivateTraining  # With the canaries among its records, where they are records
    others: Vector | None = None  # Scores of coordinates without, where these are gradients
    multiplier: float = math.nan
    """The noise's standard deviation over the largest effect of a canary, as it was measured."""

    @property
    def inside(self) -> Vector:
        """Scores of canaries that are in."""
        return self.scores[self.coins]

    @property
    def outside(self) -> Vector:
        """Scores of those that are out, or have the other sign where one takes another's place."""
        return self.scores[~self.coins]


def _ended_early(made: int, wanted: int) -> list[str]:
    return [f"the time was enough for {made} of {wanted} updates"] if made < wanted else []


def _fewer(canaries: int, asked: int, cause: str = "") -> list[str]:
    return [f"{canaries} canaries in place of {asked}{cause}"] if canaries < asked else []


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
        self.signed, self.rng, self.effects = signed, rng, effects
        self.full = account.sampling == FULL
        self.rate = 1.0 if account.rate is None else account.rate
        # In how many batches of an epoch a record is in one; 0 where epochs mean nothing.
        once = account.sampling in (SHUFFLE, ALLOCATED)
        self.batches = max(1, round(1.0 / self.rate)) if once else 0
        self._total = np.zeros(effects.size)
        self._begin()

    def _begin(self) -> None:
        self._epoch, self._place = np.full((2, self.effects.size), -np.inf), 0
        self._batch: NDArray[np.int64] | None = None

    def draw(self, canaries: int) -> Mask:
        """Who would join the next update, if it is in the data at all."""
        if self.full:
            return np.ones(canaries, dtype=bool)
        if not self.batches:
            return self.rng.random(canaries) < self.rate
        if self._batch is None:
            self._batch = self.rng.integers(0, self.batches, canaries)
        return np.asarray(self._batch == self._place)

    def seen(self, gradients: Vector) -> None:
        """Take in one update: the noisy gradients over the noise's standard deviation."""
        ratios = np.array([gradients, -gradients]) * self.effects - 0.5 * self.effects**2
        if self.batches:
            self._epoch = np.logaddexp(self._epoch, ratios)
            self._place += 1
            if self._place == self.batches:
                self._total += self._of_epoch()
                self._begin()
            return
        if self.full:
            self._total += ratios[0] - ratios[1] if self.signed else ratios[0]
            return
        if self.rate < 1.0:
            ratios = np.logaddexp(np.log1p(-self.rate), np.log(self.rate) + ratios)
        self._total += ratios[0]
        if self.signed:
            self._total -= ratios[1]

    def scores(self) -> Vector:
        """The scores of all coordinates so far."""
        return self._total + self._of_epoch() if self._place else self._total.copy()

    def _of_epoch(self) -> Vector:
        left = 1.0 - self._place / self.batches
        with np.errstate(divide="ignore"):
            mixed = np.logaddexp(np.log(left), self._epoch - np.log(self.batches))
        return np.asarray(mixed[0] - mixed[1] if self.signed else mixed[0])


OTHERS = 10_000
_BYTES, _PAIRS, _DRAWS, _FEWEST = 2**28, 8, 16, 2
_NEGLIGIBLE = 1e-3
_NOTE = (
    "canaries went through noisy_sum() by themselves: what records add to it is known to whoever "
    "knows the records, and would be subtracted"
)
_NO_CANARIES = (
    "no gradient canaries: the optimiser is none of Opacus's that clips gradients of "
    "records, and there is no noisy_sum(); no records as canaries: with_records() and "
    "losses() are needed"
)
_HALF = ": half of the parameters"
Who = Callable[[], tuple[NDArray[np.int64], Vector]]
"""Which canaries join the next update, and their signs."""


def _gradient_run(
    work: Checking,
    training: PrivateTraining,
    account: Told,
    # Calls the first for each update, and the second with its noisy gradients at all coordinates
    # over the noise, until the third says that it is enough.
    run: Callable[[Who, Callable[[Vector], None], Callable[[], bool]], None],
    *,
    ratios: Vector,  # What a canary adds at each coordinate over the noise; first those of canaries
    canaries: int,
    until: float,
    rng: np.random.Generator,
    **more: Any,  # Further fields of what is returned
) -> CanaryRun:
    """Train once with gradients as canaries."""
    coins = rng.random(canaries) < 0.5
    signed = training.adjacency is Adjacency.REPLACE_ONE
    joining = Joining(account, signed=signed, effects=ratios, rng=rng)
    wanted, made = work.options.steps or account.updates or 1, 0

    def who() -> tuple[NDArray[np.int64], Vector]:
        places = np.flatnonzero(joining.draw(canaries) & (coins | signed))
        return places, np.where(coins[places], 1.0, -1.0)

    def seen(gradients: Vector) -> None:
        nonlocal made
        if made < wanted:
            joining.seen(gradients)
        made += 1

    run(who, seen, lambda: made >= wanted or (made > 0 and time.perf_counter() > until))
    scores = joining.scores()
    return CanaryRun(
        training=training,
        coins=coins,
        scores=scores[:canaries],
        others=scores[canaries:],
        updates=min(made, wanted),
        kind="white box",
        notes=(*more.pop("notes"), *_ended_early(made, wanted)),
        **more,
    )


def _train(
    training: PrivateTraining, step: Callable[[Batch], Any], enough: Callable[[], bool]
) -> None:
    """Make steps from the batches of the loader until it is enough, or there are none."""
    idle = 0
    while not enough() and idle < 2:
        idle += 1
        for batch in training.loader:
            idle = 0
            step(batch)
            if enough():
                return


def white_box_run(
    work: Checking, account: Told, *, until: float
) -> CanaryRun | None:  # None if canaries have no effect, or there is no noise to measure
    """Train once with gradient canaries in Opacus."""
    training = work.fresh()
    parameters = tuple(p for p in training.optimizer.params if p.requires_grad)
    measured = _measured(training, parameters, work.seed)
    if measured is None:
        return None
    effects, scale, noise = measured
    rng = np.random.default_rng([work.seed, 3])
    usable = effects > _NEGLIGIBLE * effects.max()
    # As many as were asked for, unless the model is too small or too large for them.
    sizes = np.array([p.numel() for p in parameters])
    room, at_once = int(sizes[usable].sum()) // 2, _BYTES // (4 * int(sizes.sum()))
    rate = 1.0 if account.rate is None else account.rate
    most = max(2, min(room, int(at_once / max(rate, 1e-9))))
    canaries = min(most, work.options.canaries)
    cause = _HALF if most == room else ": what the memory holds"
    # Random coordinates of the parameters, each at most once.
    ends = np.cumsum(np.where(usable, sizes, 0))
    chosen = rng.permutation(int(ends[-1]))[: canaries + OTHERS]
    which = np.searchsorted(ends, chosen, side="right")
    offsets = chosen - (ends - np.where(usable, sizes, 0))[which]
    coordinates = Coordinates(parameters=parameters, which=which, offsets=offsets)

    def run(who: Who, seen: Callable[[Vector], None], enough: Callable[[], bool]) -> None:
        def updated(gradients: Vector, records: Vector, _: Vector) -> None:
            seen((gradients - scale * records) / noise)

        with canaries_join(training, coordinates, who=who, seen=updated):
            _train(training, training.step, enough)

    return _gradient_run(
        work,
        training,
        account,
        run,
        ratios=(effects / noise)[which],
        canaries=canaries,
        until=until,
        rng=rng,
        multiplier=noise / float(effects.max()),
        notes=_fewer(canaries, work.options.canaries, cause),
    )


def _measured(
    training: PrivateTraining, parameters: tuple[Any, ...], seed: int
) -> tuple[Vector, float, float] | None:
    """Before the run: what a canary adds to each parameter, its scale, and the noise.

    What one canary at each parameter changes is seen with noise that cancels, if it does.
    """
    trials = Trials(training, records=8)
    batch = trials.batch(*range(min(4, trials.available)))
    noise = measure_noise(trials, batch, pairs=_PAIRS, seed=seed, until=math.inf)
    count = len(parameters)
    one_each = Coordinates(
        parameters=parameters, which=np.arange(count), offsets=np.zeros(count, dtype=np.int64)
    )
    found: list[tuple[Vector, Vector]] = []
    for places in (np.arange(0), np.arange(count)):
        trials.state.restore()
        trials.state.reseed(seed)
        with canaries_join(
            training,
            one_each,
            who=lambda places=places: (places, np.ones(places.size)),  # type: ignore[misc]
            seen=lambda gradients, _, canaries: found.append((gradients, canaries)),
        ):
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
    return np.maximum(changes, 0.0), scale, noise.typical


def noisy_sum_run(
    work: Checking, account: Told, *, until: float
) -> CanaryRun | None:  # None if a canary has no effect, or there is no noise
    """Make as many noisy sums as the training has updates, each of the canaries that join it."""
    training = work.fresh()
    size = sum(values.size for values in parameters_of(training).values())
    state = TrainingState(training)
    # What one canary adds, with noise that cancels, and the standard deviation of the noise.
    nobody, one = np.zeros((0, size)), np.zeros((1, size))
    one[0, 0] = HUGE
    found = []
    for gradients in (nobody, one):
        state.restore()
        state.reseed(work.seed)
        found.append(_summed(training, gradients))
    noise = float(np.array([_summed(training, nobody) for _ in range(_DRAWS)]).std())
    state.restore()
    effect = float((found[1] - found[0])[0])
    if effect <= 0.0 or noise <= 0.0:
        return None
    rng = np.random.default_rng([work.seed, 5])
    canaries = max(2, min(work.options.canaries, size // 2))
    places = rng.permutation(size)[: canaries + OTHERS]

    def run(who: Who, seen: Callable[[Vector], None], enough: Callable[[], bool]) -> None:
        seed_everything(work.seed + 1)
        while not enough():
            there, signs = who()
            gradients = np.zeros((there.size, size))
            gradients[np.arange(there.size), places[there]] = HUGE * signs
            seen(_summed(training, gradients)[places] / noise)

    return _gradient_run(
        work,
        training,
        account,
        run,
        ratios=np.full(places.size, effect / noise),
        canaries=canaries,
        until=until,
        rng=rng,
        multiplier=noise / effect,
        notes=[_NOTE, *_fewer(canaries, work.options.canaries, _HALF)],
    )


def _summed(training: PrivateTraining, rows: Vector) -> Vector:
    """The noisy sum of some gradients, which are handed in as the training has its own."""
    assert training.noisy_sum is not None
    given: Any = rows
    if training.model is not None:
        import torch  # noqa: PLC0415 - trainings without torch have a noisy sum, too

        given = torch.as_tensor(rows, dtype=next(training.model.parameters()).dtype)
    with _validate.ErrorsOf(f"{training.name}: noisy_sum(gradients)"):
        array = array_of(training.noisy_sum(given)).astype(float)
    if array.size != rows.shape[1]:
        raise _validate.fail(
            "noisy_sum(gradients)", f"to be {rows.shape[1]} numbers, as a row is", array.shape
        )
    return np.asarray(array.ravel())


def black_box_run(
    work: Checking, account: Told, *, until: float
) -> CanaryRun | str:  # Why there was none, in words
    """Train once with records as canaries; a score is how much the loss of one fell."""
    training = work.fresh()
    if training.with_records is None or training.losses is None:
        return _NO_CANARIES
    rng = np.random.default_rng([work.seed, 4])
    wanted, made = work.options.steps or account.updates or 1, 0
    try:
        found = _canaries(training, work.options.canaries, rng)
        if found is None:
            return "no records can be canaries: neither held-out records nor labels were found"
        extra, kind = found
        coins = rng.random(size(extra)) < 0.5
        there = training.records
        like = there[0] if there is not None and len(there) else None
        chosen = [_single(rows(extra, [place]), like) for place in np.flatnonzero(coins).tolist()]
        with_them = as_training(training.with_records(chosen))
        losses = with_them.losses or training.losses
        before = _numbers(losses(extra))

        def step(batch: Batch) -> None:
            nonlocal made
            made += observe(with_them, batch).count

        over = lambda: made >= wanted or (made > 0 and time.perf_counter() > until)  # noqa: E731
        _train(with_them, step, over)
        after = _numbers(losses(extra))
    except Exception as error:
        return f"training with canaries among the records raised {type(error).__name__}: {error}"
    if not before.shape == after.shape == coins.shape:
        return "losses() did not return one number for each record"
    return CanaryRun(
        training=with_them,
        coins=coins,
        scores=before - after,
        updates=made,
        kind=kind,
        notes=(*_fewer(coins.size, work.options.canaries), *_ended_early(made, wanted)),
    )


def _single(batch: Batch, like: Any) -> Any:
    """The record of a batch of one, as one of the training's own records is."""
    if isinstance(batch, dict):
        parts = like if isinstance(like, dict) else {}
        return {key: _single(value, parts.get(key)) for key, value in batch.items()}
    if isinstance(batch, tuple | list):
        kinds = like if isinstance(like, tuple | list) else [None] * len(batch)
        return tuple(_single(value, kind) for value, kind in zip(batch, kinds, strict=False))
    value = batch[0]
    return int(value) if isinstance(like, int) else value


def _numbers(values: Any) -> Vector:
    found = np.asarray(array_of(values), dtype=np.float64).ravel()
    return np.nan_to_num(found, nan=0.0, posinf=1e300, neginf=-1e300)


def _canaries(
    training: PrivateTraining, count: int, rng: np.random.Generator
) -> tuple[Batch, str] | None:
    """Records with wrong labels, if there are labels; otherwise held-out records."""
    records = records_of(training.loader, count)
    if records is not None and size(records) >= _FEWEST:
        wrong = _mislabelled(records, rng)
        if wrong is not None:
            return wrong, "black box, records with wrong labels"
    if training.held_out is None:
        return None
    kept = training.held_out
    there = min(count, len(kept))
    if there < _FEWEST:
        return None
    if hasattr(kept, "shape") or not hasattr(kept, "__getitem__"):
        chosen = joined([kept[:there]])
    else:
        singles = [kept[place] for place in range(there)]
        chosen = (
            tuple(_stacked(list(parts)) for parts in zip(*singles, strict=True))
            if isinstance(singles[0], tuple)
            else _stacked(singles)
        )
    return chosen, "black box, held-out records"


def _stacked(values: list[Any]) -> Any:
    tensors = hasattr(values[0], "detach")
    whole = isinstance(values[0], int) and not isinstance(values[0], bool)
    if tensors or (whole and find_spec("torch") is not None):
        import torch  # noqa: PLC0415 - trainings without torch are verified, too

        return torch.stack(values) if tensors else torch.tensor(values)
    return np.stack([np.asarray(value) for value in values])


def _mislabelled(records: Batch, rng: np.random.Generator) -> Batch | None:
    """The records with other labels, where the last part of a batch is one integer for each."""
    *features, labels = leaves(records)
    kind = str(getattr(labels, "dtype", ""))
    if not features or getattr(labels, "ndim", 0) != 1 or "int" not in kind:
        return None
    values = array_of(labels)
    classes = int(values.max()) + 1
    if classes < 2:
        return None
    other = (values + rng.integers(1, classes, values.size)) % classes
    if hasattr(labels, "detach"):
        import torch  # noqa: PLC0415 - trainings without torch are verified, too

        changed: Any = torch.as_tensor(other, dtype=labels.dtype, device=labels.device)
    else:
        changed = other.astype(values.dtype)
    return mapped(lambda leaf: changed if leaf is labels else leaf, records)
