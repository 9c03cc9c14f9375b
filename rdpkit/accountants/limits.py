"""Limits on the time and the memory that computing one privacy loss distribution may take."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache

from rdpkit import _validate


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits on work, which is estimated before it begins.

    Parameters
    ----------
    seconds : float
        Processor time of one distribution.
    bytes : float
        Memory of one distribution.
    """

    seconds: float = 30.0
    bytes: float = 1e9


SECONDS, BYTES = "RDPKIT_MAX_SECONDS", "RDPKIT_MAX_BYTES"
"""Environment variables, for the command line and for processes that it starts."""

_CURRENT: ContextVar[Limits | None] = ContextVar("limits", default=None)


def current() -> Limits:
    """The limits in force: those of a ``with`` block, or of the environment, or the usual ones.

    Raises
    ------
    ValueError
        If an environment variable is no positive number.
    """
    return _CURRENT.get() or _from_environment(
        os.environ.get(SECONDS, ""), os.environ.get(BYTES, "")
    )


@lru_cache(maxsize=8)
def _from_environment(seconds: str, size: str) -> Limits:
    usual = Limits()
    return Limits(
        seconds=_number(SECONDS, seconds) if seconds else usual.seconds,
        bytes=_number(BYTES, size) if size else usual.bytes,
    )


def _number(name: str, text: str) -> float:
    try:
        return _validate.positive(name, float(text))
    except ValueError:
        raise _validate.fail(name, "to be a positive number", text) from None


@contextmanager
def limits(*, seconds: float | None = None, memory: float | None = None) -> Iterator[Limits]:
    """Set, for a while, how much work one privacy loss distribution may be.

    A distribution that would take more is not computed. The answer is then the certified bound from
    Renyi divergences, and a note says so. Estimates are rough, within a small factor. On the
    command line the environment variables ``RDPKIT_MAX_SECONDS`` and ``RDPKIT_MAX_BYTES`` do the
    same.

    Parameters
    ----------
    seconds : float, optional
        Processor time; 30 where nothing is set.
    memory : float, optional
        Bytes; 1e9 where nothing is set.

    Raises
    ------
    ValueError
        If one of them is not a positive number.

    Examples
    --------
    >>> import rdpkit
    >>> step = rdpkit.PoissonSampledGaussian(
    ...     noise_std=1.0, record_norm=1.0, sampling_probability=0.01)
    >>> many = rdpkit.Repeated(event=step, count=1000)
    >>> with rdpkit.limits(seconds=1e-6):
    ...     g = rdpkit.epsilon(many, delta=1e-5, adjacency="add_or_remove_one")
    >>> g.bound, "1e-06 s" in " ".join(g.notes)
    ('mironov2019', True)
    """
    before = current()
    chosen = Limits(
        seconds=before.seconds if seconds is None else _validate.positive("seconds", seconds),
        bytes=before.bytes if memory is None else _validate.positive("memory", memory),
    )
    token = _CURRENT.set(chosen)
    try:
        yield chosen
    finally:
        _CURRENT.reset(token)
