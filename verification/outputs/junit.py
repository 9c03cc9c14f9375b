"""JUnit XML: a test case for each claim, or for each target of a test of code."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from xml.etree import ElementTree as Xml

from rdpkit.verification.auditing.findings import Finding
from rdpkit.verification.auditing.remedies import calibrated_unasked
from rdpkit.verification.auditing.rules import FailOn, failures
from rdpkit.verification.outputs import AuditResult
from rdpkit.verification.outputs.view import headline, report, sandwich

# Characters that XML 1.0 does not allow, not even escaped.
_NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class JUnitProblem:
    """What is wrong with a case."""

    kind: str  # The rule that is broken
    message: str  # One sentence
    text: str  # The whole story, line by line
    is_error: bool = False  # Whether the case could not be judged at all


@dataclass(frozen=True, slots=True, kw_only=True)
class JUnitCase:
    """One test case."""

    suite: str  # The suite that it belongs to
    name: str
    place: tuple[str, int] | None = None  # The file and the line that it is about
    problem: JUnitProblem | None = None  # What is wrong; None if it passes
    output: str = ""  # What else there is to say
    seconds: float | None = None  # How long it took
    skipped: str = ""  # Why it was not run; empty if it was


def junit_xml(
    # Findings that break none of its rules pass, with their verdicts as output.
    result: AuditResult,
) -> str:  # The document
    """The findings as one test suite a file."""
    fail_on = result.fail_on
    calibrated = calibrated_unasked(one for one in result.findings if failures(one, fail_on))
    return junit_document(
        "privacy claims",
        [
            _case(finding, fail_on, noise=finding.claim.id in calibrated)
            for finding in result.findings
        ],
    )


def junit_document(title: str, cases: Iterable[JUnitCase]) -> str:
    """Cases as a document of JUnit XML; characters that XML does not allow are replaced."""
    every = list(cases)
    suites: dict[str, list[JUnitCase]] = {}
    for case in every:
        suites.setdefault(case.suite, []).append(case)
    counted = ("tests", "failures")
    root = Xml.Element(
        "testsuites", {"name": title, **{k: v for k, v in _counts(every).items() if k in counted}}
    )
    for name, group in suites.items():
        suite = Xml.SubElement(root, "testsuite", {"name": _text(name), **_counts(group)})
        for case in group:
            _add(suite, case)
    Xml.indent(root)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n' + Xml.tostring(root, encoding="unicode") + "\n"
    )


def _case(finding: Finding, fail_on: FailOn, *, noise: bool) -> JUnitCase:
    claim = finding.claim
    rules = failures(finding, fail_on)
    problem = None
    if rules:
        problem = JUnitProblem(
            kind=rules[0].value,
            message=headline(finding, rules[0]),
            text="\n".join(report(finding, rules, noise=noise)),
        )
    lines = [f"{finding.reproduction.value}, {finding.verdict.value}"]
    lines += [f"{name}: {text}" for name, text in sandwich(finding)]
    return JUnitCase(
        suite=claim.origin,
        name=claim.id,
        place=(claim.origin, claim.line),
        problem=problem,
        output="\n".join(lines),
    )


def _counts(cases: list[JUnitCase]) -> dict[str, str]:
    problems = [case.problem for case in cases if case.problem is not None]
    errors = sum(problem.is_error for problem in problems)
    return {
        "tests": str(len(cases)),
        "failures": str(len(problems) - errors),
        "errors": str(errors),
        "skipped": str(sum(bool(case.skipped) for case in cases)),
    }


def _add(suite: Xml.Element, case: JUnitCase) -> None:
    about = {"classname": _text(case.suite), "name": _text(case.name)}
    if case.place is not None:
        about |= {"file": _text(case.place[0]), "line": str(case.place[1])}
    if case.seconds is not None:
        about["time"] = f"{case.seconds:.3f}"
    element = Xml.SubElement(suite, "testcase", about)
    if case.skipped:
        Xml.SubElement(element, "skipped", message=_text(case.skipped))
    if case.problem is not None:
        found = Xml.SubElement(
            element,
            "error" if case.problem.is_error else "failure",
            type=case.problem.kind,
            message=_text(case.problem.message),
        )
        found.text = _text(case.problem.text)
    Xml.SubElement(element, "system-out").text = _text(case.output)


def _text(text: str) -> str:
    """The text with a replacement character for each character that XML does not allow."""
    return _NO_XML.sub("\ufffd", text)
