"""Taps of JAX Privacy: the noise that its privatizers add to sums of clipped gradients."""

from __future__ import annotations

import functools
import sys
from contextlib import ExitStack
from typing import Any, Callable, Dict

import numpy as np

from ..tape import tap_method, taped


def tap(stack: ExitStack) -> None:
    """Tap what constructs privatizers."""
    import jax_privacy.noise_addition  # noqa: PLC0415 - only where it is installed

    module = sys.modules["jax_privacy.noise_addition"]
    for kind in ("dense", "streaming"):
        tap_method(stack, module, "_%s_matrix_factorization_privatizer" % kind, _privatizer)


def _privatizer(tape: Any, construct: Callable[..., Any], *args: Any, **given: Any) -> Any:
    found = construct(*args, **given)
    answer = functools.partial(_updated, float(given["stddev"]))
    return found._replace(update=taped(found.update, answer))


def _updated(
    stddev: float,
    tape: Any,
    update: Callable[..., Any],
    gradients: Any,
    state: Any,
    *parameters: Any,
) -> Any:
    tree = sys.modules["jax"].tree
    leaves, form = tree.flatten(gradients)
    with tape.quiet():
        noisy, after = update(gradients, state, *parameters)
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
