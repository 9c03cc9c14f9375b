"""JUnit XML, a case for each claim or target, and SARIF, a result at each line that is wrong."""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree as Xml

import rdpkit
from rdpkit.verification.auditing.findings import Finding
from rdpkit.verification.auditing.remedies import calibrated_unasked, remedies
from rdpkit.verification.auditing.rules import MEANING, FailOn, Rule, broken_rules, failures
from rdpkit.verification.claims.editing import ClaimsText, Replacement
from rdpkit.verification.outputs import AuditResult
from rdpkit.verification.outputs.words import advice, headline, report, sandwich

# Characters that XML 1.0 does not allow, not even escaped.
_NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class JUnitCase:
    """One test case."""

    suite: str  # The suite that it belongs to
    name: str
    place: tuple[str, int] | None = None  # The file and the line that it is about
    # What is wrong: the rule that is broken, empty if it passes; one sentence; the whole story.
    rule: str = ""
    message: str = ""
    story: str = ""
    is_error: bool = False  # Whether the case could not be judged at all
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
        suite = Xml.SubElement(root, "testsuite", {"name": _of_xml(name), **_counts(group)})
        for case in group:
            _add(suite, case)
    Xml.indent(root)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n' + Xml.tostring(root, encoding="unicode") + "\n"
    )


def _case(finding: Finding, fail_on: FailOn, *, noise: bool) -> JUnitCase:
    claim, rules = finding.claim, failures(finding, fail_on)
    lines = [f"{finding.reproduction.value}, {finding.verdict.value}"]
    lines += [f"{name}: {text}" for name, text in sandwich(finding)]
    return JUnitCase(
        suite=claim.origin,
        name=claim.id,
        place=(claim.origin, claim.line),
        rule=rules[0].value if rules else "",
        message=headline(finding, rules[0]) if rules else "",
        story="\n".join(report(finding, rules, noise=noise)) if rules else "",
        output="\n".join(lines),
    )


def _counts(cases: list[JUnitCase]) -> dict[str, str]:
    errors = sum(case.is_error for case in cases)
    return {
        "tests": str(len(cases)),
        "failures": str(sum(bool(case.rule) for case in cases) - errors),
        "errors": str(errors),
        "skipped": str(sum(bool(case.skipped) for case in cases)),
    }


def _add(suite: Xml.Element, case: JUnitCase) -> None:
    about = {"classname": _of_xml(case.suite), "name": _of_xml(case.name)}
    if case.place is not None:
        about |= {"file": _of_xml(case.place[0]), "line": str(case.place[1])}
    if case.seconds is not None:
        about["time"] = f"{case.seconds:.3f}"
    element = Xml.SubElement(suite, "testcase", about)
    if case.skipped:
        Xml.SubElement(element, "skipped", message=_of_xml(case.skipped))
    if case.rule:
        kind, message = "error" if case.is_error else "failure", _of_xml(case.message)
        found = Xml.SubElement(element, kind, type=case.rule, message=message)
        found.text = _of_xml(case.story)
    Xml.SubElement(element, "system-out").text = _of_xml(case.output)


def _of_xml(text: str) -> str:
    """The text with a replacement character for each character that XML does not allow."""
    return _NO_XML.sub("\ufffd", text)


SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_RULE_IDS = {rule: f"claim-{rule.value}" for rule in Rule}
_LEVELS = {
    Rule.REFUTED: "error",
    Rule.DIFFERS: "warning",
    Rule.UNPROVEN: "warning",
    Rule.UNDERSPECIFIED: "note",
    Rule.SLACK: "note",
}
_ROOT = "%SRCROOT%"
_TextOf = Callable[[str], "ClaimsText | None"]


def sarif(
    # A finding that breaks one of its rules is an error; a refuted claim always is.
    result: AuditResult,
    *,
    # The folder of the repository, to which the names of files are relative; by default the current
    # folder.
    root: Path | None = None,
) -> str:  # The document, JSON
    """The findings as a log of one run.

    Rule ids are ``claim-refuted``, ``claim-unproven``, ``claim-differs``, ``claim-underspecified``
    and ``claim-slack``; they do not change. Fingerprints are made of the rule and of the claim's
    id, so that a result stays the same when lines, files or numbers move.
    """
    results = []
    calibrated = calibrated_unasked(result.findings)
    text_of = functools.cache(_text_of)
    for finding in result.findings:
        failing = failures(finding, result.fail_on)
        for rule in broken_rules(finding, slack_above=result.fail_on.slack_above):
            noise = finding.claim.id in calibrated
            results.append(
                _result(finding, rule, is_failure=rule in failing, noise=noise, text_of=text_of)
            )
    rules = [
        SarifRule(id=_RULE_IDS[rule], meaning=MEANING[rule], level=_LEVELS[rule]) for rule in Rule
    ]
    return sarif_log("audit", "claims", rules, results, root=root)


@dataclass(frozen=True, slots=True, kw_only=True)
class SarifRule:
    """A rule that a result may break."""

    id: str  # Its name, which never changes, because other programs store it
    meaning: str  # What it says, in a sentence
    level: str  # "error", "warning" or "note"
    page: str = "docs/reference/claims.md, Verdicts"  # Where the documentation explains it


@dataclass(frozen=True, slots=True, kw_only=True)
class SarifResult:
    """A broken rule."""

    rule: str  # The rule's id
    level: str  # "error", "warning" or "note"
    message: str  # What is wrong, and what to do about it
    # What it is about, and what kind of thing that is. Fingerprints are made of the name.
    name: str
    kind: str
    place: tuple[str, int] | None  # The file and the line; None if they are not known
    properties: dict[str, Any]  # Plain values for programs
    # What SARIF calls fixes: each in words, and the pieces of the file that it replaces.
    repairs: tuple[tuple[str, tuple[Replacement, ...]], ...] = ()


