"""Taps of libraries: which of their calls draw noise, what they hide, and what they declare.

A tap is needed where a library draws its noise in compiled code, or declares a sensitivity that
values can be held against. The draws of all other code are seen by the taps of generators.
"""

from __future__ import annotations

import importlib
import sys
from contextlib import ExitStack, contextmanager
from typing import Iterator

# The package that is imported, and the module here that knows its primitives.
_TAPS = {
    "diffprivlib": "diffprivlib",
    "dpmm": "dpmm",
    "jax_privacy": "jax_privacy",
    "opacus": "opacus",
    "opendp": "opendp",
    "pipeline_dp": "pipeline_dp",
    "pydp": "pydp",
    "snsql": "snsql",
    "snsynth": "snsynth",
}


@contextmanager
def tapped_libraries() -> Iterator[None]:
    """Calls of the primitives of all libraries that are imported go to the current tape."""
    with ExitStack() as stack:
        for package, name in _TAPS.items():
            if package in sys.modules:
                tap = importlib.import_module("." + name, __name__)
                stack.enter_context(tap.tapped())
        yield
