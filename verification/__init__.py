"""Claims and their audit, on top of :mod:`rdpkit`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rdpkit.verification.auditing.driver import audit_files

__all__ = ["audit_files"]


def __getattr__(name: str) -> object:
    """The one function of this package that people call, imported when it is asked for."""
    if name != "audit_files":
        raise AttributeError(f"module 'rdpkit.verification' has no attribute {name!r}")
    # Imported here because commands import this package for their help alone.
    from rdpkit.verification.auditing.driver import audit_files  # noqa: PLC0415

    return audit_files
