"""Taps of dpmm: the noise that it draws with OpenDP."""

from __future__ import annotations

import sys
from contextlib import ExitStack, contextmanager
from typing import Iterator

from .of_noise_functions import tap_noise_functions


@contextmanager
def tapped() -> Iterator[None]:
    """Noise that is added to marginals is followed."""
    import dpmm.models.base.utils  # noqa: PLC0415 - only where it is installed

    with ExitStack() as stack:
        tap_noise_functions(stack, sys.modules["dpmm.models.base.utils"], "dpmm")
        yield
