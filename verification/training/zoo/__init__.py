"""Broken trainings, each with a mistake that somebody made, beside the same code without it.

``batch-clipping`` is broken, and ``batch-clipping-fixed`` is not. To add a mistake, write an entry
beside others of its kind.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from rdpkit.verification.training.trainer import TrainingMaker
from rdpkit.verification.training.zoo import accounting, clipping, noise, sampling
from rdpkit.verification.training.zoo.base import TrainingZooEntry

FIXED = "-fixed"

ENTRIES: Mapping[str, TrainingZooEntry] = MappingProxyType(
    {
        entry.name: entry
        for module in (clipping, noise, sampling, accounting)
        for entry in module.ENTRIES
    }
)
"""All entries by their names."""


def names() -> tuple[str, ...]:
    """Names of all trainings; each broken one comes before the fixed one."""
    return tuple(name + suffix for name in ENTRIES for suffix in ("", FIXED))


def maker(name: str) -> TrainingMaker:
    """The maker of a training of the zoo.

    Parameters
    ----------
    name : str
        One of :func:`names`.

    Raises
    ------
    KeyError
        If there is no such entry.
    """
    entry = ENTRIES[name.removesuffix(FIXED)]
    return TrainingMaker(make=entry.fixed if name.endswith(FIXED) else entry.broken, name=name)


__all__ = ["ENTRIES", "FIXED", "TrainingZooEntry", "maker", "names"]
