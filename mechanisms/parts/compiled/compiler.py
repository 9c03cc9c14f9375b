"""How functions are compiled: once for a machine, not once for each process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit


def compiled(
    **options: Any,  # Options of ``numba.njit``
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator that compiles a function, and keeps what was compiled for the next process.

    It is kept where Python keeps its own compiled files: beside the source if that folder can be
    written, and otherwise in the user's folder for caches, which nobody else can write. Where
    neither can be written, each process compiles for itself. What is kept is used again only for
    the same source and the same processor. The functions release Python's global lock and do not
    check bounds, which is left to their callers.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        try:
            found: Callable[..., Any] = njit(nogil=True, cache=True, **options)(function)
        except RuntimeError:  # there is no folder for the cache
            found = njit(nogil=True, **options)(function)
        return found

    return decorate
