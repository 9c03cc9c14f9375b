"""A badge: how many claims hold, as an SVG picture or as JSON for shields.io."""

from __future__ import annotations

import json
from xml.sax.saxutils import escape

from rdpkit.verification.auditing.findings import ClaimVerdict
from rdpkit.verification.auditing.rules import Rule, broken_rules, failures
from rdpkit.verification.outputs import AuditResult
from rdpkit.verification.outputs.verdict import QUALIFIED

LABEL = "privacy claims"
# The width of an average character of 11 px. The text is stretched to the width computed from it.
_CHARACTER = 6.6
_COLOURS = {"brightgreen": "#2c7a1f", "yellow": "#8a6100", "red": "#b3261e", "lightgrey": "#5f6368"}
_WORST = (
    *(Rule.REFUTED, Rule.DIFFERS, *QUALIFIED),
    *(Rule.UNPROVEN, Rule.UNDERSPECIFIED, Rule.SLACK),
)


def badge_json(
    result: AuditResult,  # All claims; the badge is red if one of them fails
) -> str:
    """The badge in the format that shields.io calls an endpoint."""
    message, colour = _state(result)
    return (
        json.dumps(
            {
                "schemaVersion": 1,
                "label": LABEL,
                "message": message,
                "color": colour,
                "isError": colour == "red",
            },
            indent=1,
        )
        + "\n"
    )


def badge_svg(
    result: AuditResult,  # All claims; the badge is red if one of them fails
) -> str:
    """The badge as a picture, with its text for screen readers."""
    message, colour = _state(result)
    left, right = (round(len(text) * _CHARACTER) + 10 for text in (LABEL, message))
    title = escape(f"{LABEL}: {message}", {'"': "&quot;"})
    texts = "".join(
        f'<text x="{start + 5}" y="14" textLength="{width - 10}" '
        f'lengthAdjust="spacingAndGlyphs">{escape(text)}</text>'
        for text, start, width in ((LABEL, 0, left), (message, left, right))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img" '
        f'aria-label="{title}"><title>{title}</title>'
        f'<clipPath id="r"><rect width="{left + right}" height="20" rx="3"/></clipPath>'
        f'<g clip-path="url(#r)"><rect width="{left}" height="20" fill="#444"/>'
        f'<rect x="{left}" width="{right}" height="20" fill="{_COLOURS[colour]}"/></g>'
        f'<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">{texts}</g>'
        "</svg>\n"
    )


def _state(result: AuditResult) -> tuple[str, str]:
    """The words and the colour: red if something fails, yellow if something is not proven."""
    findings, fail_on = result.findings, result.fail_on
    if not findings:
        return "none", "lightgrey"
    counts: dict[Rule | ClaimVerdict, int] = dict.fromkeys(_WORST, 0)
    for finding in findings:
        broken = broken_rules(finding, slack_above=fail_on.slack_above)
        if finding.verdict in QUALIFIED:
            counts[finding.verdict] += 1
        elif broken:
            counts[broken[0]] += 1
    failed = any(failures(finding, fail_on) for finding in findings)
    words = [f"{count} {what.value}" for what, count in counts.items() if count]
    fine = len(findings) - sum(counts.values())
    if fine:
        words.append(f"{fine} sound")
    colour = "red" if failed else "yellow" if fine < len(findings) else "brightgreen"
    return ", ".join(words), colour
