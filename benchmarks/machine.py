"""On what a run was made."""

from __future__ import annotations

import os
import platform
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.libraries import LIBRARIES, version_of

_OTHERS = ("numpy", "scipy", "python-flint", "torch", "mpmath", "matplotlib")
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS")


def describe(command: str) -> dict[str, Any]:
    """Hardware, versions, settings and the command; nothing that names a person or a machine."""
    return {
        "command": command,
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_gib": _memory(),
        "load": [round(value, 2) for value in os.getloadavg()] if hasattr(os, "getloadavg") else [],
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": {
            **{name: library.version for name, library in LIBRARIES.items()},
            **{name: version_of(name) for name in _OTHERS},
        },
        "threads": {name: os.environ[name] for name in _THREADS if name in os.environ},
        "optimised": sys.flags.optimize,
    }


def _processor() -> str:
    path = Path("/proc/cpuinfo")
    if not path.exists():
        return platform.processor() or platform.machine()
    found: dict[str, str] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        name, _, value = line.partition(":")
        found.setdefault(name.strip(), value.strip())
    model = found.get("model name", platform.machine())
    if {"cpu family", "model"} <= set(found):
        model += f" (family {found['cpu family']}, model {found['model']})"
    return model


def _memory() -> float | None:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)
    except (AttributeError, OSError, ValueError):
        return None
