"""Taps of PyDP: its mechanisms and algorithms draw in compiled code, and are taken as wholes."""

from __future__ import annotations

import hashlib
import inspect
from contextlib import ExitStack
from typing import Any, Callable, Dict, Tuple

from ..tape import Place, places_here, tap_method
from .pipeline_dp import partition

_OF_A_NUMBER = ("add_noise", "should_keep", "noised_value_if_should_keep")
_METHODS = ("quick_result", "result", "compute_quantiles", *_OF_A_NUMBER)
_PARAMETERS = ("epsilon", "delta", "l0_sensitivity", "linf_sensitivity", "sensitivity",
               "diversity", "scale", "std", "threshold", "max_partitions_contributed")  # fmt: skip
_SCALES = {"LaplaceMechanism": ("laplace", "diversity"), "GaussianMechanism": ("normal", "std")}
# Where each mechanism that is alive was constructed.
_BUILT: Dict[int, Tuple[Place, ...]] = {}


def tap(stack: ExitStack) -> None:
    """Tap its mechanisms and algorithms."""
    import pydp  # noqa: PLC0415 - only where it is installed

    compiled = pydp._pydp
    for module in (compiled._algorithms, compiled._mechanisms, compiled._partition_selection):
        for _, kind in inspect.getmembers(module, inspect.isclass):
            if kind.__name__ in _SCALES:
                tap_method(stack, kind, "__init__", _constructed, inside=True)
            for name in _METHODS:
                tap_method(stack, kind, name, _called)


def _constructed(
    tape: Any, construct: Callable[..., None], self: Any, *args: Any, **given: Any
) -> None:
    """Remember the lines that led to a constructor, whose objects take no attributes."""
    construct(self, *args, **given)
    _BUILT[id(self)] = places_here()


def _called(tape: Any, draw: Callable[..., Any], self: Any, *args: Any, **given: Any) -> Any:
    stated = {
        key: one
        for key in _PARAMETERS
        for one in [given.get(key, getattr(self, key, None))]
        if isinstance(one, (int, float))
    }
    kind, name, group = type(self).__name__, draw.__name__, partition()
    return tape.call(
        "%s.%s%s" % (kind, name, group),
        lambda: draw(self, *args, **given),
        parameters=stated,
        value=_hidden(self, name, args),
        sensitivity=stated.get("sensitivity"),
        built=_BUILT.get(id(self), ()),
        alone=bool(group) and name in _OF_A_NUMBER[1:],
        **_loss(kind, name, stated),
    )


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
