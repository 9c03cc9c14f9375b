"""Taps of SmartNoise's synthesizers: the noise that they draw with OpenDP is followed."""

from __future__ import annotations

import sys
from contextlib import ExitStack

from ..tape import replaced
from .of_noise_functions import KeepingNumpy, tap_noise_functions

# They make an array of the noise before they add it to marginals.
_MAKING_ARRAYS = ("snsynth.mst.mst", "snsynth.aim.aim")


def tap(stack: ExitStack) -> None:
    """Tap what draws noise for marginals and queries."""
    import snsynth.utils  # noqa: PLC0415 - only where it is installed

    tap_noise_functions(stack, sys.modules["snsynth.utils"], "snsynth")
    for name in _MAKING_ARRAYS:
        if name in sys.modules:
            replaced(stack, sys.modules[name], "np", KeepingNumpy())
