"""``rdpkit audit``: read claims, recompute them, print what came out."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import click
from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from rdpkit.cli.output import as_json, format_option, one_line_errors, rounded_up
from verification.audit import Finding, Reproduction, Soundness
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
@click.option("--notes/--no-notes", default=True, help="Print the notes below the table.")
@format_option
@one_line_errors
def audit(
    files: tuple[Path, ...], fail_on: tuple[str, ...], notes: bool, output_format: str
) -> None:
    """Recompute privacy claims with their own formula, and bound what is true.

    FILES are claims in TOML; with none, the claims of the five papers, which are shipped.

    Exit status: 0 fine, 1 a claim has a verdict named by --fail-on, 2 bad usage or bad input.
    """
    claims = load_files(files or shipped_files())
    findings = _with_progress(claims)
    if output_format == "json":
        click.echo(as_json({"claims": [finding.as_dict() for finding in findings]}))
    else:
        _print(findings, notes=notes)
    failing = set(fail_on) or ({"differs", "refuted"} if files else set())
    verdicts = {v for f in findings for v in (f.reproduction.value, f.soundness.value)}
    if verdicts & failing:
        sys.exit(1)


def _with_progress(claims: list[Claim]) -> list[Finding]:
    """Audit with a progress bar on a terminal, and silently in a pipe."""
    console = Console(stderr=True)
    with Progress(
        TextColumn("auditing"),
        MofNCompleteColumn(),
        TextColumn("{task.description}", markup=False),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as progress:
        task = progress.add_task("", total=len(claims))
        findings = []
        for finding in run_audit(
            claims, on_claim=lambda claim: progress.update(task, description=claim.id)
        ):
            findings.append(finding)
            progress.advance(task)
    return findings


def _print(findings: list[Finding], *, notes: bool) -> None:
    console = Console()
    if not console.is_terminal:
        console = Console(width=140)
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("claim", overflow="fold")
    for heading in ("claimed", "published", "upper", "slack"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("reproduction", no_wrap=True)
    table.add_column("soundness", no_wrap=True)
    for finding in findings:
        claim = finding.claim
        table.add_row(
            Text(claim.id),
            "-" if claim.epsilon is None else f"{claim.epsilon}".lower().replace("infinity", "inf"),
            _number(None if finding.published is None else finding.published.epsilon),
            _number(None if finding.upper is None else finding.upper.epsilon),
            "" if finding.slack is None else f"{finding.slack:.3g}",
            Text(finding.reproduction.value, style=_STYLE[finding.reproduction]),
            Text(finding.soundness.value, style=_STYLE[finding.soundness]),
        )
    console.print(table)
    if notes:
        grouped: dict[str, list[str]] = {}
        for finding in findings:
            for note in finding.notes:
                grouped.setdefault(note, []).append(finding.claim.id)
        console.print()
        for note, identifiers in grouped.items():
            names = ", ".join(identifiers[:3])
            more = f" and {len(identifiers) - 3} more" if len(identifiers) > 3 else ""
            console.print(Text(f"{names}{more}: {note}"))
    console.print()
    for axis in ("reproduction", "soundness"):
        counts = Counter(getattr(finding, axis).value for finding in findings)
        parts = ", ".join(f"{count} {name}" for name, count in counts.most_common())
        console.print(Text(f"{len(findings)} claims, {axis}: {parts}"))


def _number(value: float | None) -> str:
    return "" if value is None else rounded_up(value, digits=6)
