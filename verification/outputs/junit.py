"""JUnit XML: a test case for each claim."""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree import ElementTree as Xml

from rdpkit.verification.auditing.findings import Finding
from rdpkit.verification.auditing.judgement import FailOn, failures, headline, report, sides

# What XML 1.0 has no place for, not even escaped.
_NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_xml(findings: Sequence[Finding], fail_on: FailOn) -> str:
    """The findings as one test suite a file.

    Parameters
    ----------
    findings : sequence of Finding
        In the order of their claims.
    fail_on : FailOn
        What counts as a failure. Other findings pass, with their verdicts as output.

    Returns
    -------
    str
        The document.
    """
    files: dict[str, list[Finding]] = {}
    for finding in findings:
        files.setdefault(finding.claim.origin, []).append(finding)
    failed = sum(bool(failures(finding, fail_on)) for finding in findings)
    root = Xml.Element(
        "testsuites", name="privacy claims", tests=str(len(findings)), failures=str(failed)
    )
    for origin, group in files.items():
        broken = [failures(finding, fail_on) for finding in group]
        suite = Xml.SubElement(
            root,
            "testsuite",
            name=_text(origin),
            tests=str(len(group)),
            failures=str(sum(map(bool, broken))),
            errors="0",
            skipped="0",
        )
        for finding, rules in zip(group, broken, strict=True):
            case = Xml.SubElement(
                suite,
                "testcase",
                classname=_text(origin),
                name=_text(finding.claim.id),
                file=_text(origin),
                line=str(finding.claim.line),
            )
            if rules:
                failure = Xml.SubElement(
                    case,
                    "failure",
                    type=rules[0].value,
                    message=_text(headline(finding, rules[0])),
                )
                failure.text = _text("\n".join(report(finding, rules)))
            output = Xml.SubElement(case, "system-out")
            lines = [f"{finding.reproduction.value}, {finding.soundness.value}"]
            lines += [f"{name}: {text}" for name, text in sides(finding)]
            output.text = _text("\n".join(lines))
    Xml.indent(root)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n' + Xml.tostring(root, encoding="unicode") + "\n"
    )


def _text(text: str) -> str:
    return _NO_XML.sub("\ufffd", text)


__all__ = ["junit_xml"]
