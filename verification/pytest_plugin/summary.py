"""The table of all tests of mechanisms at the end of a run of pytest, and their SARIF."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rdpkit.formats.files import write_whole
from rdpkit.formats.numbers import how_many
from rdpkit.formats.text import printable
from rdpkit.verification.outputs.tests_of_code import sarif_of_tests
from rdpkit.verification.pytest_plugin.records import SuiteRecord

_MOST_ROWS = 40
_LONGEST_NAME = 44


def write_summary(
    terminal: Any,  # Of pytest
    told: Sequence[str],  # A line of JSON for each test
) -> None:
    """Print what was tested, what was rejected, what would have been noticed, and the rate."""
    records = [SuiteRecord.from_json(line) for line in told]
    terminal.section("privacy of mechanisms")
    # What fails comes first, and the order of several workers is nobody's.
    ordered = sorted(records, key=lambda one: (not one.view.rule, one.view.name))
    failing = [one for one in records if one.view.rule]
    quiet = terminal.verbosity < 0
    shown = ordered[: len(failing)] if quiet else ordered[: max(_MOST_ROWS, len(failing))]
    if shown:
        for line in _table(shown):
            terminal.write_line(printable(line))
        if len(shown) < len(records) and not quiet:
            terminal.write_line(f"and {len(records) - len(shown)} more, which pass")
    for line in rate_lines(records):
        terminal.write_line(line)


def rate_lines(records: Sequence[SuiteRecord]) -> list[str]:
    """How many tests were rejected, at which error rate, and how to repeat the run."""
    one = records[0]
    rejected = sum(record.view.verdict in ("rejected", "refuted") for record in records)
    errors = sum(record.view.verdict == "error" for record in records)
    skipped = sum(bool(record.view.skipped) for record in records)
    tested = len(records) - errors - skipped
    counted = f"{how_many(tested, 'mechanism')} tested, {rejected} rejected"
    inconclusive = sum(bool(record.inconclusive) for record in records)
    counted += f", {inconclusive} inconclusive" if inconclusive else ""
    counted += f", {errors} could not be tested" if errors else ""
    counted += f", {skipped} unchanged since tested" if skipped else ""
    if one.repeated:
        return [f"{counted}; a test of an earlier run, repeated"]
    if one.evidence:
        rate = f"evidence in {one.evidence}; its error rate holds for all tests and all time"
    elif one.tests == 1:
        rate = f"false-alarm rate {one.rate:g}"
    else:
        rate = f"false-alarm rate {one.rate:g} for all {one.tests} tests together"
    return [
        f"{counted}; {rate}",
        f"a mechanism that passes is not proven; --verify-seed {one.seed} repeats this run",
    ]


def _table(records: Sequence[SuiteRecord]) -> list[str]:
    names = [_short(record.view.name) for record in records]
    width = max(len(name) for name in names)
    found = [f"{'test':{width}}  {'verdict':12}  {'runs':>7}  {'p-value':>7}  {_LAST}"]
    for name, record in zip(names, records, strict=True):
        verdict = "skipped" if record.view.skipped else record.view.verdict
        p_value = "" if record.p_value is None else f"{record.p_value:.2g}"
        found.append(
            f"{name:{width}}  {verdict:12}  {record.runs:>7,}  {p_value:>7}  {record.said}"
        )
    return found


_LAST = "mistake, or what would be noticed (estimate)"


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"...{name[3 - _LONGEST_NAME :]}"


def write_sarif(path: Path, told: Sequence[str]) -> None:
    """Write what is wrong with mechanisms to a file, whole or not at all."""
    views = [SuiteRecord.from_json(line).view for line in told]
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, sarif_of_tests(sorted(views, key=lambda view: view.name)))
