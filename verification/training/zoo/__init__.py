"""Broken trainings, each with a mistake that somebody made, beside the same code without it.

``batch-clipping`` is broken, and ``batch-clipping-fixed`` is not. To add a mistake, write a row in
``mistakes.toml``, and its code in ``trainings.py``.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from importlib import resources
from types import MappingProxyType

from rdpkit.verification.blackbox.mistakes import MistakeKind
from rdpkit.verification.training.trainer import TrainingMaker
from rdpkit.verification.training.zoo import trainings
from rdpkit.verification.training.zoo.parts import TrainingZooEntry

FIXED = "-fixed"


def _entries() -> dict[str, TrainingZooEntry]:
    code = dict(trainings.TRAININGS)
    table = tomllib.loads(resources.files(__name__).joinpath("mistakes.toml").read_text("utf-8"))
    found = {}
    for name, row in table.items():
        kinds = tuple(map(MistakeKind, row.pop("kinds")))
        broken, fixed = code.pop(name)
        found[name] = TrainingZooEntry(name=name, kinds=kinds, broken=broken, fixed=fixed, **row)
    assert not code, f"trainings without a row: {', '.join(code)}"
    return found


ENTRIES: Mapping[str, TrainingZooEntry] = MappingProxyType(_entries())
"""All entries by their names."""


def names() -> tuple[str, ...]:
    """Names of all trainings; each broken one comes before the fixed one."""
    return tuple(name + suffix for name in ENTRIES for suffix in ("", FIXED))


def maker(name: str) -> TrainingMaker:
    """The maker of a training of the zoo. Raises KeyError if there is no such entry."""
    entry = ENTRIES[name.removesuffix(FIXED)]
    return TrainingMaker(make=entry.fixed if name.endswith(FIXED) else entry.broken, name=name)
