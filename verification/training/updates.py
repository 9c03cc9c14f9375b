"""The noisy gradients of a training, seen and counted as they reach the optimiser.

Where a torch optimiser makes the step, its gradients are read just before it does. They are what
DP-SGD releases; momentum, Adam and learning rates come afterwards and need not be undone. Where no
torch optimiser is used, the change of the parameters is read in their place.
"""

from __future__ import annotations

import contextlib
import copy
import itertools
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdpkit import _validate
from rdpkit.verification.training.batches import array_of, size
from rdpkit.verification.training.state import TrainingState
from rdpkit.verification.training.trainer import Batch, PrivateTraining

Vector = NDArray[np.float64]
# The significant bits of bfloat16, float16 and float32; longer numbers are taken for the last.
_SHORT, _USUAL = (8, 11), 24
_SEED = 12_345


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    """The noisy updates that calls of ``step`` made."""

    vector: Vector
    """All parameters' noisy gradients, one after the other, of the first update; shape (d,)."""
    places: dict[str, slice]  # Where each parameter's part is: name to slice
    count: int  # How many updates were made
    buffers: Vector  # The model's floating-point buffers after the step
    rounding: float  # About how long the rounding errors of ``vector`` are
    seen: bool = True
    """Whether it is what an optimiser was handed; otherwise it is the change of the parameters."""


@contextlib.contextmanager
def optimizer_hooks(
    # Each is called with the optimiser, its arguments and its keywords.
    before: Callable[[Any, Any, Any], None],
    after: Callable[[Any, Any, Any], None] | None = None,
) -> Iterator[None]:
    """Call functions before and after every step of a torch optimiser while the block runs."""
    from torch.optim import optimizer  # noqa: PLC0415 - only for trainings with torch

    handles = [optimizer.register_optimizer_step_pre_hook(before)]
    if after is not None:
        handles.append(optimizer.register_optimizer_step_post_hook(after))
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


@contextlib.contextmanager
def _gradients_handed(
    training: PrivateTraining,  # Whose parameters are looked for
    # Called with the gradients that each torch optimiser is handed, by their names.
    see: Callable[[dict[str, Any]], None] | None = None,
    after: Callable[[Any, Any, Any], None] | None = None,
) -> Iterator[list[dict[str, Vector]]]:  # Copies of them, if no function looks at them
    kept: list[dict[str, Vector]] = []
    if training.model is None:
        yield kept
        return
    names = {id(one): name for name, one in training.model.named_parameters()}

    def before(optimizer: Any, args: Any, kwargs: Any) -> None:
        # Opacus's optimiser wraps another one, which sees the noisy gradient and moves parameters.
        if hasattr(optimizer, "original_optimizer"):
            return
        found = {
            names[id(one)]: one.grad
            for group in optimizer.param_groups
            for one in group["params"]
            if one.grad is not None and id(one) in names
        }
        if found and see is not None:
            see(found)
        elif found:
            kept.append({name: _vector(gradient) for name, gradient in found.items()})

    with optimizer_hooks(before, after):
        yield kept


def _vector(values: Any) -> Vector:
    """A copy of the entries of a tensor or an array."""
    return np.array(array_of(values), dtype=np.float64).ravel()


def observe(training: PrivateTraining, *batches: Batch, rhythm: Rhythm | None = None) -> Update:
    """Call ``step`` with each batch, one after the other, and return the updates that it made.

    The rhythm says which of a call's updates, or whether noisy sums, are looked at.
    """
    public, sums = (rhythm.public, rhythm.sums) if rhythm else (frozenset[int](), False)
    before = parameters_of(training)
    released: list[Vector] = []

    def collected(gradients: Any) -> Any:
        assert training.noisy_sum is not None
        made = training.noisy_sum(gradients)
        released.append(_vector(made))
        return made

    with (
        _validate.ErrorsOf(f"{training.name}: step(batch)"),
        _gradients_handed(training) as found,
        _noisy_sums(training, collected if sums else None),
    ):
        for batch in batches:
            training.step(batch)
    steps = [one for place, one in enumerate(_rounds(found)) if place not in public]
    handed = bool(steps)
    if handed:
        seen = steps[0]
    else:
        after = parameters_of(training)
        steps = [{name: before[name] - after[name] for name in before}]
        # A small difference of large numbers has the rounding errors of these; and one from 0 those
        # of the update.
        seen = {n: np.maximum(np.abs(before[n]), np.abs(after[n])) for n in before}
    ends = [0, *itertools.accumulate(values.size for values in before.values())]
    places = dict(zip(before, itertools.starmap(slice, itertools.pairwise(ends)), strict=True))
    vector = np.zeros(ends[-1])
    for name, values in steps[0].items():
        vector[places[name]] = values
    if released and released[0].size == vector.size:
        vector, seen, handed = released[0], {"noisy sum": released[0]}, True
    buffers = [] if training.model is None else training.model.buffers()
    floats = [_vector(buffer) for buffer in buffers if buffer.is_floating_point()]
    return Update(
        vector=vector,
        places=places,
        count=len(steps),
        buffers=np.concatenate([*floats, np.zeros(0)]),
        rounding=math.sqrt(sum(_unit(v) ** 2 * float(v @ v) for v in seen.values())),
        seen=handed,
    )


