"""JUnit XML: a test case for each claim."""

from __future__ import annotations

import re
from xml.etree import ElementTree as Xml

from rdpkit.verification.auditing.findings import Finding
from rdpkit.verification.auditing.rules import Rule, failures
from rdpkit.verification.outputs import AuditResult
from rdpkit.verification.outputs.view import headline, report, sandwich

# Characters that XML 1.0 does not allow, not even escaped.
_NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_xml(result: AuditResult) -> str:
    """The findings as one test suite a file.

    Parameters
    ----------
    result : AuditResult
        Findings that break none of its rules pass, with their verdicts as output.

    Returns
    -------
    str
        The document.
    """
    judged = [(finding, failures(finding, result.fail_on)) for finding in result.findings]
    files: dict[str, list[tuple[Finding, tuple[Rule, ...]]]] = {}
    for finding, rules in judged:
        files.setdefault(finding.claim.origin, []).append((finding, rules))
    root = Xml.Element("testsuites", {"name": "privacy claims", **_counts(judged)})
    for origin, group in files.items():
        counts = {**_counts(group), "errors": "0", "skipped": "0"}
        suite = Xml.SubElement(root, "testsuite", {"name": _text(origin), **counts})
        for finding, rules in group:
            _add_case(suite, finding, rules)
    Xml.indent(root)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n' + Xml.tostring(root, encoding="unicode") + "\n"
    )


def _counts(judged: list[tuple[Finding, tuple[Rule, ...]]]) -> dict[str, str]:
    failed = sum(bool(rules) for _, rules in judged)
    return {"tests": str(len(judged)), "failures": str(failed)}


def _add_case(suite: Xml.Element, finding: Finding, rules: tuple[Rule, ...]) -> None:
    claim = finding.claim
    origin = _text(claim.origin)
    place = {"classname": origin, "name": _text(claim.id), "file": origin, "line": str(claim.line)}
    case = Xml.SubElement(suite, "testcase", place)
    if rules:
        message = _text(headline(finding, rules[0]))
        failure = Xml.SubElement(case, "failure", type=rules[0].value, message=message)
        failure.text = _text("\n".join(report(finding, rules)))
    lines = [f"{finding.reproduction.value}, {finding.soundness.value}"]
    lines += [f"{name}: {text}" for name, text in sandwich(finding)]
    Xml.SubElement(case, "system-out").text = _text("\n".join(lines))


def _text(text: str) -> str:
    """The text with a replacement character for each character that XML does not allow."""
    return _NO_XML.sub("\ufffd", text)


__all__ = ["junit_xml"]
