"""Broken mechanisms, each with a mistake that somebody made, and the same code without it.

The names are those that ``rdpkit verify`` takes: ``subset-once`` is broken, and
``subset-once-fixed`` is not. To add a mistake, write a row in ``mistakes.toml``, and its code in
``entries.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from rdpkit.verification.blackbox.zoo import entries
from rdpkit.verification.blackbox.zoo.base import PLACES, ZooEntry, ZooMechanism

FIXED = "-fixed"

_CODE = {entry.name: entry for entry in entries.ENTRIES}
ENTRIES: Mapping[str, ZooEntry] = MappingProxyType({name: _CODE[name] for name in PLACES})
"""All entries by their names."""

NAMES = tuple(name + suffix for name in ENTRIES for suffix in ("", FIXED))
"""Names of all mechanisms; each broken one comes before the fixed one."""

__all__ = ["ENTRIES", "FIXED", "NAMES", "ZooEntry", "ZooMechanism"]
