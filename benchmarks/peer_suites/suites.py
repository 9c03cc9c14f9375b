"""Which files of each library are run, and what is put in place of its accountants."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.peer_suites import stand_ins


@dataclass(frozen=True)
class Suite:
    """The tests of one library."""

    tests: tuple[str, ...]  # Test files, below the checkout
    roots: tuple[str, ...]
    """Folders below the checkout that its packages are imported from; empty for an installed one.
    """
    install: Callable[[Path], None]
    """Replaces accountants, and whatever is missing; called before a test is imported."""
    also_in: tuple[str, ...] = ()
    """Folders below which the files may be instead, as in a source distribution."""


SUITES = {
    "dp-accounting": Suite(
        tests=(
            "dp_accounting/rdp/rdp_privacy_accountant_test.py",
            "dp_accounting/pld/pld_privacy_accountant_test.py",
        ),
        roots=(".",),
        install=stand_ins.for_dp_accounting,
        also_in=("python/dp_accounting",),
    ),
    "jax-privacy": Suite(
        tests=("tests/accounting_test.py",),
        roots=(),
        install=stand_ins.for_jax_privacy,
    ),
    "tf-privacy": Suite(
        tests=tuple(
            f"tensorflow_privacy/privacy/analysis/{name}_test.py"
            for name in (
                "compute_dp_sgd_privacy",
                "compute_noise_from_budget",
                "tree_aggregation_accountant",
            )
        ),
        roots=(".",),
        install=stand_ins.for_tf_privacy,
    ),
    "opacus": Suite(
        tests=("opacus/tests/accountants_test.py", "opacus/tests/prv_accountant.py"),
        roots=(".",),
        install=stand_ins.for_opacus,
    ),
}
"""The suites by the names that the command takes."""


def folder(suite: Suite, path: Path) -> Path:
    """The folder that the suite's files are in."""
    for inner in (".", *suite.also_in):
        if (path / inner / suite.tests[0]).is_file():
            return (path / inner).resolve()
    raise FileNotFoundError(f"{path}: expected a checkout with {suite.tests[0]}, found none.")
