"""Algorithms that release data together with their guarantee.

The layer between :mod:`rdpkit`, which it may use, and :mod:`verification`, which may use it. Each
mechanism is a module with a function ``synthesize``; importing this package loads none of them.
"""

from __future__ import annotations

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING

if _TYPE_CHECKING:
    from mechanisms.manifest import Manifest, load_manifest
    from mechanisms.noise import NoiseSource
    from mechanisms.release import Release, check_arrays, load_release

__all__ = [
    "Manifest",
    "NoiseSource",
    "Release",
    "check_arrays",
    "load_manifest",
    "load_release",
]

_HOMES = {
    "Manifest": "manifest",
    "NoiseSource": "noise",
    "Release": "release",
    "check_arrays": "release",
    "load_manifest": "manifest",
    "load_release": "release",
}


def __getattr__(name: str) -> object:
    if name in _HOMES:
        found: object = getattr(_import_module(f"mechanisms.{_HOMES[name]}"), name)
        globals()[name] = found
        return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
