"""Taps of libraries: which of their calls draw noise, what they hide, and what they declare.

A tap is needed where a library draws its noise in compiled code, or declares a sensitivity that
values can be held against. The draws of all other code are seen by the taps of generators.
"""

from __future__ import annotations

import importlib
import sys
from contextlib import ExitStack

_TAPPED = (
    "diffprivlib", "dpmm", "jax_privacy", "opacus", "opendp", "pipeline_dp", "pydp", "snsql",
    "snsynth",
)  # fmt: skip
"""The packages with a module here, of the same name, that knows their primitives."""


def tap_libraries(stack: ExitStack) -> None:
    """Calls of the primitives of all libraries that are imported go to the current tape."""
    for name in _TAPPED:
        if name in sys.modules:
            importlib.import_module("." + name, __name__).tap(stack)
