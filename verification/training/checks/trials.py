"""Steps that are made again and again from one state, and what one record changes in them.

That is exact, because the noise is the same with and without the record. Where the batch grows by
the record, the change is its clipped gradient. Where batches have a fixed size, the record takes
another one's place, and half the change is what one record may move.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, field

import numpy as np

from rdpkit import _validate
from rdpkit.verification.training.batches import joined, records_of, rows, scaled, size
from rdpkit.verification.training.state import TrainingState, random_numbers_kept
from rdpkit.verification.training.trainer import Batch, PrivateTraining
from rdpkit.verification.training.updates import Rhythm, Update, Vector, observe

_FEWEST = 4


class Trials:
    """Updates from the same state, with chosen batches and seeds."""

    def __init__(
        self,
        training: PrivateTraining,  # Which is put back before every trial
        *,
        records: int,  # How many records to take from the loader
        # How many calls of the step make an update. The first one has the batch of the trial, and
        # the others the same few records each time.
        rhythm: Rhythm | None = None,
        found: Batch | None = None,  # Records that were taken from the loader before
    ) -> None:
        self.training = training
        self.rhythm = rhythm or Rhythm()
        if found is None:
            before = TrainingState(training)
            with random_numbers_kept():
                found = records_of(training.loader, records)
            before.restore()
        there = 0 if found is None else size(found)
        if there < _FEWEST:
            raise _validate.fail("loader", f"to yield at least {_FEWEST} records", there)
        self.records: Batch = found
        for _ in range(self.rhythm.before):
            training.step(self.batch(0, 1))
        self.state = TrainingState(training)
        self.made = 0

    @property
    def available(self) -> int:
        """How many records there are."""
        return size(self.records)

    def batch(self, *which: int) -> Batch:
        """Records as a batch, by their places."""
        return rows(self.records, which)

    def update(self, batch: Batch, seed: int) -> Update:
        """The update from the state at the beginning, with all generators seeded."""
        self.state.restore()
        self.state.reseed(seed)
        self.made += 1
        return self.observed(batch)

    def observed(self, batch: Batch) -> Update:
        """The next update, from the present state and with the present random numbers."""
        others = [self.batch(0, 1)] * (self.rhythm.calls - 1)
        rhythm = self.rhythm
        return observe(self.training, batch, *others, public=rhythm.public, sums=rhythm.sums)

    def same_again(self, batch: Batch, seed: int) -> bool:
        """Whether the same batch and seed give the same update: then noise can be cancelled."""
        first, second = self.update(batch, seed), self.update(batch, seed)
        return bool(np.array_equal(first.vector, second.vector))

    def draws_alike(self, batch: Batch, other: Batch, seed: int) -> bool:
        """Whether two batches leave the random generators alike, so that noise cancels.

        Dropout and augmentation draw more for a larger batch; then all later noise is another one.
        """
        self.update(batch, seed)
        first = self.state.random_digest()
        self.update(other, seed)
        return first == self.state.random_digest()


FACTORS = (1.0, 10.0, 100.0)
SMALL, LARGE = 2, 8
# With equal seeds nothing is random in a difference of updates, so that comparing them has no error
# rate: what could be taken for an effect is rounding alone. ``Effect.rounding`` is a unit in the
# last place of every entry, and a sum of n terms is off by about sqrt(n) / 2 of these.
ROUNDED = 5.0
"""The rounding errors of sums of a hundred terms, which are subtracted from a difference."""
ROUNDED_LEAST = 3.0
"""The same where the rest is divided by a limit of the noise, which is on the safe side itself."""
MOVED = 10.0
"""A parameter moves with a record if it does by more than this many rounding errors."""
CLEAR = 20.0
"""Differences are compared with each other if they are clear of so many: those of 1,600 terms."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """What one record changed."""

    record: int  # Which record
    factor: float  # What its features were multiplied with
    base: int  # Which batch it joined
    change: Vector
    """The change of the update, or half of it where the record took another one's place."""
    buffers: float  # How much the model's buffers changed
    rounding: float  # About how long the rounding errors of ``change`` are

    @property
    def length(self) -> float:
        """How far the update moved."""
        return float(np.linalg.norm(self.change))


@dataclass(slots=True, eq=False)
class Effects:
    """Effects of records on updates."""

    trials: Trials  # Makes the updates
    _: KW_ONLY
    seed: int  # Of all updates
    joins: bool  # Whether batches grow by the record; otherwise it takes another one's place
    width: int | None = None  # The size of every batch, where the step takes no other
    bases: list[list[int]] = field(init=False)  # Two batches, by the places of their records
    records: list[int] = field(init=False)  # The places of records that are looked at
    _before: dict[int, Update] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        there = self.trials.available
        half = max(2, there // 2)
        small, large = list(range(min(SMALL, half))), list(range(min(self.width or LARGE, half)))
        others = list(range(len(large), min(2 * len(large), there)))
        # With batches of a fixed size both bases have it. They hold different records but for the
        # last one, whose place is taken.
        if not self.joins:
            small = [*(others + large)[: len(large) - 1], large[-1]]
        self.bases = [small, large]
        self.records = [one for one in reversed(range(there)) if one not in large] or [there - 1]

    def of(self, record: int, factor: float, base: int) -> Effect | None:
        """The effect of one record that joins a base, or takes the last one's place.

        None if its features cannot be multiplied.
        """
        joining = self.record(record, factor)
        if joining is None:
            return None
        others = self.bases[base]
        if base not in self._before:
            self._before[base] = self.trials.update(self.trials.batch(*others), self.seed)
        before = self._before[base]
        around = others if self.joins else others[:-1]
        after = self.trials.update(joined([self.trials.batch(*around), joining]), self.seed)
        share = 1.0 if self.joins else 0.5
        buffers = after.buffers - before.buffers
        return Effect(
            record=record,
            factor=factor,
            base=base,
            change=share * (after.vector - before.vector),
            buffers=float(np.abs(buffers).max()) if buffers.size else 0.0,
            rounding=share * (after.rounding + before.rounding),
        )

    def record(self, place: int, factor: float) -> Batch | None:
        """One record, with its features multiplied; None if they are no real numbers."""
        one = self.trials.batch(place)
        return one if factor == 1.0 else scaled(one, factor)

    def together(self, places: list[int], other: Batch) -> Batch:
        """Records by their places and one more, as a batch."""
        return joined([self.trials.batch(*places), other]) if places else other

    def all(self, *, records: int, until: float) -> Iterator[Effect]:
        """Effects of several records, with features as they are and multiplied, on both bases."""
        for number, record in enumerate(self.records[:records]):
            for factor in FACTORS:
                if number >= 2 and time.perf_counter() > until:
                    return
                for base in range(2):
                    found = self.of(record, factor, base)
                    if found is not None and np.isfinite(found.change).all():
                        yield found
