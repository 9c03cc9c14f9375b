"""``rdpkit audit``: read claims, recompute them, print what came out."""

from __future__ import annotations

import dataclasses
import difflib
import os
import sys
from collections import Counter
from pathlib import Path

import click
from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from rdpkit import BOUNDS
from rdpkit.by_loss import SOURCES
from rdpkit.cli.output import (
    as_json,
    format_option,
    one_line_errors,
    printable,
    rounded_down,
    rounded_up,
)
from verification.audit import Finding, Reproduction, Side, Soundness
from verification.audit import audit as run_audit
from verification.claims import Claim, load_files, shipped_files

_STYLE = {
    Reproduction.EXACT: "green",
    Reproduction.DIFFERS: "red",
    Reproduction.UNDERSPECIFIED: "yellow",
    Soundness.SOUND: "green",
    Soundness.REFUTED: "bold red",
    Soundness.UNPROVEN: "yellow",
}
_WIDEST = 14
_FAIL_ON = ("differs", "underspecified", "refuted", "unproven", "nothing")


@click.command()
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--fail-on",
    "fail_on",
    multiple=True,
    type=click.Choice(_FAIL_ON),
    help="Verdicts that make the exit status 1; may be repeated. By default differs and refuted "
    "for FILES, and nothing for the papers' claims, which are reported, not checked.",
)
@click.option(
    "--explain",
    metavar="ID",
    help="Show the whole chain for one claim: parameters, formulas, theorems, pair, assumptions.",
)
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    default=lambda: os.cpu_count() or 1,
    show_default="all cores",
    help="Processes to share the work between.",
)
@click.option("--notes/--no-notes", default=True, help="Print the notes below the table.")
@format_option
@one_line_errors
def audit(
    *,
    files: tuple[Path, ...],
    fail_on: tuple[str, ...],
    explain: str | None,
    jobs: int,
    notes: bool,
    output_format: str,
) -> None:
    """Recompute privacy claims with their own formula, and bound what is true.

    FILES are claims in TOML; with none, those of the papers, which are shipped.

    Exit status: 0 fine, 1 a claim has a verdict named by --fail-on, 2 bad usage or bad input.
    """
    claims = load_files(files or shipped_files())
    if explain is not None:
        claims = _only(claims, explain)
    findings = _with_progress(claims, jobs)
    if output_format == "json":
        click.echo(as_json({"claims": [finding.as_dict() for finding in findings]}))
    elif explain is not None:
        click.echo("\n".join(printable(line) for line in explanation(findings[0])))
    else:
        _print(findings, notes=notes)
    failing = set(fail_on) or ({"differs", "refuted"} if files else set())
    verdicts = {v for f in findings for v in (f.reproduction.value, f.soundness.value)}
    if verdicts & failing:
        sys.exit(1)


def _only(claims: list[Claim], identifier: str) -> list[Claim]:
    found = [claim for claim in claims if claim.id == identifier]
    if not found:
        close = difflib.get_close_matches(identifier, [claim.id for claim in claims])
        hint = f"; did you mean {', '.join(close)}?" if close else "."
        raise ValueError(f"Expected ID to be the id of a claim, got {identifier!r}{hint}")
    return found


def _with_progress(claims: list[Claim], jobs: int) -> list[Finding]:
    """Audit with a progress bar on a terminal, and silently in a pipe."""
    console = Console(stderr=True)
    with Progress(
        TextColumn("auditing"),
        MofNCompleteColumn(),
        TextColumn("{task.description}", markup=False),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not sys.stderr.isatty(),
    ) as progress:
        task = progress.add_task("", total=len(claims))
        findings = []
        for finding in run_audit(
            claims,
            on_claim=lambda claim: progress.update(task, description=claim.id),
            workers=jobs,
        ):
            findings.append(finding)
            progress.advance(task)
    return findings


def _print(findings: list[Finding], *, notes: bool) -> None:
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
