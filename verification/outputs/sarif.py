"""SARIF 2.1.0: what is wrong, at the line of the claims file at which the claim begins."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

import rdpkit
from rdpkit.verification.auditing.findings import Finding
from rdpkit.verification.auditing.rules import MEANING, Rule, broken_rules, failures
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


def sarif(result: AuditResult, *, root: Path | None = None) -> str:
    """The findings as a log of one run.

    Rule ids are ``claim-refuted``, ``claim-unproven``, ``claim-differs``, ``claim-underspecified``
    and ``claim-slack``; they do not change. Fingerprints are made of the rule and of the claim's
    id, so that a result stays the same when lines, files or numbers move.

    Parameters
    ----------
    result : AuditResult
        A finding that breaks one of its rules is an error; a refuted claim always is.
    root : Path, optional
        The folder of the repository, to which the names of files are relative; by default the
        current folder.

    Returns
    -------
    str
        The document, JSON.
    """
    base = (root or Path.cwd()).resolve()
    rules = list(Rule)
    results = []
    for finding in result.findings:
        failing = failures(finding, result.fail_on)
        for rule in broken_rules(finding, slack_above=result.fail_on.slack_above):
            results.append(_result(finding, rule, rules.index(rule), rule in failing, base))
    log = {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "rdpkit audit",
                        "semanticVersion": _semantic(rdpkit.__version__),
                        "rules": [_rule(rule) for rule in rules],
                    }
                },
                "automationDetails": {"id": "rdpkit/claims/"},
                "columnKind": "unicodeCodePoints",
                "invocations": [{"executionSuccessful": True}],
                "results": results,
            }
        ],
    }
    return json.dumps(log, indent=1, allow_nan=False, ensure_ascii=False) + "\n"


def _semantic(version: str) -> str:
    """The version with three numbers, as semantic versioning wants it."""
    match = re.match(r"\d+(\.\d+){0,2}", version)
    numbers = match.group().split(".") if match else []
    return ".".join([*numbers, "0", "0", "0"][:3])


def _rule(rule: Rule) -> dict[str, Any]:
    return {
        "id": _RULE_IDS[rule],
        "name": "Claim" + rule.value.capitalize(),
        "shortDescription": {"text": MEANING[rule]},
        "fullDescription": {"text": MEANING[rule]},
        "help": {"text": f"{MEANING[rule]} See docs/claims.md, Verdicts."},
        "defaultConfiguration": {"level": _LEVELS[rule]},
        "properties": {"tags": ["privacy"]},
    }


def _result(
    finding: Finding, rule: Rule, index: int, is_failure: bool, base: Path
) -> dict[str, Any]:
    claim = finding.claim
    details = [f"{name}: {text}." for name, text in sandwich(finding)]
    text = " ".join(
        [
            f"Claim {claim.id!r}: {headline(finding, rule)}.",
            *details,
            f"What to change: {advice(finding, rule)}.",
        ]
    )
    fingerprint = hashlib.sha256(f"{_RULE_IDS[rule]}\n{claim.id}".encode()).hexdigest()
    return {
        "ruleId": _RULE_IDS[rule],
        "ruleIndex": index,
        "kind": "fail",
        "level": "error" if is_failure else _LEVELS[rule],
        "message": {"text": _plain(text)},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": _artifact(claim.origin, base),
                    "region": {"startLine": claim.line},
                },
                "logicalLocations": [{"name": claim.id, "kind": "claim"}],
            }
        ],
        "partialFingerprints": {"rdpkitClaim/v1": fingerprint},
        "properties": finding.as_dict(),
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


__all__ = ["SCHEMA", "sarif"]
