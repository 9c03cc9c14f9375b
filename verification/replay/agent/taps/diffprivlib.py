"""Taps of diffprivlib: its mechanisms, outermost calls only, and its private quantiles."""

from __future__ import annotations

import functools
import inspect
import sys
from contextlib import ExitStack, contextmanager
from typing import Any, Callable, Dict, Iterator

from ..generators import replace_everywhere, replaced
from ..tape import current

# Attributes of a mechanism that hold what it hides, and no parameter of its noise.
_HIDDEN = ("utility",)
# Data-dependent by design: the exponential mechanism over the gaps between sorted records.
_PRIVATE_BY_DESIGN = ("quantile",)


@contextmanager
def tapped() -> Iterator[None]:
    """Calls of its mechanisms go to the current tape."""
    with ExitStack() as stack:
        for kind in _kinds(sys.modules["diffprivlib.mechanisms.base"].DPMechanism):
            if "randomise" in vars(kind):
                replaced(stack, kind, "randomise", _randomise(vars(kind)["randomise"]))
        quantiles = sys.modules["diffprivlib.tools.quantiles"]
        functions = [getattr(quantiles, name) for name in _PRIVATE_BY_DESIGN]
        pairs = [(function, _whole(function.__name__, function)) for function in functions]
        replace_everywhere(stack, pairs, prefix="diffprivlib")
        yield


def _kinds(base: Any) -> Iterator[Any]:
    yield base
    for kind in base.__subclasses__():
        yield from _kinds(kind)


def _randomise(draw: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(draw)
    def randomise(self: Any, value: Any = None) -> Any:
        compute = (
            functools.partial(draw, self) if value is None else functools.partial(draw, self, value)
        )
        tape = current()
        if tape is None:
            return compute()
        stated = {
            key: one
            for key, one in vars(self).items()
            if not key.startswith("_") and key != "random_state"
        }
        for key in _HIDDEN:
            value = stated.pop(key, value)
        return tape.call(
            type(self).__name__,
            compute,
            parameters=stated,
            value=value,
            sensitivity=stated.get("sensitivity"),
            declared=(float(self.epsilon), float(self.delta)),
        )

    return randomise


def _whole(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that is private as a whole, though what it draws from depends on its data."""
    signature = inspect.signature(function)

    @functools.wraps(function)
    def call(*args: Any, **given: Any) -> Any:
        tape = current()
        if tape is None:
            return function(*args, **given)
        bound = signature.bind(*args, **given)
        bound.apply_defaults()
        stated: Dict[str, Any] = dict(bound.arguments)
        stated.pop("array", None)
        for key in ("random_state", "accountant", "unused_args"):
            stated.pop(key, None)
        return tape.call(
            name,
            lambda: function(*args, **given),
            parameters=stated,
            declared=(float(stated.get("epsilon", 1.0)), 0.0),
        )

    return call
