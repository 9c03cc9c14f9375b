"""Claims and their audit, on top of :mod:`rdpkit`."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rdpkit.verification.auditing.driver import audit_files
    from rdpkit.verification.evidence.decorator import verifies

__all__ = ["audit_files", "verifies"]

_PLACES = {
    "audit_files": "rdpkit.verification.auditing.driver",
    "verifies": "rdpkit.verification.evidence.decorator",
}


def __getattr__(name: str) -> object:
    """The functions of this package that people call, imported when they are asked for."""
    if name not in _PLACES:
        raise AttributeError(f"module 'rdpkit.verification' has no attribute {name!r}")
    # Imported here because commands import this package for their help alone.
    return getattr(importlib.import_module(_PLACES[name]), name)
