"""Taps of dpmm: the noise that it draws with OpenDP and adds to marginals is followed."""

from __future__ import annotations

import sys
from contextlib import ExitStack

from .of_noise_functions import tap_noise_functions


def tap(stack: ExitStack) -> None:
    """Tap what draws noise."""
    import dpmm.models.base.utils  # noqa: PLC0415 - only where it is installed

    tap_noise_functions(stack, sys.modules["dpmm.models.base.utils"], "dpmm")
