"""How many updates a training makes, and what its accountant is told of them."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any

import numpy as np

from rdpkit import _validate
from rdpkit.verification.training.batches import size
from rdpkit.verification.training.trainer import PrivateTraining
from rdpkit.verification.training.updates import optimizer_hooks, parameters_of

History = list[tuple[float, float, int]]


class _EnoughError(BaseException):
    """Ends a training that has been seen for long enough; no handler of errors catches it."""


@dataclass(slots=True, eq=False)
class UpdateCounter:
    """Counts the updates of the trained parameters by torch optimisers while it is open."""

    training: PrivateTraining  # Whose parameters are looked for
    _: KW_ONLY
    until: float  # When the training is ended, by the clock of ``time.perf_counter``
    most: int | None = None  # After how many updates it is ended
    before: int = 0  # How many updates come before the first that uses a batch
    first: bytes = field(default=b"", init=False)
    count: int = field(default=0, init=False)
    multipliers: list[float] = field(default_factory=list, init=False)
    ended: bool = field(default=True, init=False)
    _moved: set[int] = field(default_factory=set, init=False)
    _known: set[int] = field(init=False)

    def __post_init__(self) -> None:
        model = self.training.model
        self._known = set() if model is None else {id(one) for one in model.parameters()}

    @contextlib.contextmanager
    def open(self) -> Iterator[UpdateCounter]:
        """Count while the block runs; it may be ended early."""
        try:
            with optimizer_hooks(self._before):
                yield self
        except _EnoughError:
            self.ended = False

    def _before(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        # Opacus's optimiser wraps another one, which alone moves parameters.
        if hasattr(optimizer, "original_optimizer"):
            return
        moved = {
            id(parameter)
            for group in optimizer.param_groups
            for parameter in group["params"]
            if parameter.grad is not None and id(parameter) in self._known
        }
        if not moved:
            return
        if time.perf_counter() > self.until or self.count == self.most:
            raise _EnoughError
        if self.count == self.before:
            # What the first update is made from; a fixed seed makes it the same again.
            self.first += b"".join(
                parameter.grad.detach().cpu().double().numpy().tobytes()
                for group in optimizer.param_groups
                for parameter in group["params"]
                if id(parameter) in moved
            )
        # Optimisers of different parameters make one update together.
        if self.count == 0 or moved & self._moved:
            self.count += 1
            self._moved = set()
            # As it is for this update; a schedule changes it afterwards.
            own = getattr(self.training.optimizer, "noise_multiplier", None)
            if isinstance(own, int | float):
                self.multipliers.append(float(own))
        self._moved |= moved


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """What was counted."""

    batches: int  # Batches that were handed to the step; 0 if the training ran by itself
    records: int  # Records in the batches of finished updates
    updates: int  # Noisy updates that were made
    history: History
    """What the accountant was told meanwhile: noise multiplier, sampling rate, steps."""
    whole: bool  # Whether the training came to its end
    multipliers: list[float] = field(default_factory=list)
    """The optimiser's noise multiplier at each update, where it has one."""
    first: bytes = b""  # The gradients of the first update

    def times(self, share: float) -> Counted:
        """The same with so many updates for each that was counted."""
        return replace(self, updates=math.ceil(share * self.updates - 1e-9))

    @property
    def told(self) -> int:
        """Steps that the accountant was told of."""
        return sum(steps for _, _, steps in self.history)


def history_of(training: PrivateTraining) -> History | None:
    """The accountant's history; None if it has none."""
    found = getattr(training.accountant, "history", None)
    if found is None:
        return None
    try:
        return [(float(noise), float(rate), int(steps)) for noise, rate, steps in found]
    except (TypeError, ValueError):
        return None


def count_steps(training: PrivateTraining, *, most: int, calls: int, until: float) -> Counted:
    """Hand batches to the step, up to a number of them or a time.

    Where no optimiser of torch is seen, one update is counted for so many ``calls`` of the step.
    """
    before, began = history_of(training) or [], parameters_of(training)
    batches = records = waiting = updates = 0
    multipliers: list[float] = []
    for batch in training.loader:
        counter = UpdateCounter(training, until=math.inf)
        watched = contextlib.nullcontext() if training.model is None else counter.open()
        with _validate.ErrorsOf(f"{training.name}: step(batch)"), watched:
            training.step(batch)
        multipliers += counter.multipliers
        batches += 1
        waiting += size(batch)
        updates += counter.count
        if counter.count:
            records, waiting = records + waiting, 0
        if batches >= most or time.perf_counter() > until:
            break
    after = parameters_of(training)
    if updates == 0 and any(np.any(after[name] != began[name]) for name in began):
        # No torch optimiser moves the parameters: the step does so itself.
        updates, records = batches // calls, waiting
    return Counted(
        batches=batches,
        records=records,
        updates=updates,
        history=_since(before, history_of(training) or []),
        whole=False,
        multipliers=multipliers,
    )


def count_training(
    training: PrivateTraining, *, until: float, most: int | None = None, leading: int = 0
) -> Counted:
    """Run the training itself, to its end, to a time or to a number of updates.

    Its first update that uses a batch comes after so many others.
    """
    assert training.train is not None
    before = history_of(training) or []
    counter = UpdateCounter(training, until=until, most=most, before=leading)
    with _validate.ErrorsOf(f"{training.name}: train()"), counter.open():
        training.train()
    return Counted(
        batches=0,
        records=0,
        updates=counter.count,
        history=_since(before, history_of(training) or []),
        whole=counter.ended,
        multipliers=counter.multipliers,
        first=counter.first,
    )


def _since(before: History, after: History) -> History:
    """What was added to a history, whose last entry may have grown."""
    found = []
    for place, (noise, rate, steps) in enumerate(after):
        old = before[place][2] if place < len(before) and before[place][:2] == (noise, rate) else 0
        if steps > old:
            found.append((noise, rate, steps - old))
    return found
