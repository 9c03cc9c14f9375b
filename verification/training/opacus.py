"""Opacus: trainings from what ``make_private`` returned, and gradient canaries in them.

Just before the optimiser clips, rows are appended to the gradients of the batch's records. They are
huge at one coordinate and zero elsewhere, so that clipping makes each of them as long as a record
may be. Everything else is the training's own code.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdpkit import Event, _validate
from rdpkit.adjacency import Adjacency
from rdpkit.verification.training import events
from rdpkit.verification.training.trainer import Batch, PrivateTraining
from rdpkit.verification.training.updates import Vector, optimizer_hooks


def opacus_training(
    *,
    model: Any,
    optimizer: Any,
    loader: Any,
    loss: Callable[[Any, Any], Any],
    delta: float,
    epochs: float | None = None,
    steps: int | None = None,
    engine: Any = None,
    epsilon: float | None = None,
    event: Event | None = None,
    **more: Any,
) -> PrivateTraining:
    """A training with Opacus.

    The step is the usual one: ``optimizer.zero_grad()``, the loss of the model's output on the
    batch's features and labels, ``backward()``, ``optimizer.step()``. A training that does
    anything else hands in its own ``step``.

    Parameters
    ----------
    model, optimizer, loader
        What ``PrivacyEngine.make_private`` returned.
    loss : callable
        ``loss(output, labels)``.
    delta : float
        The claim's delta, in (0, 1).
    epochs, steps : float or int, optional
        How long the training is. One of the two.
    engine : opacus.PrivacyEngine, optional
        Its accountant is compared with what the training does.
    epsilon : float, optional
        The claimed epsilon; by default what the event implies.
    event : Event, optional
        What the accountant is told. By default :class:`rdpkit.DPSGD` with the optimiser's noise
        multiplier, Poisson samples at one over the length of the loader, as Opacus accounts, and
        the epochs or steps.
    **more
        Further fields of :class:`rdpkit.verification.training.trainer.PrivateTraining`.

    Returns
    -------
    PrivateTraining
        Under add-or-remove-one, which is what Opacus accounts for, unless ``adjacency`` is given.

    Raises
    ------
    ValueError
        If the optimiser is none of Opacus's, or not exactly one of epochs and steps is given.
    """
    for name in ("noise_multiplier", "max_grad_norm", "expected_batch_size"):
        if not hasattr(optimizer, name):
            raise _validate.fail(
                "optimizer", "to be what PrivacyEngine.make_private returned", optimizer
            )

    def step(batch: Batch) -> None:
        features, labels = batch
        model.train()
        optimizer.zero_grad()
        with warnings.catch_warnings():
            # torch says so of the hooks with which Opacus computes gradients of records.
            warnings.filterwarnings("ignore", message="Full backward hook", category=UserWarning)
            loss(model(features), labels).backward()
        optimizer.step()

    def losses(batch: Batch) -> Any:
        return _losses(model, loss, batch)

    given: dict[str, Any] = {"step": step, "losses": losses, **more}
    return PrivateTraining(
        loader=loader,
        event=event or _accounted(optimizer, loader, epochs, steps),
        adjacency=given.pop("adjacency", Adjacency.ADD_OR_REMOVE_ONE),
        delta=delta,
        epsilon=epsilon,
        model=model,
        optimizer=optimizer,
        accountant=getattr(engine, "accountant", None),
        max_grad_norm=_norm(optimizer.max_grad_norm),
        name=given.pop("name", "Opacus training"),
        **given,
    )


def _accounted(optimizer: Any, loader: Any, epochs: float | None, steps: int | None) -> Event:
    """What Opacus's hook tells the accountant: Poisson samples at one over the loader's length."""
    if (epochs is None) == (steps is None):
        raise ValueError(
            f"Expected epochs or steps, exactly one of the two, got epochs={epochs!r} and "
            f"steps={steps!r}."
        )
    updates = steps if steps is not None else round((epochs or 0) * len(loader))
    rate = getattr(loader, "sample_rate", None) or 1.0 / len(loader)
    noise = float(optimizer.noise_multiplier)
    return events.poisson(noise, rate=float(rate), updates=int(updates))


def _losses(model: Any, loss: Callable[[Any, Any], Any], batch: Batch) -> Any:
    """The loss of each record under the present model, without a gradient."""
    import torch  # noqa: PLC0415 - this module is imported by trainings without Opacus, too

    features, labels = batch
    was = model.training
    model.eval()
    try:
        with torch.no_grad():
            found = [
                float(loss(model(features[place : place + 1]), labels[place : place + 1]))
                for place in range(len(labels))
            ]
    finally:
        model.train(was)
    return found


def _norm(value: Any) -> float | None:
    """The clipping norm; that of all layers together if each has its own."""
    if isinstance(value, list | tuple):
        return float(sum(float(part) ** 2 for part in value) ** 0.5)
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


_HUGE = 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class Coordinates:
    """Coordinates of a model's parameters."""

    parameters: tuple[Any, ...]
    which: NDArray[np.int64]  # For each coordinate, the place of its parameter
    offsets: NDArray[np.int64]  # For each coordinate, its place in that parameter

    @property
    def count(self) -> int:
        """How many there are."""
        return int(self.which.size)

    def of_each_parameter(self) -> Iterator[tuple[int, Any, NDArray[np.int64]]]:
        """For each parameter that has some: its place, itself, and which coordinates it has."""
        for place, parameter in enumerate(self.parameters):
            mine = np.flatnonzero(self.which == place)
            if mine.size:
                yield place, parameter, mine

    def taken(self, values: list[Any]) -> Vector:
        """The entries of tensors, one for each parameter, at the coordinates; 0 where none is."""
        import torch  # noqa: PLC0415 - Opacus is for torch, this module is imported without it

        found = np.zeros(self.count)
        for place, _, mine in self.of_each_parameter():
            value = values[place]
            if value is not None:
                index = torch.as_tensor(self.offsets[mine], device=value.device)
                picked = value.detach().reshape(-1)[index]
                found[mine] = picked.double().cpu().numpy()
        return found


