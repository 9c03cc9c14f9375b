"""Audits in short: a page of Markdown, a table for programs and papers, and a badge."""

from __future__ import annotations

import json
from xml.sax.saxutils import escape

from rdpkit.formats.columns import as_csv, as_tex
from rdpkit.formats.numbers import as_given, printable
from rdpkit.formats.text import escaped_markdown, how_many
from rdpkit.verification.auditing.baseline import BaselineComparison
from rdpkit.verification.auditing.findings import ClaimVerdict, Finding
from rdpkit.verification.auditing.remedies import calibrated_unasked
from rdpkit.verification.auditing.rules import FailOn, Rule, broken_rules, failures
from rdpkit.verification.outputs import AuditResult
from rdpkit.verification.outputs.words import (
    QUALIFIED,
    counted,
    headline,
    how_many_fail,
    number,
    slack_words,
    statement,
    what_to_change,
    would_need,
)

# The summary of a step may have one mebibyte, and nobody reads that many rows.
_ROWS = 300
_DETAILS = 30


def summary(
    # What was found, what counts as a failure, and what moved since a baseline.
    result: AuditResult,
) -> str:  # The page. Failing claims come first; of very many claims the rest is counted.
    """The findings as a page of Markdown."""
    findings, fail_on, comparison = result.findings, result.fail_on, result.comparison
    failing = [finding for finding in findings if failures(finding, fail_on)]
    verdicts = counted(findings, "verdict")
    lines = [
        "## Privacy claims",
        "",
        f"{how_many(len(findings), 'claim')}: {verdicts or 'none'}.",
        "",
    ]
    if comparison is None:
        marked = any(broken_rules(one, slack_above=fail_on.slack_above) for one in findings)
        passed = "None breaks a rule that this audit was asked for." if marked else "All pass."
        how = f"**{how_many_fail(len(failing), len(findings))}**" if failing else passed
        lines += [how, ""]
    else:
        lines += [*_comparison(comparison), ""]
    rest = [finding for finding in findings if not failures(finding, fail_on)]
    rows = [*failing, *rest]
    lines += [
        "| | claim | claimed | lower | upper | slack | reproduction | verdict |",
        "| --- | --- | ---: | ---: | ---: | ---: | --- | --- |",
    ]
    lines += [_markdown_row(finding, fail_on) for finding in rows[:_ROWS]]
    if len(rows) > _ROWS:
        lines += ["", f"And {len(rows) - _ROWS} more."]
    calibrated = calibrated_unasked(failing)
    for finding in failing[:_DETAILS]:
        rules = failures(finding, fail_on)
        lines += ["", f"### {escaped_markdown(finding.claim.id)}", ""]
        lines.append(f"{escaped_markdown(finding.claim.origin)}, line {finding.claim.line}")
        lines.append("")
        lines += [f"- {escaped_markdown(headline(finding, rule))}" for rule in rules]
        lines += [f"- would need: {escaped_markdown(text)}" for text in would_need(finding)]
        told = what_to_change(finding, noise=finding.claim.id in calibrated)
        lines += [f"- what to change: {escaped_markdown(text)}" for text in told]
    if len(failing) > _DETAILS:
        more = len(failing) - _DETAILS
        lines += ["", f"And {how_many(more, 'more that fails', 'more that fail')}."]
    return "\n".join(lines) + "\n"


def _markdown_row(finding: Finding, fail_on: FailOn) -> str:
    mark = ":x:" if failures(finding, fail_on) else ""
    if not mark and broken_rules(finding, slack_above=fail_on.slack_above):
        mark = ":warning:"
    lower, upper = finding.lower, finding.upper
    cells = (
        mark or ":white_check_mark:",
        escaped_markdown(finding.claim.id),
        escaped_markdown(statement(finding.claim)),
        "" if lower is None else number("lower", lower.epsilon, digits=4),
        "" if upper is None else number("upper", upper.epsilon, digits=4),
        slack_words(finding),
        finding.reproduction.value,
        finding.verdict.value,
    )
    return "| " + " | ".join(cells) + " |"


def _comparison(comparison: BaselineComparison) -> list[str]:
    lines = ["**Worse than the baseline.**" if comparison.worse else "Not worse than the baseline."]
    if comparison.changes:
        lines += ["", "| claim | | before | now |", "| --- | --- | --- | --- |"]
    for change in comparison.changes[:_ROWS]:
        for moved in change.moved:
            worse = ":x: " if moved.worse else ""
            before, now = escaped_markdown(moved.before), escaped_markdown(moved.now)
            name = escaped_markdown(change.id)
            lines.append(f"| {name} | {worse}{moved.what} | {before} | {now} |")
    return lines


_COLUMNS = (
    "claim", "mechanism", "neighbours", "quantity", "delta", "claimed", "published", "lower",
    "upper", "reproduction", "verdict",
)  # fmt: skip


def csv_table(result: AuditResult) -> str:
    """A row for each claim, with a heading; bounds are rounded to the safe side."""
    # A spreadsheet may take such a text for a formula; it knows full-width signs, too.
    signs = tuple("=+-@\uff1d\uff0b\uff0d\uff20")
    return as_csv({
        name: ["'" + cell if cell.lstrip().startswith(signs) else cell for cell in cells]
        for name, cells in _columns(result, 10).items()
    })  # fmt: skip


def tex_table(result: AuditResult) -> str:
    """A ``tabular`` with a row for each claim, without packages beyond LaTeX's own."""
    return as_tex(_columns(result, 4), "llll" + "r" * 5 + "ll")


def _columns(result: AuditResult, digits: int) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {name: [] for name in _COLUMNS}
    for finding in result.findings:
        claim = finding.claim
        cells = {
            "claim": claim.id,
            "mechanism": claim.mechanism,
            "neighbours": claim.adjacency.dashed,
            "quantity": claim.quantity,
            "delta": "" if claim.delta is None else as_given(claim.delta),
            "claimed": "" if claim.epsilon is None else str(claim.epsilon),
            **finding.numbers(digits),
            "reproduction": finding.reproduction.value,
            "verdict": finding.verdict.value,
        }
        for name, column in found.items():
            column.append(printable(cells.get(name, "")))
    return found


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
