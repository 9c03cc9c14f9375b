"""Functions of a library that draw noise on a zero with OpenDP, to be added to a value later.

dpmm and SmartNoise's synthesizers have them, and add the noise to marginals and answers.
"""

from __future__ import annotations

import functools
import importlib
import sys
from contextlib import ExitStack
from typing import Any, Callable

import numpy as np

from ..generators import replace_everywhere
from ..noise import NoisyArray, again, noise
from ..tape import replaced, taped

_FAMILIES = {"gaussian_noise": "normal", "laplace_noise": "laplace"}
_MODULES = {"dpmm": "dpmm.models.base.utils", "snsynth": "snsynth.utils"}
# They make an array of the noise before they add it to marginals.
_MAKING_ARRAYS = ("snsynth.mst.mst", "snsynth.aim.aim")


def tap(stack: ExitStack) -> None:
    """Tap what draws noise in those of the libraries that are imported."""
    for package, name in _MODULES.items():
        if package in sys.modules:
            tap_noise_functions(stack, importlib.import_module(name), package)
    for name in _MAKING_ARRAYS:
        if name in sys.modules:
            replaced(stack, sys.modules[name], "np", KeepingNumpy())


def tap_noise_functions(stack: ExitStack, module: Any, package: str) -> None:
    """What the functions of a module draw knows its scale until it meets a value."""
    pairs = [
        (function, taped(function, functools.partial(_drawn, family), inside=True))
        for name, family in _FAMILIES.items()
        for function in [getattr(module, name, None)]
        if function is not None
    ]
    replace_everywhere(stack, pairs, prefix=package)


def _drawn(family: str, tape: Any, draw: Callable[..., Any], *args: Any, **given: Any) -> Any:
    scale = args[0] if args else given.get("sigma", given.get("scale"))

    def compute() -> Any:
        found = draw(*args, **given)
        return np.asarray(found) if isinstance(found, (list, np.ndarray)) else found

    return noise(again(tape, family, compute, parameters={"scale": scale}), family, scale)


class KeepingNumpy:
    """numpy for a module that makes an array of noise, which is an array of noise already."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(np, name)
        return _keeping(found) if name in ("array", "asarray") else found


def _keeping(make: Callable[..., Any]) -> Callable[..., Any]:
    def kept(value: Any, *args: Any, **given: Any) -> Any:
        return value if isinstance(value, NoisyArray) else make(value, *args, **given)

    return kept
