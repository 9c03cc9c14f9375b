"""``rdpkit audit``: read claims, recompute them, print what came out."""

from __future__ import annotations

import contextlib
import difflib
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
from rdpkit.verification.auditing.audit import AuditCache, Bounds, Finding
from rdpkit.verification.auditing.audit import audit as run_audit
from rdpkit.verification.auditing.baseline import Comparison, compare, read_baseline, write_baseline
from rdpkit.verification.auditing.evidence import with_code, with_release
from rdpkit.verification.auditing.judgement import DEFAULT, FailOn, failures
from rdpkit.verification.blackbox.verification_result import VerificationStep
from rdpkit.verification.claims.reading import Claim, load_files, shipped_files
from rdpkit.verification.outputs import badge_json, badge_svg, junit_xml, sarif, summary
from rdpkit.verification.outputs.terminal import explanation, print_findings
from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from rdpkit.cli.output import format_option, one_line_errors
from rdpkit.files import write_whole
from rdpkit.text import as_json, printable

_FILE = click.Path(path_type=Path, dir_okay=False)


def _parsed(ctx: click.Context, option: click.Parameter, words: tuple[str, ...]) -> FailOn | None:
    try:
        return FailOn.parse(words) if words else None
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


@click.command()
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--fail-on",
    "fail_on",
    multiple=True,
    callback=_parsed,
    metavar="RULE",
    help="What makes the exit status 1: refuted, unproven, differs, underspecified, slack>N (a "
    "claim that exceeds its best upper bound by more than this factor), or nothing; may be "
    "repeated. By default differs and refuted for FILES, and nothing for the papers' claims, which "
    "are reported, not checked.",
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
@click.option(
    "--bounds",
    type=click.Choice([member.value for member in Bounds]),
    default=Bounds.ALL.value,
    show_default=True,
    help="Which bounds to compute: all; needed, privacy loss distributions only where certified "
    "Renyi bounds do not prove the claim; rdp, those alone, which refute nothing.",
)
@click.option(
    "--cache",
    type=_FILE,
    help="Keep findings in this file, and take those from it that are still true.",
)
@click.option(
    "--allow-code",
    is_flag=True,
    help="Run the code that claims point at, module:callable; it is never run otherwise.",
)
@click.option("--junit", type=_FILE, help="Write JUnit XML to this file.")
@click.option("--sarif", "sarif_file", type=_FILE, help="Write SARIF 2.1.0 to this file.")
@click.option("--summary", "summary_file", type=_FILE, help="Write Markdown to this file.")
@click.option(
    "--badge",
    "badges",
    type=_FILE,
    multiple=True,
    help="Write a badge to this file: a picture if it ends in .svg, and in .json what shields.io "
    "reads; may be repeated.",
)
@click.option(
    "--baseline",
    type=_FILE,
    help="Compare with this file, show what moved, and fail only on what got worse.",
)
@click.option(
    "--write-baseline",
    "new_baseline",
    type=_FILE,
    help="Write what was found to this file, for --baseline.",
)
@click.option("--notes/--no-notes", default=True, help="Print the notes below the table.")
@format_option
@one_line_errors
def audit(
    *,
    files: tuple[Path, ...],
    fail_on: FailOn | None,
    explain: str | None,
    jobs: int,
    bounds: str,
    cache: Path | None,
    allow_code: bool,
    baseline: Path | None,
    notes: bool,
    output_format: str,
    **outputs: Any,
) -> None:
    """Recompute privacy claims with their own formula, and bound what is true.

    FILES are claims in TOML, or manifests of releases in JSON; with none, the claims of the papers,
    which are shipped.

    Exit status: 0 fine, 1 a claim breaks a rule of --fail-on, or with --baseline is worse than it
    was, 2 bad usage or bad input.
    """
    _check_badges(outputs["badges"])
    claims = load_files(files or shipped_files())
    before = None if baseline is None else read_baseline(baseline)
    if explain is not None:
        claims = _only(claims, explain)
    findings = _with_progress(claims, jobs, bounds, cache)
    findings = _pointed_at(findings, allow_code, jobs)
    rules = fail_on or (DEFAULT if files else FailOn.parse(["nothing"]))
    comparison = None if before is None else compare(findings, before, rules)
    _write(findings, rules, comparison, **outputs)
    if output_format == "json":
        entries: dict[str, Any] = {"claims": [_entry(finding, rules) for finding in findings]}
        if comparison is not None:
            entries["baseline"] = comparison.as_dict()
        click.echo(as_json(entries))
    elif explain is not None:
        click.echo("\n".join(printable(line) for line in explanation(findings[0])))
    else:
        print_findings(findings, notes=notes)
        if comparison is not None:
            click.echo(f"\nSince {printable(str(baseline))}:")
            lines = comparison.lines() or ["nothing moved"]
            click.echo("\n".join(printable(line) for line in lines))
    failed = any(failures(finding, rules) for finding in findings)
    if failed if comparison is None else comparison.worse:
        sys.exit(1)


