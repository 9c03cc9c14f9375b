"""Taps of JAX Privacy: the noise that its privatizers add to sums of clipped gradients."""

from __future__ import annotations

import functools
import sys
from contextlib import ExitStack, contextmanager
from typing import Any, Callable, Dict, Iterator

import numpy as np

from ..generators import replaced
from ..tape import current


@contextmanager
def tapped() -> Iterator[None]:
    """Calls of its privatizers go to the current tape."""
    import jax_privacy.noise_addition  # noqa: PLC0415 - only where it is installed

    module = sys.modules["jax_privacy.noise_addition"]
    with ExitStack() as stack:
        for name in (
            "_dense_matrix_factorization_privatizer",
            "_streaming_matrix_factorization_privatizer",
        ):
            replaced(stack, module, name, _privatizer(getattr(module, name)))
        yield


def _privatizer(construct: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(construct)
    def made(*args: Any, **given: Any) -> Any:
        found = construct(*args, **given)
        if current() is None:
            return found
        return found._replace(update=_update(found.update, float(given["stddev"])))

    return made


def _update(update: Callable[..., Any], stddev: float) -> Callable[..., Any]:
    @functools.wraps(update)
    def call(gradients: Any, state: Any, parameters: Any = None) -> Any:
        tape = current()
        if tape is None or tape.is_quiet:
            return update(gradients, state, parameters)
        tree = sys.modules["jax"].tree
        leaves, form = tree.flatten(gradients)
        with tape.quiet():
            noisy, after = update(gradients, state, parameters)
        fresh = _flat(tree.leaves(noisy))
        # A privatizer without memory adds noise that is drawn afresh in every step.
        alone = isinstance(state, tuple) and not tree.leaves(state[1])
        known: Dict[str, Any] = {"family": "normal", "scale": stddev} if alone else {}
        answer = tape.call(
            "noise of a privatizer",
            lambda: fresh,
            parameters={"stddev": stddev},
            value=_flat(leaves),
            **known,
        )
        return tree.unflatten(form, _parts(answer, leaves)), after

    return call


def _flat(leaves: Any) -> np.ndarray:
    """All numbers of some arrays."""
    return np.concatenate([np.asarray(one, dtype=float).ravel() for one in leaves])


def _parts(numbers: np.ndarray, like: Any) -> Any:
    """Numbers as arrays of the same shapes as others."""
    as_array, found, start = sys.modules["jax"].numpy.asarray, [], 0
    for one in like:
        part = numbers[start : start + one.size].reshape(one.shape)
        found.append(as_array(part, dtype=one.dtype))
        start += one.size
    return found
