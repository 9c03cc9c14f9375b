"""Broken mechanisms, each with a mistake that somebody made, and the same code without it.

The names are those that ``rdpkit verify`` takes: ``subset-once`` is broken, and
``subset-once-fixed`` is not. To add a mistake, write its file and list it here.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from rdpkit.verification.blackbox.zoo import (
    clip_after_averaging,
    fixed_batches,
    float32_noise,
    half_sensitivity,
    noise_divided,
    noise_reused,
    private_z_score,
    seeded_generator,
    shuffled_batches,
    subset_once,
)
from rdpkit.verification.blackbox.zoo.base import ZooEntry, ZooMechanism

FIXED = "-fixed"

ENTRIES: Mapping[str, ZooEntry] = MappingProxyType(
    {
        module.ENTRY.name: module.ENTRY
        for module in (
            subset_once,
            noise_divided,
            half_sensitivity,
            clip_after_averaging,
            private_z_score,
            fixed_batches,
            shuffled_batches,
            noise_reused,
            seeded_generator,
            float32_noise,
        )
    }
)
"""All entries by their names."""


def names() -> tuple[str, ...]:
    """Names of all mechanisms; each broken one comes before the fixed one."""
    return tuple(name + suffix for name in ENTRIES for suffix in ("", FIXED))


__all__ = ["ENTRIES", "FIXED", "ZooEntry", "ZooMechanism", "names"]
