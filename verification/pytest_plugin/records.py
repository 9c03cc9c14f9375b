"""What a test of a mechanism tells the process that prints: plain values, sent as JSON.

Of all of them a table is made at the end of a run of pytest, and SARIF.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import rdpkit
from rdpkit import Event
from rdpkit.calibration import NoEffectError
from rdpkit.formats.files import write_whole
from rdpkit.formats.numbers import how_many
from rdpkit.formats.text import printable
from rdpkit.verification.blackbox.mistakes import Mistake
from rdpkit.verification.blackbox.verification_result import VerificationResult
from rdpkit.verification.evidence.accumulation import TargetOutcome
from rdpkit.verification.outputs.tests_of_code import CodeView, sarif_of_tests, view_of_outcome

_MOST_ROWS = 40
_LONGEST_NAME = 44
_LAST = "mistake, or what would be noticed (estimate)"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SuiteRecord:
    """One test of a mechanism."""

    view: CodeView  # The test in words, as files show it
    said: str  # What was found, or what would have been, in a few words
    # Those of the run.
    rate: float
    tests: int
    seed: int
    evidence: str
    repeated: bool  # Whether it repeats a test of an earlier run
    inconclusive: str = ""
    """Why nothing could have been noticed; empty if a wrong claim could have been."""

    def as_json(self) -> str:
        """One line."""
        return json.dumps(dataclasses.asdict(self))

    @classmethod
    def from_json(cls, line: str) -> SuiteRecord:
        """The record that a line was made of."""
        table = json.loads(line)
        return cls(view=CodeView.from_dict(table.pop("view")), **table)

    def properties(self) -> dict[str, Any]:
        """What JUnit shows of the test."""
        told = self.view.data
        test = told.get("test", told)
        bound = test.get("bound", {})
        found = {
            "verdict": self.view.verdict,
            "inconclusive": self.inconclusive or None,
            "p_value": told.get("p_value"),
            "seed": told.get("seed"),
            "runs": told.get("runs", 0),
            "epsilon_lower": bound.get("epsilon"),
            "epsilon_lower_delta": bound.get("delta"),
            "false_alarm_rate": test.get("false_alarm_rate"),
        }
        return {name: value for name, value in found.items() if value is not None}


def told_of(outcome: TargetOutcome, cause: Mistake | None) -> dict[str, Any]:
    """The fields of a record that say what came of one test."""
    view, result = view_of_outcome(outcome), outcome.result
    if cause is not None:
        said = f"{cause.kind.value}: {cause.message} {cause.advice}"
        view = dataclasses.replace(view, details=(said, *view.details))
    why = "" if result is None else result.inconclusive
    return {"view": view, "said": _said(outcome, cause), "inconclusive": why}


def _said(outcome: TargetOutcome, cause: Mistake | None) -> str:
    """What was found; or what would have been noticed, by an estimate."""
    result = outcome.result
    if outcome.error:
        return "could not be tested"
    if result is None:
        return "unchanged since it was tested"
    if cause is not None:
        return cause.kind.value
    if outcome.failed(strict=False):
        return "by all the evidence on record"
    return result.inconclusive or noticed(result)


def noticed(result: VerificationResult) -> str:
    """What a test that was passed would have noticed nearly always, in the units of its event.

    It is an estimate, with probability 0.95: that of the smallest violation that the test would
    have rejected, as the noise of the same event.
    """
    found = result.detectable
    if found is None:
        return ""
    if found.excess is None:
        return "too few runs to notice anything"
    event = result.claim.event
    noise = [] if event is None else _noises(event)
    if event is not None and len(noise) == 1:
        value = _noise_of(result, event, noise[0], found.delta + found.excess)
        if value is not None:
            return f"{noise[0]} below {value:.2g}, not {getattr(event, noise[0]):.3g}"
    return (
        f"delta {found.delta + found.excess:.2g} at epsilon {found.epsilon:.2g}, "
        f"not {found.delta:.2g}"
    )


def _noises(event: Event) -> list[str]:
    """The names of the parameters that are noise."""
    return [name for name, one in event.free_parameters().items() if one.role == "noise"]


def _noise_of(result: VerificationResult, event: Event, name: str, delta: float) -> float | None:
    """The noise with which the same event attains a larger delta at the claim's epsilon.

    None if a number is not to be had at once.
    """
    assert result.detectable is not None
    if type(event) not in (rdpkit.Gaussian, rdpkit.Laplace):
        return None
    try:
        found = rdpkit.calibrate(
            event,
            target_epsilon=result.detectable.epsilon,
            delta=delta,
            adjacency=result.claim.adjacency,
            parameter=name,
            tolerance=0.01,
        )
    except (ValueError, ArithmeticError, NoEffectError):
        return None
    return float(getattr(found.event, name))


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
    for line in _rate_lines(records):
        terminal.write_line(line)


def _rate_lines(records: Sequence[SuiteRecord]) -> list[str]:
    """How many tests were rejected, at which error rate, and how to repeat the run."""
    one = records[0]
    rejected = sum(record.view.verdict in ("rejected", "refuted") for record in records)
    errors = sum(record.view.verdict == "error" for record in records)
    skipped = sum(bool(record.view.skipped) for record in records)
    tested = len(records) - errors - skipped
    others = {
        "inconclusive": sum(bool(record.inconclusive) for record in records),
        "could not be tested": errors,
        "unchanged since tested": skipped,
    }
    counted = f"{how_many(tested, 'mechanism')} tested, {rejected} rejected"
    counted += "".join(f", {count} {what}" for what, count in others.items() if count)
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
        runs, p_value = (record.view.data.get(told) for told in ("runs", "p_value"))
        shown = "" if p_value is None else f"{p_value:.2g}"
        found.append(f"{name:{width}}  {verdict:12}  {runs or 0:>7,}  {shown:>7}  {record.said}")
    return found


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"...{name[3 - _LONGEST_NAME :]}"


def write_sarif(path: Path, told: Sequence[str]) -> None:
    """Write what is wrong with mechanisms to a file, whole or not at all."""
    views = [SuiteRecord.from_json(line).view for line in told]
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, sarif_of_tests(sorted(views, key=lambda view: view.name)))
