"""Whether updates are changed after noise was added, so that it cannot be seen beside records."""

from __future__ import annotations

import itertools
from enum import StrEnum

import numpy as np

from rdpkit.verification.training.checks.effects import CLEAR
from rdpkit.verification.training.checks.moment import Moment
from rdpkit.verification.training.checks.noise import extremes_of
from rdpkit.verification.training.checks.trials import Trials
from rdpkit.verification.training.trainer import Batch
from rdpkit.verification.training.updates import Vector

_FEWEST_ENTRIES = 8
_EQUAL, _CLAMPED = 1e-3, 3
_OTHER_SEEDS = 20_000
# Beside what a record changes, which is compared with the noise to a few thousandths.
_BENT_BY = 0.005
_FOR_SOME = 20


class Changed(StrEnum):
    """Why what a record changes cannot be compared with the noise in updates."""

    SCALED = (
        "updates are scaled by their own size after noise was added, as Adam does, and no "
        "optimiser of torch was seen that is handed the noisy gradient; so what one record changes "
        "beside the noise was not looked at. Check the step with plain gradient descent in its "
        "place"
    )
    SPARSE = (
        "random numbers decide which entries an update has, so what one record changes was not "
        "compared with the noise. Check the step with all entries, or with the same ones in each "
        "step"
    )
    BENT = (
        "updates are a curved function of the sum with noise, so that the same noise moves two "
        "batches differently, and what one record changes was not compared with the noise. Check "
        "the step with plain gradient descent in its place"
    )


def changed_after_noise(moment: Moment, seed: int) -> Changed | None:
    """Why what a record changes beside the noise cannot be seen in updates; None if it can."""
    if moment.noise.sparse:
        return Changed.SPARSE
    if _scaled_after_noise(moment, seed):
        return Changed.SCALED
    # Whether a batch with a large record shows the same noise as another one differently.
    bent = bool(moment.found) and _bends(moment, moment.strongest, seed + _OTHER_SEEDS, pairs=2)
    return Changed.BENT if bent else None


def _scaled_after_noise(moment: Moment, seed: int) -> bool:
    """Whether updates are changed after noise was added: scaled to one length, or cut at some.

    So they are if they have one length whatever the noise is, or entries of one size, as Adam's; if
    the two longest of them are of one length; or if several entries are, in one update or another,
    of the largest size of all.
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
    # Where noise is cut off before it is added, only entries with equal gradients are that large.
    extremes = [*moment.noise.extremes, *itertools.chain(*map(extremes_of, updates))]
    largest = max(extreme for extreme, _ in extremes)
    clamped = len({place for extreme, place in extremes if extreme == largest}) >= _CLAMPED
    if several and (longest - second < same or clamped):
        return True
    entries = np.abs(np.concatenate(updates[:2]))
    typical = float(np.median(entries))
    near = np.abs(entries - typical) < _EQUAL * typical
    return not moment.handed and bool(near.mean() > 0.5)


def bends_sometimes(moment: Moment, seed: int) -> bool:
    """Whether some noise shows differently in a batch of all records, as a noisy divisor does."""
    trials = moment.trials
    if moment.width is not None or not moment.found:
        return False
    everything = trials.batch(*range(trials.available))
    return _bends(moment, everything, seed + 2 * _OTHER_SEEDS, pairs=_FOR_SOME)


def _bends(moment: Moment, other: Batch, seed: int, *, pairs: int) -> bool:
    """Whether another batch than the small one shows the same noise differently.

    Differences of two seeds are compared for several pairs of seeds. Whatever a batch does to the
    scale of each entry is the same for all; only a curved function of the sum with noise is not.
    """
    small, large = (
        [_between_seeds(moment.trials, batch, seed + 2 * pair) for pair in range(pairs)]
        for batch in (moment.small, other)
    )
    (first, rounding), (third, more) = small[0], large[0]
    apart = 0.0
    for (second, _), (fourth, _) in zip(small[1:], large[1:], strict=True):
        length = np.maximum(np.hypot(first, second), 1e-300)
        bend = (third * second - fourth * first) / length
        apart = max(apart, float(np.linalg.norm(bend)))
    return apart > max(_BENT_BY * moment.farthest, CLEAR * (rounding + more))


def _between_seeds(trials: Trials, batch: Batch, seed: int) -> tuple[Vector, float]:
    """The difference that two seeds make, and its rounding errors."""
    first, second = trials.update(batch, seed), trials.update(batch, seed + 1)
    return first.vector - second.vector, first.rounding + second.rounding
