"""Algorithms that release data together with their guarantee.

The package uses the accounting of :mod:`rdpkit`, and :mod:`rdpkit.verification` uses the package.
Each mechanism is a module of :mod:`rdpkit.mechanisms.algorithms` with a function ``synthesize``.
Importing this package loads none of them.
"""

from __future__ import annotations

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING

if _TYPE_CHECKING:
    from rdpkit.mechanisms.evaluation.utility.evaluate import evaluate_release
    from rdpkit.mechanisms.evaluation.utility.report import UtilityReport
    from rdpkit.mechanisms.experiments.table_release import TableRelease, synthesize_table
    from rdpkit.mechanisms.parts.noise import NoiseSource
    from rdpkit.mechanisms.parts.privacy import Privacy
    from rdpkit.mechanisms.releases.accounts import LedgerAccount, LedgerRefusalError, LedgerRelease
    from rdpkit.mechanisms.releases.ledger import Ledger
    from rdpkit.mechanisms.releases.manifest import Manifest, load_manifest
    from rdpkit.mechanisms.releases.release import Release, check_arrays, load_release

__all__ = [
    "Ledger",
    "LedgerAccount",
    "LedgerRefusalError",
    "LedgerRelease",
    "Manifest",
    "NoiseSource",
    "Privacy",
    "Release",
    "TableRelease",
    "UtilityReport",
    "check_arrays",
    "evaluate_release",
    "load_manifest",
    "load_release",
    "synthesize_table",
]

_HOMES = {
    "Ledger": "releases.ledger",
    "LedgerAccount": "releases.accounts",
    "LedgerRefusalError": "releases.accounts",
    "LedgerRelease": "releases.accounts",
    "TableRelease": "experiments.table_release",
    "synthesize_table": "experiments.table_release",
    "Manifest": "releases.manifest",
    "NoiseSource": "parts.noise",
    "Privacy": "parts.privacy",
    "Release": "releases.release",
    "UtilityReport": "evaluation.utility.report",
    "check_arrays": "releases.release",
    "evaluate_release": "evaluation.utility.evaluate",
    "load_manifest": "releases.manifest",
    "load_release": "releases.release",
}


def __getattr__(name: str) -> object:
    if name in _HOMES:
        found: object = getattr(_import_module(f"rdpkit.mechanisms.{_HOMES[name]}"), name)
        globals()[name] = found
        return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