def takes_gradient_canaries(training: PrivateTraining) -> bool:
    """Whether the optimiser is one of Opacus's that clips gradients of records."""
    optimizer = training.optimizer
    return all(
        hasattr(type(optimizer), name) or name in getattr(optimizer, "__dict__", {})
        for name in ("clip_and_accumulate", "grad_samples", "original_optimizer", "params")
    )


def trainable(training: PrivateTraining) -> tuple[Any, ...]:
    """The parameters that the optimiser trains."""
    return tuple(p for p in training.optimizer.params if p.requires_grad)


class OpacusCanaries:
    """Puts canaries into updates, and sees what becomes of them."""

    def __init__(
        self,
        training: PrivateTraining,  # With an optimiser of Opacus
        coordinates: Coordinates,  # Of canaries, and after them others to compare with
        *,
        # ``who()`` returns who joins the next update, as places in ``coordinates`` and signs.
        who: Callable[[], tuple[NDArray[np.int64], Vector]],
        # ``seen(gradients, records)`` is called at each update with the noisy gradients at all
        # coordinates, and with what the records of the training contributed before the update was
        # scaled.
        seen: Callable[[Vector, Vector, Vector], None],
    ) -> None:
        self.optimizer = training.optimizer
        self.coordinates = coordinates
        self.who, self.seen = who, seen
        self._joined = False
        self._records = np.zeros(coordinates.count)
        self._canaries = np.zeros(coordinates.count)

    @contextlib.contextmanager
    def open(self) -> Iterator[None]:
        """Canaries join updates while the block runs."""
        clip = self.optimizer.clip_and_accumulate
        own = "clip_and_accumulate" in vars(self.optimizer)
        self.optimizer.clip_and_accumulate = lambda: self._clipped(clip)
        try:
            with optimizer_hooks(self._updated):
                yield
        finally:
            if own:
                self.optimizer.clip_and_accumulate = clip
            else:
                del self.optimizer.clip_and_accumulate

    def _clipped(self, clip: Callable[[], Any]) -> Any:
        """What the optimiser's own clipping does, with canaries among the records."""
        before = self._sums()
        records = self._without_canaries(clip)
        self._records += records - before
        if not self._joined:
            self._joined = True
            places, signs = self.who()
            if places.size:
                self._append(places, signs)
        result = clip()
        self._canaries += self._sums() - records
        return result

    def _without_canaries(self, clip: Callable[[], Any]) -> Vector:
        """The sum as it would be without them; nothing else is changed."""
        parameters = self.optimizer.params
        kept = [(p.grad_sample, p.summed_grad) for p in parameters]
        numbers = {
            name: value
            for name, value in vars(self.optimizer).items()
            if isinstance(value, bool | int | float)
        }
        for p in parameters:
            p.grad_sample = _fresh(p.grad_sample)
            p.summed_grad = None if p.summed_grad is None else p.summed_grad.clone()
        clip()
        found = self._sums()
        for p, (samples, total) in zip(parameters, kept, strict=True):
            p.grad_sample, p.summed_grad = samples, total
        vars(self.optimizer).update(numbers)
        return found

    def _sums(self) -> Vector:
        sums = [getattr(p, "summed_grad", None) for p in self.coordinates.parameters]
        return self.coordinates.taken(sums)

    def _append(self, places: NDArray[np.int64], signs: Vector) -> None:
        import torch  # noqa: PLC0415 - as above

        mine = {id(p): place for place, p in enumerate(self.coordinates.parameters)}
        for p in self.optimizer.params:
            samples = p.grad_sample
            last = samples[-1] if isinstance(samples, list) else samples
            if last is None:
                continue
            rows = torch.zeros((places.size, *p.shape), dtype=last.dtype, device=last.device)
            here = np.flatnonzero(self.coordinates.which[places] == mine.get(id(p), -1))
            if here.size:
                offsets = torch.as_tensor(self.coordinates.offsets[places[here]])
                values = torch.as_tensor(_HUGE * signs[here], dtype=last.dtype)
                flat = rows.reshape(places.size, -1)
                flat[torch.as_tensor(here), offsets] = values.to(last.device)
            joined = torch.cat([last.detach(), rows])
            p.grad_sample = [*samples[:-1], joined] if isinstance(samples, list) else joined

    def _updated(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if optimizer is not self.optimizer.original_optimizer or not self._joined:
            return
        gradients = self.coordinates.taken([p.grad for p in self.coordinates.parameters])
        records, canaries = self._records, self._canaries
        self._joined = False
        self._records = np.zeros(self.coordinates.count)
        self._canaries = np.zeros(self.coordinates.count)
        self.seen(gradients, records, canaries)


def _fresh(samples: Any) -> Any:
    """The same gradients, as tensors that no flag of Opacus is on."""
    if isinstance(samples, list):
        return [one.detach() for one in samples]
    return None if samples is None else samples.detach()