@contextlib.contextmanager
def _noisy_sums(training: PrivateTraining, answer: Callable[[Any], Any] | None) -> Iterator[None]:
    """Answer in the place of the training's own ``noisy_sum``, where that is a method."""
    own = training.noisy_sum
    owner = next((one for one in training.objects if getattr(one, "noisy_sum", None) == own), None)
    if answer is None or own is None or not hasattr(owner, "__dict__"):
        yield
        return
    kept = vars(owner).get("noisy_sum")
    owner.noisy_sum = answer  # type: ignore[union-attr]
    try:
        yield
    finally:
        del owner.noisy_sum  # type: ignore[union-attr]
        if kept is not None:
            owner.noisy_sum = kept  # type: ignore[union-attr]


def uses_sums_alone(training: PrivateTraining, one: Batch, other: Batch) -> bool:
    """Whether two batches give the same update where the noisy sum that the step asks for is one.

    Then nothing else of a batch is in it. The training is put back before and after.
    """
    own, state, kept = training.noisy_sum, TrainingState(training), []
    assert own is not None

    def same(gradients: Any) -> Any:
        kept.append(own(gradients))
        return copy.deepcopy(kept[0])

    found = []
    for batch in (one, other):
        state.reseed(_SEED)
        with _noisy_sums(training, same):
            found.append(observe(training, batch).vector)
        state.restore()
    return len(kept) > 1 and np.array_equal(found[0], found[1])


def public_updates(training: PrivateTraining, one: Batch, other: Batch) -> frozenset[int]:
    """Which of the updates of a call are the same for two batches, where none depends on another.

    The training is put back before and after; equal random numbers are drawn for both.
    """
    found = []
    state = TrainingState(training)
    parameters = [] if training.model is None else list(training.model.parameters())
    kept = [(one, one.detach().clone()) for one in parameters]

    def put_back(*_: Any) -> None:
        for parameter, value in kept:
            parameter.detach().copy_(value)

    for batch in (one, other):
        state.reseed(_SEED)
        with _gradients_handed(training, after=put_back) as seen:
            training.step(batch)
        state.restore()
        found.append(_rounds(seen))
    if len({len(rounds) for rounds in found}) > 1:
        return frozenset()
    return frozenset(
        place
        for place, (mine, its) in enumerate(zip(*found, strict=True))
        if mine.keys() == its.keys() and all(np.array_equal(mine[name], its[name]) for name in mine)
    )


def _unit(values: Vector) -> float:
    """The relative rounding error of numbers, by the bits that they have."""
    mantissas, _ = np.frexp(values)
    for bits in _SHORT:
        if not np.any(np.ldexp(mantissas, bits) % 1.0):
            return 2.0 ** (1 - bits)
    return 2.0 ** (1 - _USUAL)


