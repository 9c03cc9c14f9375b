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
        name=given.pop("name", "Opacus training"),
        **given,
    )


def _accounted(optimizer: Any, loader: Any, epochs: float | None, steps: int | None) -> Event:
    if (epochs is None) == (steps is None):
        raise ValueError(
            f"Expected epochs or steps, exactly one of the two, got epochs={epochs!r} and "
            f"steps={steps!r}."
        )
    updates = steps if steps is not None else round((epochs or 0) * len(loader))
    rate = getattr(loader, "sample_rate", None) or 1.0 / len(loader)
    noise = float(optimizer.noise_multiplier)
    # As Opacus's hook tells the accountant.
    return events.poisson(noise, rate=float(rate), updates=int(updates))


HUGE = 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class Coordinates:
    """Coordinates of a model's parameters."""

    parameters: tuple[Any, ...]
    which: NDArray[np.int64]  # For each coordinate, the place of its parameter
    offsets: NDArray[np.int64]  # For each coordinate, its place in that parameter

    def taken(self, name: str) -> Vector:
        """The entries of such tensors of the parameters at the coordinates; 0 where none is."""
        import torch  # noqa: PLC0415 - Opacus is for torch, this module is imported without it

        found = np.zeros(self.which.size)
        for place, parameter in enumerate(self.parameters):
            mine, value = np.flatnonzero(self.which == place), getattr(parameter, name, None)
            if mine.size and value is not None:
                index = torch.as_tensor(self.offsets[mine], device=value.device)
                picked = value.detach().reshape(-1)[index]
                found[mine] = picked.double().cpu().numpy()
        return found

    def append(self, optimizer: Any, places: NDArray[np.int64], signs: Vector) -> None:
        """Append a row for each of some coordinates to the gradients of records."""
        import torch  # noqa: PLC0415 - as above

        mine = {id(p): place for place, p in enumerate(self.parameters)}
        for p in optimizer.params:
            samples = p.grad_sample
            last = samples[-1] if isinstance(samples, list) else samples
            if last is None:
                continue
            rows = torch.zeros((places.size, *p.shape), dtype=last.dtype, device=last.device)
            here = np.flatnonzero(self.which[places] == mine.get(id(p), -1))
            if here.size:
                offsets = torch.as_tensor(self.offsets[places[here]])
                values = torch.as_tensor(HUGE * signs[here], dtype=last.dtype)
                flat = rows.reshape(places.size, -1)
                flat[torch.as_tensor(here), offsets] = values.to(last.device)
            joined = torch.cat([last.detach(), rows])
            p.grad_sample = [*samples[:-1], joined] if isinstance(samples, list) else joined


def takes_gradient_canaries(training: PrivateTraining) -> bool:
    """Whether the optimiser is one of Opacus's that clips gradients of records."""
    optimizer = training.optimizer
    return all(
        hasattr(type(optimizer), name) or name in getattr(optimizer, "__dict__", {})
        for name in ("clip_and_accumulate", "grad_samples", "original_optimizer", "params")
    )


@contextlib.contextmanager
def canaries_join(
    training: PrivateTraining,  # With an optimiser of Opacus
    coordinates: Coordinates,  # Of canaries, and after them others to compare with
    *,
    # ``who()`` returns who joins the next update, as places in ``coordinates`` and signs.
    who: Callable[[], tuple[NDArray[np.int64], Vector]],
    # ``seen(gradients, records, canaries)`` is called at each update with the noisy gradients at
    # all coordinates, and with what the records of the training and the canaries contributed before
    # the update was scaled.
    seen: Callable[[Vector, Vector, Vector], None],
) -> Iterator[None]:
    """Put canaries into updates while the block runs, and see what becomes of them."""
    optimizer = training.optimizer
    clip = optimizer.clip_and_accumulate
    own = "clip_and_accumulate" in vars(optimizer)
    joined = False
    contributed = np.zeros((2, coordinates.which.size))

    def clipped() -> Any:
        """What the optimiser's own clipping does, with canaries among the records."""
        nonlocal joined
        before = coordinates.taken("summed_grad")
        records = _without_canaries(optimizer, clip, coordinates)
        contributed[0] += records - before
        if not joined:
            joined = True
            places, signs = who()
            if places.size:
                coordinates.append(optimizer, places, signs)
        result = clip()
        contributed[1] += coordinates.taken("summed_grad") - records
        return result

    def updated(updating: Any, args: Any, kwargs: Any) -> None:
        nonlocal joined
        if updating is optimizer.original_optimizer and joined:
            gradients, (records, canaries) = coordinates.taken("grad"), contributed.copy()
            joined = False
            contributed[:] = 0.0
            seen(gradients, records, canaries)

    optimizer.clip_and_accumulate = clipped
    try:
        with optimizer_hooks(updated):
            yield
    finally:
        if own:
            optimizer.clip_and_accumulate = clip
        else:
            del optimizer.clip_and_accumulate


def _without_canaries(optimizer: Any, clip: Callable[[], Any], coordinates: Coordinates) -> Vector:
    """The sum as it would be without them; nothing else is changed."""
    kept = [(p, p.grad_sample, p.summed_grad) for p in optimizer.params]
    plain = bool | int | float
    numbers = {name: one for name, one in vars(optimizer).items() if isinstance(one, plain)}
    for p, samples, total in kept:
        # The same gradients, as tensors that no flag of Opacus is on.
        if isinstance(samples, list):
            p.grad_sample = [one.detach() for one in samples]
        else:
            p.grad_sample = None if samples is None else samples.detach()
        p.summed_grad = None if total is None else total.clone()
    clip()
    found = coordinates.taken("summed_grad")
    for p, samples, total in kept:
        p.grad_sample, p.summed_grad = samples, total
    vars(optimizer).update(numbers)
    return found
