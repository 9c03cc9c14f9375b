"""A training with Opacus, from what ``PrivacyEngine.make_private`` returned."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from rdpkit import Event, _validate
from rdpkit.adjacency import Adjacency
from rdpkit.verification.training import real_events
from rdpkit.verification.training.trainer import Batch, PrivateTraining


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
    return real_events.poisson(noise, rate=float(rate), updates=int(updates))


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
