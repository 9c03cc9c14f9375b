"""What a failing test of a mechanism says: what is wrong, what to do, and how to see it again."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable

from rdpkit.formats.numbers import as_given
from rdpkit.formats.text import printable, rounded_down
from rdpkit.verification.blackbox.betting.pair_test import main_line
from rdpkit.verification.blackbox.verification_result import VerificationResult
from rdpkit.verification.evidence.accumulation import TargetOutcome
from rdpkit.verification.evidence.likely_cause import LikelyCause

_WIDTH, _HEADING = 96, 11
_LONGEST_EVENT = 300
# What the test calls an option of the command line, with its value if there is one.
_OPTION = re.compile(r"--([a-z]+(?:-[a-z]+)*)(?: (?=\d)([\w.+-]+))?")


def doubtful_text(outcome: TargetOutcome) -> str:
    """Why a strict run is not content with a test that rejected nothing, in words."""
    result = outcome.result
    assert result is not None
    doubts = [result.inconclusive, *(f"{d.message} {d.advice}" for d in result.diagnostics)]
    lines = [f"inconclusive: {outcome.target} could not be tested well enough (--verify-strict)"]
    return "\n".join(printable(line) for line in [*lines, *filter(None, doubts)])


def failure_text(
    outcome: TargetOutcome,  # What came of the test
    # What probably explains it; None if the evidence of earlier tests rejected the claim.
    cause: LikelyCause | None,
    *,
    rate: str,  # The error rate, and of what it is one
) -> str:
    """A rejection in words."""
    result = outcome.result
    assert result is not None
    rows: list[tuple[str, str]] = []
    if cause is not None:
        rows += [("mistake", cause.mistake.message), ("what to do", cause.mistake.advice)]
    else:
        rows.append(
            (
                "evidence",
                "this test alone does not reject the claim; all tests of this code together do",
            )
        )
    rows.append(("claimed", _claimed(result)))
    rows += _seen(result, cause)
    rows += [("on data", result.pair[0]), *(("", line) for line in result.pair[1:])]
    rows.append(
        (
            "p-value",
            f"{result.p_value:.2g}, after {result.releases:,} runs in {result.seconds:.1f} s "
            f"(false-alarm rate {rate})",
        )
    )
    if outcome.position is not None:
        rows.append(("on record", outcome.position.describe()))
    rows.append(("seed", str(result.seed)))
    kind = "evidence of several runs" if cause is None else cause.mistake.kind.value
    # The first line is all that pytest's own summary shows.
    head = f"{kind}: the privacy claim of {outcome.target} is rejected"
    # A command is copied whole, so it stays on one line.
    return "\n".join([head, *_table(rows), f"  {'repeat':{_HEADING}}{outcome.replay}"])


def _seen(result: VerificationResult, cause: LikelyCause | None) -> list[tuple[str, str]]:
    """What the outputs showed, with numbers."""
    found = []
    if cause is not None and cause.measured is not None:
        found.append(("measured", cause.measured.describe()))
    bound, (claimed, _) = result.outcome.bound, main_line(result.claim.part)
    if bound is not None and bound.epsilon > claimed:
        found.append(
            (
                "leaks",
                f"epsilon at least {rounded_down(bound.epsilon, 3)} at delta "
                f"{as_given(bound.delta)}, {result.claim.adjacency.value} (lower bound, confidence "
                f"{bound.confidence:.4g}), where the claim allows {claimed:.3g}",
            )
        )
    return found


def _claimed(result: VerificationResult) -> str:
    """The claim as the test's author wrote it."""
    event, relation = result.claim.event, result.claim.adjacency.value
    if event is None or len(repr(event)) > _LONGEST_EVENT:
        return result.claim.describe()
    line = "" if "profile" in type(result.claim.part).__name__.lower() else result.claim.statement
    said = f"{repr(event).replace(', record_diameter=None', '')} under {relation}"
    return f"{said}; {line}" if line else said


def error_text(
    name: str,  # What was to be tested
    message: str,  # Why it could not be
    where: str,  # The traceback of the user's code; empty if it did not raise
) -> str:
    """A test that could not be made, in words."""
    lines = [printable(line) for line in where.splitlines()]
    # The first line is all that pytest's own summary shows. Frames are indented, the error's own
    # first line is not, and what an assertion or a note says below it may be either.
    head = f"could not be tested: {next((one for one in lines if one[:1] != ' '), message)}"
    said = textwrap.wrap(_plain(head), _WIDTH, subsequent_indent="  ")
    rows = [("test", name), *([("why", message)] if lines else [])]
    return "\n".join([*said, *_table(rows), *lines])


def _table(rows: Iterable[tuple[str, str]]) -> list[str]:
    """Headings, with what is said under each, in lines of a readable width."""
    found = []
    for heading, text in rows:
        lines = textwrap.wrap(_plain(text), _WIDTH - _HEADING) or [""]
        found += [
            f"  {'' if place else heading:{_HEADING}}{line}" for place, line in enumerate(lines)
        ]
    return found


def _plain(text: str) -> str:
    """The text as one line, with the names that options have here."""
    return _OPTION.sub(_as_keyword, printable(" ".join(text.split())))


def _as_keyword(option: re.Match[str]) -> str:
    """An option of the command line as the argument of ``verifies`` that it is here."""
    if option[1] == "alpha":
        return "--verify-alpha"
    if option[1].startswith("verify"):
        return option[0]
    return f"{option[1].replace('-', '_')}={option[2] or '...'}"
