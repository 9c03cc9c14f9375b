"""What ``rdpkit audit`` prints for people: a table of findings, and the chain behind one."""

from __future__ import annotations

import dataclasses
from collections import Counter

from rdpkit.verification.auditing.audit import Finding, Reproduction, Side, Soundness
from rdpkit.verification.claims.claim import Claim
from rich.console import Console
from rich.table import Table
from rich.text import Text

from rdpkit import BOUNDS
from rdpkit.accountants.loss_distributions import SOURCES
from rdpkit.text import printable, rounded_down, rounded_up

_STYLE = {
    Reproduction.EXACT: "green",
    Reproduction.DIFFERS: "red",
    Reproduction.UNDERSPECIFIED: "yellow",
    Soundness.SOUND: "green",
    Soundness.REFUTED: "bold red",
    Soundness.UNPROVEN: "yellow",
}
_WIDEST = 14


def print_findings(findings: list[Finding], *, notes: bool) -> None:
    """A table, what refutes, the notes, and how many verdicts there are of each kind."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=150)
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("claim", overflow="fold")
    for heading in ("claimed", "published", "lower", "upper", "slack"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("reproduction", no_wrap=True)
    table.add_column("soundness", no_wrap=True)
    for finding in findings:
        claim = finding.claim
        table.add_row(
            Text(printable(claim.id)),
            _claimed(claim),
            _number(finding.published),
            _number(finding.lower, down=True),
            _number(finding.upper),
            "" if finding.slack is None else f"{finding.slack:.3g}",
            Text(finding.reproduction.value, style=_STYLE[finding.reproduction]),
            Text(finding.soundness.value, style=_STYLE[finding.soundness]),
        )
    console.print(table)
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
        counts = Counter(getattr(finding, axis).value for finding in findings)
        parts = ", ".join(f"{count} {name}" for name, count in counts.most_common())
        console.print(Text(f"{len(findings)} claims, {axis}: {parts}"))


def _print_notes(console: Console, findings: list[Finding]) -> None:
    """Each note once, with the claims that it is about."""
    grouped: dict[str, list[str]] = {}
    for finding in findings:
        for note in finding.notes:
            grouped.setdefault(note, []).append(finding.claim.id)
    console.print()
    for note, identifiers in grouped.items():
        names = ", ".join(identifiers[:3])
        more = f" and {len(identifiers) - 3} more" if len(identifiers) > 3 else ""
        console.print(Text(printable(f"{names}{more}: {note}")))


def explanation(finding: Finding) -> list[str]:
    """The whole chain behind one verdict, line by line."""
    claim = finding.claim
    lines = [
        f"claim         {claim.id}",
        f"source        {claim.source}",
        f"claimed       epsilon {_claimed(claim)}"
        + ("" if claim.delta is None else f", delta {claim.delta:g}")
        + ("" if claim.order is None else f", order {claim.order:g}"),
        f"adjacency     {claim.adjacency.value}",
        f"mechanism     {claim.mechanism}",
    ]
    if claim.event is not None:
        lines += [
            f"  {field.name} = {getattr(claim.event, field.name)}"
            for field in dataclasses.fields(claim.event)
        ]
    titles = {bound.id: f"{bound.title}: {bound.source}" for bound in BOUNDS} | SOURCES
    sides = (
        ("published", finding.published),
        ("upper bound", finding.upper),
        ("lower bound", finding.lower),
    )
    for name, side in sides:
        if side is None:
            continue
        at = "" if side.order is None else f" at order {side.order:.6g}"
        lines.append(f"{name:13} {_number(side, down=name == 'lower bound')} by {side.bound}{at}")
        if side.enclosure is not None:
            kind = "certified" if side.rigorous else "floating-point"
            lines.append(f"  {kind} interval [{side.enclosure[0]!r}, {side.enclosure[1]!r}]")
        for identifier in side.bound.split(" + "):
            if identifier in titles:
                lines.append(f"  {titles[identifier]}")
        lines += [f"  assumes {text}" for text in side.assumptions]
    if not finding.refutation:
        lines += [f"pair          {text}" for text in finding.pair]
    lines += [f"refuted by    {text}" for text in finding.refutation]
    lines += [f"scenario      {text}: {side.epsilon:.6g}" for text, side in finding.scenarios]
    lines.append(f"reproduction  {finding.reproduction.value}")
    slack = "" if finding.slack is None else f", slack {finding.slack:.4g}"
    lines.append(f"soundness     {finding.soundness.value}{slack}")
    lines += [f"note          {text}" for text in finding.notes]
    return lines


def _claimed(claim: Claim) -> str:
    """The claimed number as printed, unless that is too long for a column."""
    if claim.epsilon is None:
        return "-"
    if not claim.epsilon.is_finite():
        return "inf"
    text = str(claim.epsilon)
    return text if len(text) <= _WIDEST else f"{claim.epsilon:.6e}"


def _number(side: Side | None, *, down: bool = False) -> str:
    if side is None:
        return ""
    if down:
        return rounded_down(side.epsilon, digits=6)
    return rounded_up(side.epsilon, digits=6)
