"""Taps of libraries: which of their calls draw noise, what they hide, and what they declare.

A tap is needed where a library draws its noise in compiled code, or declares a sensitivity that
values can be held against. The draws of all other code are seen by the taps of generators.
"""

from __future__ import annotations

import importlib
import sys
from contextlib import ExitStack

_NAMES = ("diffprivlib", "jax_privacy", "opacus", "opendp", "pipeline_dp", "pydp", "snsql")
_OF_FUNCTIONS = dict.fromkeys(("dpmm", "snsynth"), "of_noise_functions")
_TAPPED = {**dict(zip(_NAMES, _NAMES)), **_OF_FUNCTIONS}
"""The packages with a module here that knows their primitives, most of them of the same name."""


def tap_libraries(stack: ExitStack) -> None:
    """Calls of the primitives of all libraries that are imported go to the current tape."""
    for module in dict.fromkeys(one for name, one in _TAPPED.items() if name in sys.modules):
        importlib.import_module("." + module, __name__).tap(stack)
