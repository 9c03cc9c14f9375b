"""A plugin of pytest: installs stand-ins, and writes down how every test ended."""

from __future__ import annotations

import json
import os
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.peer_suites import answers
from benchmarks.peer_suites.suites import SUITES

_ROWS: list[dict[str, Any]] = []


def pytest_configure(config: Any) -> None:
    """Put ours in place of theirs before a test file is imported."""
    SUITES[os.environ["PEER_SUITE"]].install(Path(os.environ["PEER_FOLDER"]))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: Any, call: Any) -> Generator[None, Any, None]:
    """Keep the outcome of a test, with the reason for a failure and what it proves."""
    outcome = yield
    report = outcome.get_result()
    if report.when == "setup":
        answers.begin()
    if not (report.when == "call" or report.failed or report.skipped):
        return
    row = {
        "test": item.nodeid.rpartition("/")[2],
        "outcome": report.outcome,
        "reason": "",
        "asked": answers.CURRENT.asked,
    }
    if report.failed:
        error = call.excinfo.value
        text = f"{type(error).__name__}: {error}"
        row["reason"] = " ".join(text.split())[:400]
        proof = answers.note(str(error))
        if proof:
            row.update(outcome=answers.ACCEPTED, reason=proof)
    _ROWS.append(row)


def pytest_sessionfinish(session: Any) -> None:
    """Write the outcomes."""
    Path(os.environ["PEER_RESULTS"]).write_text(json.dumps(_ROWS), encoding="utf-8")