def _entry(finding: Finding, rules: FailOn) -> dict[str, Any]:
    claim = finding.claim
    fails = [rule.value for rule in failures(finding, rules)]
    return {**finding.as_dict(), "file": claim.origin, "line": claim.line, "fails": fails}


def _check_badges(paths: tuple[Path, ...]) -> None:
    for path in paths:
        if path.suffix not in (".svg", ".json"):
            raise ValueError(f"Expected --badge to end in .svg or .json, got {str(path)!r}.")


def _write(
    findings: list[Finding],
    rules: FailOn,
    comparison: Comparison | None,
    *,
    junit: Path | None,
    sarif_file: Path | None,
    summary_file: Path | None,
    badges: tuple[Path, ...],
    new_baseline: Path | None,
) -> None:
    """Write every file that was asked for, each whole or not at all."""
    if junit is not None:
        write_whole(junit, junit_xml(findings, rules).encode())
    if sarif_file is not None:
        write_whole(sarif_file, sarif(findings, rules).encode())
    if summary_file is not None:
        write_whole(summary_file, summary(findings, rules, comparison=comparison).encode())
    for path in badges:
        badge = badge_svg if path.suffix == ".svg" else badge_json
        write_whole(path, badge(findings, rules).encode())
    if new_baseline is not None:
        write_baseline(new_baseline, findings, rules)


def _pointed_at(findings: list[Finding], allow_code: bool, jobs: int) -> list[Finding]:
    """The findings with what the releases and the code say that claims point at."""
    found = []
    for finding in findings:
        claim = finding.claim
        try:
            finding = with_release(finding)  # noqa: PLW2901 - a finding grows
            if claim.code is not None:
                with _code_progress(claim, shown=allow_code) as progress:
                    finding = with_code(  # noqa: PLW2901 - as above
                        finding, allow_code=allow_code, jobs=jobs, progress=progress
                    )
        except (ValueError, ArithmeticError) as error:
            raise ValueError(f"{claim.origin}: claim {claim.id!r}: {error}") from None
        found.append(finding)
    return found


@contextlib.contextmanager
def _code_progress(claim: Claim, *, shown: bool) -> Iterator[Callable[[VerificationStep], None]]:
    """A progress bar on a terminal, and nothing in a pipe."""
    with Progress(
        TextColumn("{task.description}", markup=False),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
        disable=not (shown and sys.stderr.isatty()),
    ) as progress:
        task = progress.add_task(printable(claim.id))

        def show(step: VerificationStep) -> None:
            text = f"{printable(claim.id)}: {step.stage}, {step.runs} runs of the code"
            progress.update(task, description=text)

        yield show


def _only(claims: list[Claim], identifier: str) -> list[Claim]:
    found = [claim for claim in claims if claim.id == identifier]
    if not found:
        close = difflib.get_close_matches(identifier, [claim.id for claim in claims])
        hint = f"; did you mean {', '.join(close)}?" if close else "."
        raise ValueError(f"Expected ID to be the id of a claim, got {identifier!r}{hint}")
    return found


def _with_progress(
    claims: list[Claim], jobs: int, bounds: str, cache: Path | None
) -> list[Finding]:
    """Audit with a progress bar on a terminal, and silently in a pipe."""
    kept = None if cache is None else AuditCache(cache)
    for problem in () if kept is None else kept.damaged:
        click.echo(printable(f"Warning: {problem}: computed again."), err=True)
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
            bounds=bounds,
            cache=kept,
        ):
            findings.append(finding)
            progress.advance(task)
    return findings
