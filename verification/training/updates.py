"""The noisy gradients of a training, seen as they reach the optimiser.

Where a torch optimiser makes the step, its gradients are read just before it does. They are what
DP-SGD releases; momentum, Adam and learning rates come afterwards and need not be undone. Where no
torch optimiser is used, the change of the parameters is read in their place.
"""

from __future__ import annotations

import contextlib
import copy
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdpkit import _validate
from rdpkit.verification.training.batches import array_of
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

    @property
    def moved(self) -> bool:
        """Whether anything was updated."""
        return self.seen or bool(np.any(self.vector))


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


class UpdateRecorder:
    """Sees the gradients of every torch optimiser while it is open."""

    def __init__(
        self,
        training: PrivateTraining,  # Whose parameters are looked for
        *,
        # Whether parameters are put back after each update, so that none depends on another.
        held: bool = False,
    ) -> None:
        self.training = training
        self._kept = (
            [(one, one.detach().clone()) for one in training.model.parameters()]
            if held and training.model is not None
            else []
        )
        self.found: list[dict[str, Any]] = []
        model = training.model
        self._names: dict[int, str] = (
            {} if model is None else {id(p): name for name, p in model.named_parameters()}
        )

    def open(self) -> contextlib.AbstractContextManager[None]:
        """Record while the block runs."""
        if self.training.model is None:
            return contextlib.nullcontext()
        return optimizer_hooks(self._before, self._after)

    def _after(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        for parameter, kept in self._kept:
            parameter.detach().copy_(kept)

    def _before(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        # Opacus's optimiser wraps another one, which sees the noisy gradient.
        if hasattr(optimizer, "original_optimizer"):
            return
        seen = {}
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                name = self._names.get(id(parameter))
                if name is not None and parameter.grad is not None:
                    seen[name] = parameter.grad.detach().double().cpu().numpy().ravel().copy()
        if seen:
            self.found.append(seen)


def observe(
    training: PrivateTraining,  # Whose step is called
    *batches: Batch,  # What it is called with
    # Which updates of a call do not use the batch, by their places; they are left out.
    public: frozenset[int] = frozenset(),
    # Whether the first noisy sum that the step asks ``noisy_sum`` for takes the update's place.
    sums: bool = False,
) -> Update:
    """Call ``step`` with each batch, one after the other, and return the updates that it made."""
    before = parameters_of(training)
    recorder = UpdateRecorder(training)
    released: list[Vector] = []

    def collected(gradients: Any) -> Any:
        assert training.noisy_sum is not None
        made = training.noisy_sum(gradients)
        released.append(array_of(made).astype(float).ravel())
        return made

    with (
        _validate.ErrorsOf(f"{training.name}: step(batch)"),
        recorder.open(),
        _noisy_sums(training, collected if sums else None),
    ):
        for batch in batches:
            training.step(batch)
    steps = [one for place, one in enumerate(_rounds(recorder.found)) if place not in public]
    seen = steps
    handed = bool(steps)
    if not steps:
        after = parameters_of(training)
        steps = [{name: before[name] - after[name] for name in before}]
        # A small difference of large numbers has the rounding errors of these.
        seen = [before]
    places: dict[str, slice] = {}
    begin = 0
    for name, values in before.items():
        places[name] = slice(begin, begin + values.size)
        begin += values.size
    vector = np.zeros(begin)
    for name, values in steps[0].items():
        vector[places[name]] = values
    if released and released[0].size == begin:
        vector, seen, handed = released[0], [{"noisy sum": released[0]}], True
    return Update(
        vector=vector,
        places=places,
        count=len(steps),
        buffers=_buffers(training),
        rounding=math.sqrt(sum(_unit(v) ** 2 * float(v @ v) for v in seen[0].values())),
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
    for batch in (one, other):
        state.reseed(_SEED)
        recorder = UpdateRecorder(training, held=True)
        with recorder.open():
            training.step(batch)
        state.restore()
        found.append(_rounds(recorder.found))
    first, second = found
    if len(first) != len(second):
        return frozenset()
    return frozenset(
        place
        for place, (mine, its) in enumerate(zip(first, second, strict=True))
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
        return {
            name: np.array(value, dtype=np.float64).ravel()
            for name, value in training.parameters().items()
        }
    return {
        name: parameter.detach().double().cpu().numpy().ravel().copy()
        for name, parameter in training.model.named_parameters()
        if parameter.requires_grad
    }


def _buffers(training: PrivateTraining) -> Vector:
    if training.model is None:
        return np.zeros(0)
    found = [
        buffer.detach().double().cpu().numpy().ravel()
        for buffer in training.model.buffers()
        if buffer.is_floating_point()
    ]
    return np.concatenate(found) if found else np.zeros(0)
