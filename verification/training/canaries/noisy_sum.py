"""One run with gradient canaries through a training's own function that clips and adds noise."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from rdpkit import _validate
from rdpkit.adjacency import Adjacency
from rdpkit.verification.training.canaries.joining import Joining, ended_early
from rdpkit.verification.training.canaries.white_box import OTHERS, WhiteBoxRun
from rdpkit.verification.training.options import TrainingOptions
from rdpkit.verification.training.state import TrainingState, seed_everything
from rdpkit.verification.training.told import Told
from rdpkit.verification.training.trainer import PrivateTraining, TrainingMaker
from rdpkit.verification.training.updates import Vector, parameters_of

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
    effect, noise = _measured(training, size, options.known_seed)
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


def _measured(training: PrivateTraining, size: int, seed: int) -> tuple[float, float]:
    """What one canary adds, with noise that cancels, and the standard deviation of the noise."""
    state = TrainingState(training)
    nobody, one = np.zeros((0, size)), np.zeros((1, size))
    one[0, 0] = _HUGE
    found = []
    for rows in (nobody, one):
        state.restore()
        state.reseed(seed)
        found.append(_summed(training, rows))
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