def _rounds(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Steps of several optimisers as one, as long as they move different parameters."""
    rounds: list[dict[str, Any]] = []
    for step in found:
        if rounds and not rounds[-1].keys() & step.keys():
            rounds[-1] = {**rounds[-1], **step}
        else:
            rounds.append(dict(step))
    return rounds


def parameters_of(training: PrivateTraining) -> dict[str, Vector]:
    """All parameters at present, those of the model or those that the training hands out."""
    if training.parameters is not None:
        found = training.parameters()
    else:
        found = {name: p for name, p in training.model.named_parameters() if p.requires_grad}
    return {name: _vector(value) for name, value in found.items()}


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


def rhythm_of(training: PrivateTraining, *, until: float) -> Rhythm:
    """Hand batches of the loader to the step, and see which calls make an update.

    That takes until a time of ``time.perf_counter`` at most, and the training is put back.
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
        if update.seen or np.any(update.vector):
            made.append(calls)
            rounds.add(update.count)
        if len(made) == _ENOUGH or (calls >= _ENOUGH and time.perf_counter() > until):
            break
    state.restore()
    gaps = {later - earlier for earlier, later in itertools.pairwise(made)}
    # One update alone comes after as many calls as it is made from.
    calls = min(gaps or made, default=1)
    found = Rhythm(calls=calls, before=made[0] - calls if made else 0)
    if len(gaps) > 1 or found.before < 0:
        found = Rhythm(regular=False)
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


History = list[tuple[float, float, int]]


class _EnoughError(BaseException):
    """Ends a training that has been seen for long enough; no handler of errors catches it."""


@dataclass(slots=True, eq=False)
class Counted:
    """Counts the updates of the trained parameters by torch optimisers while it is open."""

    training: PrivateTraining  # Whose parameters are looked for
    _: KW_ONLY
    until: float = math.inf  # When the training is ended, by the clock of ``time.perf_counter``
    most: int | None = None  # After how many updates it is ended
    leading: int = 0  # How many updates come before the first that uses a batch
    batches: int = field(default=0, init=False)
    """Batches that were handed to the step; 0 if the training ran by itself."""
    records: int = field(default=0, init=False)  # Records in the batches of finished updates
    updates: int = field(default=0, init=False)  # Noisy updates that were made
    whole: bool = field(default=True, init=False)  # Whether the training came to its end
    multipliers: list[float] = field(default_factory=list, init=False)
    """The optimiser's noise multiplier at each update, where it has one."""
    first: bytes = field(default=b"", init=False)  # The gradients of the first update of a batch
    history: History = field(default_factory=list, init=False)
    """What the accountant was told meanwhile: noise multiplier, sampling rate, steps."""
    _moved: set[str] | None = field(default=None, init=False)

    @property
    def told(self) -> int:
        """Steps that the accountant was told of."""
        return sum(steps for _, _, steps in self.history)

    @contextlib.contextmanager
    def open(self, call: str) -> Iterator[None]:
        """Count while the block runs, which makes a call; it may be ended early."""
        self._moved = None
        try:
            with (
                _validate.ErrorsOf(f"{self.training.name}: {call}"),
                _gradients_handed(self.training, self._see),
            ):
                yield
        except _EnoughError:
            self.whole = False

    def _see(self, gradients: dict[str, Any]) -> None:
        if time.perf_counter() > self.until or self.updates == self.most:
            raise _EnoughError
        if self.updates == self.leading:
            # What the first update is made from; a fixed seed makes it the same again.
            self.first += b"".join(_vector(one).tobytes() for one in gradients.values())
        # Optimisers of different parameters make one update together.
        if self._moved is None or gradients.keys() & self._moved:
            self.updates += 1
            self._moved = set()
            # As it is for this update; a schedule changes it afterwards.
            own = getattr(self.training.optimizer, "noise_multiplier", None)
            if isinstance(own, int | float):
                self.multipliers.append(float(own))
        self._moved |= gradients.keys()


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
    before, began = history_of(training), parameters_of(training)
    counted, waiting = Counted(training), 0
    for batch in training.loader:
        made = counted.updates
        with counted.open("step(batch)"):
            training.step(batch)
        counted.batches += 1
        waiting += size(batch)
        if counted.updates > made:
            counted.records, waiting = counted.records + waiting, 0
        if counted.batches >= most or time.perf_counter() > until:
            break
    after = parameters_of(training)
    if counted.updates == 0 and any(np.any(after[name] != began[name]) for name in began):
        # No torch optimiser moves the parameters: the step does so itself.
        counted.updates, counted.records = counted.batches // calls, waiting
    counted.history = _since(before, history_of(training))
    return counted


def count_training(training: PrivateTraining, **limits: Any) -> Counted:
    """Run the training itself, to its end or to one of the limits of :class:`Counted`."""
    assert training.train is not None
    before, counted = history_of(training), Counted(training, **limits)
    with counted.open("train()"):
        training.train()
    counted.history = _since(before, history_of(training))
    return counted


def _since(before: History | None, after: History | None) -> History:
    """What was added to a history, whose last entry may have grown."""
    found = []
    told_before = itertools.chain(before or [], itertools.repeat(None))
    for old, (noise, rate, steps) in zip(told_before, after or [], strict=False):
        more = steps - old[2] if old is not None and old[:2] == (noise, rate) else steps
        if more > 0:
            found.append((noise, rate, more))
    return found
