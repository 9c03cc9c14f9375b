"""How many calls of a training's step one noisy update is made from."""

from __future__ import annotations

import itertools
import time
from dataclasses import dataclass, replace
from typing import Any

from rdpkit.verification.training.batches import size
from rdpkit.verification.training.state import TrainingState
from rdpkit.verification.training.trainer import PrivateTraining
from rdpkit.verification.training.updates import observe, public_updates

_MOST_CALLS = 200
_ENOUGH, _EPOCHS, _TAKEN = 3, 8, 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Rhythm:
    """When updates are made."""

    calls: int = 1
    """How many calls of the step one update is made from: more than 1 where gradients are
    accumulated.
    """
    before: int = 0
    """How many calls come before those of the first update that is seen, as in a warm-up whose
    first learning rate is 0.
    """
    regular: bool = True  # Whether it is always the same number
    rounds: int = 1  # How many updates a call makes, where each makes several
    public: frozenset[int] = frozenset()
    """Which of these do not use the batch, as where a public data set is trained on in between."""
    sums: bool = False
    """Whether the noisy sums of the training's own function are looked at in place of updates."""

    @property
    def private(self) -> int:
        """How many updates of a call use its batch."""
        return self.rounds - len(self.public)

    @property
    def first(self) -> int:
        """How many updates of a call come before the first that uses its batch."""
        return min(set(range(self.rounds)) - self.public)


def rhythm_of(
    training: PrivateTraining,  # Which makes its first steps
    *,
    until: float,  # When to stop, by the clock of ``time.perf_counter``
) -> Rhythm:
    """Hand batches of the loader to the step, and see which calls make an update.

    The training is put back afterwards.
    """
    state = TrainingState(training)
    made: list[int] = []
    rounds: set[int] = set()
    epochs = itertools.chain.from_iterable(itertools.repeat(training.loader, _EPOCHS))
    taken = list(itertools.islice(epochs, _TAKEN))
    # A loader may tell the optimiser which updates to skip, as Opacus's does that splits batches.
    state.restore()
    batches = itertools.islice(itertools.cycle(taken), _MOST_CALLS)
    for calls, batch in enumerate(batches, start=1):
        update = observe(training, batch)
        if update.moved:
            made.append(calls)
            rounds.add(update.count)
        if len(made) == _ENOUGH or (calls >= _ENOUGH and time.perf_counter() > until):
            break
    state.restore()
    found = _of_calls(made)
    others = sorted(filter(size, taken), key=size)[-2:]
    if found.calls > 1 or len(rounds) != 1 or rounds == {1} or len(others) < 2:
        return found
    public = public_updates(training, *others)
    (each,) = rounds
    # An update that uses no batch at all is no noisy one, and something must be looked at.
    known = public if len(public) < each else frozenset()
    return replace(found, rounds=each, public=known)


def splits_batches(loader: Any) -> bool:
    """Whether a loader cuts batches that fit no memory, and tells the optimiser to wait."""
    sampler = getattr(loader, "batch_sampler", None)
    return hasattr(sampler, "max_batch_size") and hasattr(sampler, "optimizer")


def _of_calls(made: list[int]) -> Rhythm:
    """A rhythm from the numbers of the calls that made an update, counted from 1."""
    if len(made) < 2:
        return Rhythm(calls=made[0] if made else 1)
    gaps = {later - earlier for earlier, later in itertools.pairwise(made)}
    calls = min(gaps)
    if len(gaps) > 1 or made[0] < calls:
        return Rhythm(calls=1, before=0, regular=False)
    return Rhythm(calls=calls, before=made[0] - calls)
