"""What ``rdpkit audit`` prints for people: a table of findings, and the chain behind one."""

from __future__ import annotations

import os
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from rdpkit.formats.text import printable
from rdpkit.verification.auditing.findings import REPEAT, Finding, Reproduction, Soundness
from rdpkit.verification.auditing.remedies import remedies
from rdpkit.verification.outputs.view import (
    claimed,
    counted,
    named_sides,
    number,
    parameters,
    sides,
    slack_words,
    what_to_change,
)

# Programs that read a pipe and set no COLUMNS get every row in one line.
_WIDTH_IN_A_PIPE = 150
# A terminal of this width has room for every column.
_WIDTH_OF_ALL = 100

_STYLE: dict[Reproduction | Soundness, str] = {
    Reproduction.EXACT: "green",
    Reproduction.DIFFERS: "red",
    Reproduction.UNDERSPECIFIED: "yellow",
    Reproduction.UNNAMED: "",
    Soundness.SOUND: "green",
    Soundness.REFUTED: "bold red",
    Soundness.UNPROVEN: "yellow",
}


def print_findings(findings: Sequence[Finding], *, notes: bool) -> None:
    """Print a table, what refutes claims, the notes, and the number of verdicts of each kind."""
    console = Console()
    if not console.is_terminal and not _has_columns():
        console = Console(width=_WIDTH_IN_A_PIPE)
    console.print(_table(findings, narrow=console.width < _WIDTH_OF_ALL))
    for finding in findings:
        if finding.refutation:
            console.print()
            console.print(Text(f"{printable(finding.claim.id)} is refuted:", style="bold red"))
            for line in finding.refutation:
                console.print(Text(f"  {line}"))
    if notes:
        _print_notes(console, findings)
    console.print()
    for axis in ("reproduction", "soundness"):
        console.print(Text(f"{len(findings)} claims, {axis}: {counted(findings, axis)}"))


def _has_columns() -> bool:
    """Whether the environment says how wide the output is to be."""
    columns = os.environ.get("COLUMNS", "")
    return columns.isascii() and columns.isdigit() and int(columns) > 0


def _table(findings: Sequence[Finding], *, narrow: bool) -> Table:
    """A row for each finding; a narrow table rounds numbers further and stacks the two verdicts."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("claim", overflow="fold")
    for heading in ("claimed", "published", "lower", "upper", "slack"):
        table.add_column(heading, justify="right", no_wrap=True)
    for heading in ("verdicts",) if narrow else ("reproduction", "soundness"):
        table.add_column(heading, no_wrap=True)
    for finding in findings:
        digits = 4 if narrow else 6
        numbers = {k: number(k, side.epsilon, digits=digits) for k, side in named_sides(finding)}
        verdicts = [
            Text(verdict.value, style=_STYLE[verdict])
            for verdict in (finding.reproduction, finding.soundness)
        ]
        table.add_row(
            Text(printable(finding.claim.id)),
            claimed(finding.claim),
            *(numbers.get(kind, "") for kind in ("published", "lower", "upper")),
            slack_words(finding),
            *([Text("\n").join(verdicts)] if narrow else verdicts),
        )
    return table


def _print_notes(console: Console, findings: Sequence[Finding]) -> None:
    """Each note once, with the claims that it is about."""
    grouped: dict[str, list[str]] = {}
    for finding in findings:
        for note in finding.notes:
            grouped.setdefault(note, []).append(finding.claim.id)
    console.print()
    for note, identifiers in grouped.items():
        names = ", ".join(identifiers[:3])
        more = f" and {len(identifiers) - 3} more" if len(identifiers) > 3 else ""
        # A command line that is broken in two cannot be pasted into a shell.
        whole = note.startswith(REPEAT)
        console.print(Text(printable(f"{names}{more}: {note}")), soft_wrap=whole)


_TITLES = {"published": "published", "upper": "upper bound", "lower": "lower bound"}


def explanation(finding: Finding) -> list[str]:
    """The whole chain behind one verdict, line by line."""
    claim = finding.claim
    lines = [
        f"claim         {claim.id}",
        f"source        {claim.source}",
        f"claimed       {claim.quantity} {claimed(claim)}"
        + ("" if claim.delta is None else f", delta {claim.delta:g}")
        + ("" if claim.order is None else f", order {claim.order:g}")
        + ("" if claim.fpr is None else f", fpr {claim.fpr:g}"),
        f"adjacency     {claim.adjacency.value}",
        f"mechanism     {claim.mechanism}",
        *(f"  {name} = {value}" for name, value in parameters(claim)),
    ]
    for side in sides(finding):
        lines.append(f"{_TITLES[side.kind]:13} {side}")
        lines += [f"  {text}" for text in (side.enclosure, *side.theorems) if text]
        lines += [f"  assumes {text}" for text in side.assumptions]
    if not finding.refutation:
        lines += [f"pair          {text}" for text in finding.pair]
    lines += [f"refuted by    {text}" for text in finding.refutation]
    lines += [
        f"scenario      {text}: {number('published', side.epsilon)}"
        for text, side in finding.scenarios
    ]
    lines.append(f"reproduction  {finding.reproduction.value}")
    slack = "" if finding.slack is None else f", slack {finding.slack:.4g}"
    lines.append(f"soundness     {finding.soundness.value}{slack}")
    lines += [f"note          {text}" for text in finding.notes]
    if remedies(finding) or finding.soundness is not Soundness.SOUND:
        lines += [f"change        {text}" for text in what_to_change(finding)]
    return lines


__all__ = ["explanation", "print_findings"]
