"""Claims and their audit, tests of code and of trainings, on top of :mod:`rdpkit`."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rdpkit.verification.auditing.audit import audit_files
    from rdpkit.verification.evidence.decorator import verifies
    from rdpkit.verification.evidence.replays import verify_by_replay
    from rdpkit.verification.replay.agent.primitives import primitive
    from rdpkit.verification.training.opacus import opacus_training
    from rdpkit.verification.training.options import TrainingOptions
    from rdpkit.verification.training.trainer import PrivateTraining, functional_training
    from rdpkit.verification.training.verify_training import verify_training

__all__ = [
    "PrivateTraining",
    "TrainingOptions",
    "audit_files",
    "functional_training",
    "opacus_training",
    "primitive",
    "verifies",
    "verify_by_replay",
    "verify_training",
]

_PLACES = {
    "PrivateTraining": "rdpkit.verification.training.trainer",
    "TrainingOptions": "rdpkit.verification.training.options",
    "audit_files": "rdpkit.verification.auditing.audit",
    "functional_training": "rdpkit.verification.training.trainer",
    "opacus_training": "rdpkit.verification.training.opacus",
    "primitive": "rdpkit.verification.replay.agent.primitives",
    "verifies": "rdpkit.verification.evidence.decorator",
    "verify_by_replay": "rdpkit.verification.evidence.replays",
    "verify_training": "rdpkit.verification.training.verify_training",
}


def __getattr__(name: str) -> object:
    """The names of this package that people use, imported when they are asked for."""
    if name not in _PLACES:
        raise AttributeError(f"module 'rdpkit.verification' has no attribute {name!r}")
    # Imported here because commands import this package for their help alone.
    return getattr(importlib.import_module(_PLACES[name]), name)
