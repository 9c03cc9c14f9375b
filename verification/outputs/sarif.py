"""SARIF 2.1.0: what is wrong, at the line of the claim, or of the code that was tested."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import rdpkit
from rdpkit.verification.auditing.findings import Finding
from rdpkit.verification.auditing.remedies import calibrated_unasked, remedies
from rdpkit.verification.auditing.rules import MEANING, Rule, broken_rules, failures
from rdpkit.verification.claims.editing import ClaimsText, Replacement
from rdpkit.verification.outputs import AuditResult
from rdpkit.verification.outputs.view import advice, headline, sandwich

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
    files = _Files()
    for finding in result.findings:
        failing = failures(finding, result.fail_on)
        for rule in broken_rules(finding, slack_above=result.fail_on.slack_above):
            noise = finding.claim.id in calibrated
            results.append(
                _result(finding, rule, is_failure=rule in failing, noise=noise, files=files)
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
    repairs: tuple[SarifRepair, ...] = ()  # Changes of the file that mend it


@dataclass(frozen=True, slots=True, kw_only=True)
class SarifRepair:
    """One way to mend what a result is about, which SARIF calls a fix."""

    description: str  # What it does, in words
    replacements: tuple[Replacement, ...]
    """Pieces of the file of the result, with what is to be there instead."""


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
    finding: Finding, rule: Rule, *, is_failure: bool, noise: bool, files: _Files
) -> SarifResult:
    claim = finding.claim
    details = [f"{name}: {text}." for name, text in sandwich(finding)]
    text = " ".join(
        [
            f"Claim {claim.id!r}: {headline(finding, rule)}.",
            *details,
            f"What to change: {advice(finding, noise=noise)}.",
        ]
    )
    return SarifResult(
        rule=_RULE_IDS[rule],
        level="error" if is_failure else _LEVELS[rule],
        message=text,
        name=claim.id,
        kind="claim",
        place=(claim.origin, claim.line),
        properties=finding.as_dict(),
        repairs=tuple(_repairs(finding, files, noise=noise)),
    )


class _Files:
    """The texts of claims files, each read once; None for one that cannot be changed."""

    def __init__(self) -> None:
        self._texts: dict[str, ClaimsText | None] = {}

    def text_of(self, origin: str) -> ClaimsText | None:
        if origin not in self._texts:
            try:
                text = Path(origin).read_bytes().decode()
                self._texts[origin] = ClaimsText(text)
            except (OSError, ValueError):
                self._texts[origin] = None
        return self._texts[origin]


def _repairs(finding: Finding, files: _Files, *, noise: bool) -> Iterator[SarifRepair]:
    """The remedies of a claim as changes of its file."""
    # What needs no change of code comes first: an editor offers the first one.
    found = remedies(finding, noise=noise)[::-1]
    text = files.text_of(finding.claim.origin) if found else None
    if text is None:
        return
    for remedy in found:
        try:
            pieces = text.replacements(finding.claim.id, remedy.edits)
        except ValueError:  # a claim that rdpkit fix cannot change either
            continue
        yield SarifRepair(description=remedy.sentence, replacements=tuple(pieces))


def _as_table(result: SarifResult, index: int, base: Path) -> dict[str, Any]:
    fixes = {}
    if result.repairs and result.place is not None:
        artifact = _artifact(result.place[0], base)
        fixes = {"fixes": [_as_fix(one, artifact) for one in result.repairs]}
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


def _as_fix(repair: SarifRepair, artifact: dict[str, str]) -> dict[str, Any]:
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
        for one in repair.replacements
    ]
    return {
        "description": {"text": _plain(repair.description)},
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
