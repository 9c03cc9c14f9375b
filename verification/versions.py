"""Which software computed a number: versions, and a digest of the code itself."""

from __future__ import annotations

import functools
import hashlib
import platform
from importlib import metadata, resources

import rdpkit

# What numbers come from, besides this project's own code.
_LIBRARIES = ("numpy", "scipy", "python-flint", "dp-accounting")
# The modules of this layer that decide about claims.
_DECIDING = ("agreement.py", "audit.py", "claims.py", "claims_keys.py", "findings.py")


@functools.cache
def versions() -> dict[str, str]:
    """Versions by name: of rdpkit, of Python, and of the libraries that numbers come from.

    Returns
    -------
    dict
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
    pending = [resources.files("rdpkit")]
    sources = [resources.files("verification") / name for name in _DECIDING]
    while pending:
        for item in pending.pop().iterdir():
            if item.is_dir():
                pending.append(item)
            elif item.name.endswith(".py"):
                sources.append(item)
    for source in sorted(sources, key=str):
        content = source.read_bytes()
        total.update(f"{source.name} {len(content)}\n".encode())
        total.update(content)
    return total.hexdigest()[:16]
