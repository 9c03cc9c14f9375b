"""Which software computed a number: versions, and a digest of the code itself."""

from __future__ import annotations

import functools
import hashlib
import platform
from collections.abc import Iterator
from importlib import metadata, resources
from importlib.resources.abc import Traversable

import rdpkit

# The libraries that compute numbers for this project.
_LIBRARIES = ("numpy", "scipy", "python-flint", "dp-accounting")
# The packages of this layer on which findings depend.
_DECIDING = ("rdpkit.verification.auditing", "rdpkit.verification.claims")
# Folders inside rdpkit on which no finding depends: commands, and the layers installed there.
_NOT_DECIDING = ("cli", "mechanisms", "verification")


@functools.cache
def versions() -> dict[str, str]:
    """Versions by name: of rdpkit, of Python, and of the libraries that numbers come from.

    "code" is a digest of rdpkit's source, which changes where a version number does not.
    """
    found = {"rdpkit": rdpkit.__version__, "code": _digest(), "python": platform.python_version()}
    for name in _LIBRARIES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


def _digest() -> str:
    total = hashlib.sha256()
    for name, source in sorted(_sources()):
        content = source.read_bytes()
        total.update(f"{name} {len(content)}\n".encode())
        total.update(content)
    return total.hexdigest()[:16]


def _sources() -> Iterator[tuple[str, Traversable]]:
    """Every module that a finding may depend on, by a name that no installation changes."""
    pending = [
        ("rdpkit", resources.files("rdpkit")),
        *((package, resources.files(package)) for package in _DECIDING),
    ]
    while pending:
        name, folder = pending.pop()
        for item in folder.iterdir():
            inside = f"{name}/{item.name}"
            if item.is_dir() and item.name not in _NOT_DECIDING:
                pending.append((inside, item))
            elif item.name.endswith(".py"):
                yield inside, item
