"""Markdown for the summary of a step or the comment of a bot: verdicts first, then details."""

from __future__ import annotations

from rdpkit.formats.text import escaped_markdown, how_many
from rdpkit.verification.auditing.baseline import BaselineComparison
from rdpkit.verification.auditing.findings import Finding
from rdpkit.verification.auditing.remedies import calibrated_unasked
from rdpkit.verification.auditing.rules import FailOn, broken_rules, failures
from rdpkit.verification.outputs import AuditResult
from rdpkit.verification.outputs.verdict import number
from rdpkit.verification.outputs.view import (
    counted,
    headline,
    how_many_fail,
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
    lines += [_row(finding, fail_on) for finding in rows[:_ROWS]]
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


def _row(finding: Finding, fail_on: FailOn) -> str:
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
