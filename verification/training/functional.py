"""A training whose state is handed from step to step, as in jax: parameters, optimiser, keys.

Nothing here imports jax: any arrays that numpy can read will do, in dictionaries, lists and tuples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from rdpkit import Event
from rdpkit.adjacency import Adjacency
from rdpkit.verification.training.trainer import Batch, PrivateTraining


class _Carried:
    """Parameters and state between steps; attributes, so that they are put back between trials."""

    def __init__(self, params: Any, state: Any) -> None:
        self.params = params
        self.state = state


def functional_training(
    step: Callable[[Any, Any, Batch], tuple[Any, Any]],
    *,
    params: Any,
    state: Any,
    reseeded: Callable[[Any, int], Any],
    loader: Iterable[Batch],
    event: Event,
    adjacency: Adjacency,
    delta: float,
    **more: Any,
) -> PrivateTraining:
    """A training from a pure function, such as one that is compiled with jax.

    Parameters
    ----------
    step : callable
        ``step(params, state, batch)`` returns the parameters and the state after one noisy update.
        For what is released to be seen, the optimiser must add the noisy gradient times a constant
        (plain gradient descent); momentum and Adam are verified with it in their place, because
        they come after the noise.
    params, state
        At the beginning: arrays, in dictionaries, lists and tuples. Random keys are in the state.
    reseeded : callable
        ``reseeded(state, seed)`` returns the state with random keys made of the seed, as in
        ``lambda state, seed: {**state, "key": jax.random.key(seed)}``.
    loader, event, adjacency, delta
        As in :class:`rdpkit.verification.training.trainer.PrivateTraining`.
    **more
        Its further fields.

    Returns
    -------
    PrivateTraining
        For :func:`rdpkit.verification.training.verify_training.verify_training`.
    """
    carried = _Carried(params, state)

    def one_step(batch: Batch) -> None:
        carried.params, carried.state = step(carried.params, carried.state, batch)

    def parameters() -> dict[str, Any]:
        return dict(_named("", carried.params))

    def reseed(seed: int) -> None:
        carried.state = reseeded(carried.state, seed)

    return PrivateTraining(
        step=one_step,
        parameters=parameters,
        reseed=reseed,
        loader=loader,
        event=event,
        adjacency=adjacency,
        delta=delta,
        objects=(*more.pop("objects", ()), carried),
        **more,
    )


def _named(path: str, tree: Any) -> Iterator[tuple[str, Any]]:
    """The arrays of a tree, each with its path."""
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield from _named(f"{path}.{key}" if path else str(key), value)
    elif isinstance(tree, list | tuple):
        for place, value in enumerate(tree):
            yield from _named(f"{path}.{place}" if path else str(place), value)
    else:
        yield path or "parameters", np.asarray(tree)
