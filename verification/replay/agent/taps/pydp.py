"""Taps of PyDP: its mechanisms and algorithms draw in compiled code, and are taken as wholes."""

from __future__ import annotations

import functools
import hashlib
import inspect
from contextlib import ExitStack, contextmanager
from typing import Any, Callable, Dict, Iterator, Tuple

from ..generators import replaced
from ..tape import Place, current, places_here
from .pipeline_dp import partition

_OF_A_NUMBER = ("add_noise", "should_keep", "noised_value_if_should_keep")
_METHODS = ("quick_result", "result", "compute_quantiles", *_OF_A_NUMBER)
_PARAMETERS = ("epsilon", "delta", "l0_sensitivity", "linf_sensitivity", "sensitivity",
               "diversity", "scale", "std", "threshold", "max_partitions_contributed")  # fmt: skip
_SCALES = {"LaplaceMechanism": ("laplace", "diversity"), "GaussianMechanism": ("normal", "std")}
# Where each mechanism that is alive was constructed.
_BUILT: Dict[int, Tuple[Place, ...]] = {}


@contextmanager
def tapped() -> Iterator[None]:
    """Calls of its mechanisms and algorithms go to the current tape."""
    import pydp  # noqa: PLC0415 - only where it is installed

    with ExitStack() as stack:
        compiled = pydp._pydp
        for module in (
            compiled._algorithms,
            compiled._mechanisms,
            compiled._partition_selection,
        ):
            for _, kind in inspect.getmembers(module, inspect.isclass):
                if kind.__name__ in _SCALES:
                    replaced(stack, kind, "__init__", _constructed(kind.__init__))
                for name in _METHODS:
                    if name in vars(kind):
                        replaced(stack, kind, name, _called(name, getattr(kind, name)))
        yield


def _constructed(construct: Callable[..., None]) -> Callable[..., None]:
    """A constructor that remembers the lines that led to it; its objects take no attributes."""

    @functools.wraps(construct)
    def init(self: Any, *args: Any, **given: Any) -> None:
        construct(self, *args, **given)
        if current() is not None:
            _BUILT[id(self)] = places_here()

    return init


def _called(name: str, draw: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(draw)
    def call(self: Any, *args: Any, **given: Any) -> Any:
        tape = current()
        if tape is None:
            return draw(self, *args, **given)
        stated = {
            key: one
            for key in _PARAMETERS
            for one in [given.get(key, getattr(self, key, None))]
            if isinstance(one, (int, float))
        }
        group = partition()
        return tape.call(
            "%s.%s%s" % (type(self).__name__, name, group),
            lambda: draw(self, *args, **given),
            parameters=stated,
            value=_hidden(self, name, args),
            sensitivity=stated.get("sensitivity"),
            built=_BUILT.get(id(self), ()),
            alone=bool(group) and name in _OF_A_NUMBER[1:],
            **_loss(type(self).__name__, name, stated),
        )

    return call


def _hidden(self: Any, name: str, args: Any) -> Any:
    """The number that noise is put on, or that decides; that which is kept shows no noise."""
    if name == "compute_quantiles":
        # Whether the counts of its nodes moved, in whatever order they are written.
        tree = hashlib.sha256(bytes(sorted(self.serialize().to_bytes())))
        return [float(int.from_bytes(tree.digest()[:6], "big"))]
    if not args or name not in _OF_A_NUMBER:
        return None
    return args[0] if name == "add_noise" else [args[0]]


def _loss(kind: str, name: str, stated: Dict[str, Any]) -> Dict[str, Any]:
    """From what accounting takes what a call spent."""
    if kind in _SCALES and name == "add_noise":
        family, scale = _SCALES[kind]
        return {"family": family, "scale": float(stated[scale])}
    if "epsilon" not in stated:
        return {}
    # A user is in some groups, each of which has a part of the budget.
    groups = stated.get("max_partitions_contributed", 1)
    return {"declared": (stated["epsilon"] / groups, stated.get("delta", 0.0) / groups)}