def sarif_log(
    command: str,
    category: str,
    rules: list[SarifRule],
    results: list[SarifResult],
    *,
    root: Path | None = None,
) -> str:
    """Results as a log of one run of a command; ``category`` tells such logs apart.

    Texts that a claims file or code may hold become neither links nor placeholders.
    """
    base = (root or Path.cwd()).resolve()
    places = [rule.id for rule in rules]
    log = {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": f"rdpkit {command}",
                        "semanticVersion": _semantic(rdpkit.__version__),
                        "rules": [_rule(rule) for rule in rules],
                    }
                },
                "automationDetails": {"id": f"rdpkit/{category}/"},
                "columnKind": "unicodeCodePoints",
                "invocations": [{"executionSuccessful": True}],
                "results": [
                    _as_table(result, places.index(result.rule), base) for result in results
                ],
            }
        ],
    }
    return json.dumps(log, indent=1, allow_nan=False, ensure_ascii=False) + "\n"


def _semantic(version: str) -> str:
    """The version with three numbers, as semantic versioning wants it."""
    match = re.match(r"\d+(\.\d+){0,2}", version)
    numbers = match.group().split(".") if match else []
    return ".".join([*numbers, "0", "0", "0"][:3])


def _rule(rule: SarifRule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "name": "".join(word.capitalize() for word in rule.id.split("-")),
        "shortDescription": {"text": rule.meaning},
        "fullDescription": {"text": rule.meaning},
        "help": {"text": f"{rule.meaning} See {rule.page}."},
        "defaultConfiguration": {"level": rule.level},
        "properties": {"tags": ["privacy"]},
    }


def _result(
    finding: Finding, rule: Rule, *, is_failure: bool, noise: bool, text_of: _TextOf
) -> SarifResult:
    claim = finding.claim
    details = " ".join(f"{name}: {text}." for name, text in sandwich(finding))
    said = f"Claim {claim.id!r}: {headline(finding, rule)}. {details}"
    return SarifResult(
        rule=_RULE_IDS[rule],
        level="error" if is_failure else _LEVELS[rule],
        message=f"{said} What to change: {advice(finding, noise=noise)}.",
        name=claim.id,
        kind="claim",
        place=(claim.origin, claim.line),
        properties=finding.as_dict(),
        repairs=tuple(_repairs(finding, text_of, noise=noise)),
    )


def _text_of(origin: str) -> ClaimsText | None:
    """The text of a claims file; None for one that cannot be changed."""
    try:
        return ClaimsText(Path(origin).read_bytes().decode())
    except (OSError, ValueError):
        return None


def _repairs(
    finding: Finding, text_of: _TextOf, *, noise: bool
) -> Iterator[tuple[str, tuple[Replacement, ...]]]:
    """The remedies of a claim as changes of its file."""
    # What needs no change of code comes first: an editor offers the first one.
    found = remedies(finding, noise=noise)[::-1]
    text = text_of(finding.claim.origin) if found else None
    if text is None:
        return
    for remedy in found:
        try:
            pieces = text.replacements(finding.claim.id, remedy.edits)
        except ValueError:  # a claim that rdpkit claims fix cannot change either
            continue
        yield remedy.sentence, tuple(pieces)


def _as_table(result: SarifResult, index: int, base: Path) -> dict[str, Any]:
    fixes = {}
    if result.repairs and result.place is not None:
        artifact = _artifact(result.place[0], base)
        fixes = {"fixes": [_as_fix(*one, artifact) for one in result.repairs]}
    fingerprint = hashlib.sha256(f"{result.rule}\n{result.name}".encode()).hexdigest()
    logical = {"logicalLocations": [{"name": result.name, "kind": result.kind}]}
    physical = {}
    if result.place is not None:
        physical = {
            "physicalLocation": {
                "artifactLocation": _artifact(result.place[0], base),
                "region": {"startLine": result.place[1]},
            }
        }
    return {
        "ruleId": result.rule,
        "ruleIndex": index,
        "kind": "fail",
        "level": result.level,
        "message": {"text": _plain(result.message)},
        "locations": [{**physical, **logical}],
        "partialFingerprints": {"rdpkitClaim/v1": fingerprint},
        **fixes,
        "properties": result.properties,
    }


def _as_fix(
    words: str, replacements: Iterable[Replacement], artifact: dict[str, str]
) -> dict[str, Any]:
    changes = [
        {
            "deletedRegion": {
                "startLine": one.line,
                "startColumn": one.column,
                "endLine": one.end_line,
                "endColumn": one.end_column,
            },
            "insertedContent": {"text": one.text},
        }
        for one in replacements
    ]
    return {
        "description": {"text": _plain(words)},
        "artifactChanges": [{"artifactLocation": artifact, "replacements": changes}],
    }


def _artifact(origin: str, base: Path) -> dict[str, str]:
    try:
        path = Path(origin).resolve()
    except ValueError:  # no name that a file could have
        return {"uri": quote(origin, safe="")}
    if path.is_relative_to(base):
        return {"uri": quote(path.relative_to(base).as_posix()), "uriBaseId": _ROOT}
    return {"uri": path.as_uri()}


def _plain(text: str) -> str:
    """The text changed so that SARIF sees neither links nor placeholders in it."""
    return re.sub(r"\{(\d+)\}", r"{{\1}}", text.replace("](", "] ("))
