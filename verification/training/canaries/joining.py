"""Which canaries join an update, and how what is seen of them becomes one score each.

Canaries join updates as the accountant was told that records do, whatever the loader does; the
sampler has a check of its own. The score of a coordinate is the logarithm of a likelihood ratio: of
all its noisy gradients if a canary is there, over the same if none is. No score is computed from a
coin.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rdpkit.verification.training.told import ALLOCATED, FULL, SHUFFLE, Told
from rdpkit.verification.training.updates import Vector

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
