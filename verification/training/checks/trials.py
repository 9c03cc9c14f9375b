"""Steps that are made again and again from one state of a training."""

from __future__ import annotations

import numpy as np

from rdpkit import _validate
from rdpkit.verification.training.batches import records_of, rows, scaled, size
from rdpkit.verification.training.rhythm import Rhythm
from rdpkit.verification.training.state import TrainingState, random_numbers_kept
from rdpkit.verification.training.trainer import Batch, PrivateTraining
from rdpkit.verification.training.updates import Update, observe

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

    def large(self, place: int, factor: float) -> Batch | None:
        """One record with features that are multiplied; None if they are no real numbers."""
        return scaled(self.batch(place), factor)

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
