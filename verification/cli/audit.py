"""``rdpkit audit``: read claims, recompute them, print what came out."""

from __future__ import annotations

import hashlib
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from rdpkit.cli.option_types import FILE, FOLDER, names_of
from rdpkit.cli.output import (
    answer_options,
    asked_format,
)
from rdpkit.formats.records import did_you_mean
from rdpkit.formats.text import as_json, printable
from rdpkit.verification.auditing.baseline import compare, read_baseline, write_baseline
from rdpkit.verification.auditing.findings import Finding, number_of
from rdpkit.verification.auditing.remedies import calibrated_unasked, obstacles, remedies
from rdpkit.verification.auditing.rules import DEFAULT, NOTHING, FailOn, failures
from rdpkit.verification.claims.claim import Claim
from rdpkit.verification.claims.reading import load_files
from rdpkit.verification.cli.audit_options import (
    PageOptions,
    Selection,
    Sources,
    audit_options,
    audited,
    build_time,
    page_options,
    parsed,
)
from rdpkit.verification.cli.code_options import (
    file_options,
    files_of,
    files_to_write,
    write_files,
)
from rdpkit.verification.outputs import AuditResult, known_outputs

_OUTPUTS = known_outputs()
_BY_SUFFIX = {
    ".csv": files_of("table"),
    ".html": "report",
    ".md": files_of("summary"),
    ".sarif": files_of("sarif"),
    ".tex": files_of("table"),
    ".xml": files_of("junit"),
}


def _ids(ctx: click.Context) -> list[str]:
    """The claims of the files that were named, or of those that are shipped."""
    # Words before an option that has no value yet are not parsed.
    files = ctx.params.get("files") or [Path(word) for word in ctx.args]
    return [claim.id for claim in load_files(Sources.read(files, dict(ctx.params)).files)]


@click.command()
@click.option(
    "--fail-on",
    "fail_on",
    multiple=True,
    callback=parsed(lambda words: FailOn.parse(words) if words else None),
    metavar="RULE",
    help="What makes the exit status 1: refuted, unproven, differs, underspecified, slack>N (a "
    "claim that exceeds its best upper bound by more than this factor), or nothing; may be "
    "repeated. By default differs and refuted, and nothing for claims that are shipped.",
)
@click.option(
    "--explain",
    metavar="ID",
    shell_complete=names_of(_ids),
    help="Show the whole chain for one claim: parameters, formulas, theorems, pair, assumptions.",
)
@audit_options
@page_options
@file_options(_OUTPUTS)
@click.option(
    "--baseline",
    type=FILE,
    help="Compare with this file, show what moved, and fail only on what got worse.",
)
@click.option(
    "--write-baseline",
    "new_baseline",
    type=FILE,
    help="Write what was found to this file, for --baseline.",
)
@click.option(
    "--certificates",
    type=FOLDER,
    help="Write a certificate for each claim that is sound or refuted into this folder; "
    "'python -m rdpkit.kernel FILE' checks one, and so does a button of the pages.",
)
@click.option(
    "--all", "every", is_flag=True, help="Show the table of all claims, however many there are."
)
@click.option(
    "--notes/--no-notes",
    default=None,
    help="Print the notes about claims. By default they are printed for up to twenty claims.",
)
@answer_options("text", "json", others=_BY_SUFFIX)
def audit(
    *,
    files: tuple[Path, ...],
    fail_on: FailOn | None,
    explain: str | None,
    baseline: Path | None,
    new_baseline: Path | None,
    certificates: Path | None,
    every: bool,
    notes: bool | None,
    **others: Any,
) -> None:
    """Recompute privacy claims with their own formula, and bound what is true.

    FILES are claims in TOML, manifests of releases in JSON, or ledgers of releases in .jsonl, or
    folders with such files; with none, it is this folder. What papers and deployments claim is
    shipped: --papers and --register.

    Exit status: 0 fine, 1 a claim breaks a rule of --fail-on, or with --baseline is worse than it
    was, 2 bad usage or bad input.
    """
    # Mistakes in options and files are reported before anything is computed.
    to_write = files_to_write(others, _OUTPUTS)
    pages = PageOptions.read(others)
    selection = Selection.read(others)
    sources = Sources.read(files, others)
    written = [path for path, _ in to_write]
    written += [pages.report] if pages is not None and pages.report is not None else []
    read = {path.resolve() for path in sources.files}
    for path in written:
        if path.resolve() in read:
            raise ValueError(f"Expected to write another file than one that is read, got {path}.")
    claims = selection.claims(load_files(sources.files))
    before = None if baseline is None else read_baseline(baseline)
    if explain is not None:
        claims, others["regions"] = _only(claims, explain), True
    findings = audited(claims, shipped=sources.looked_up, **others)
    if explain is not None:
        findings = [one for one in findings if one.claim.id == explain]
    rules = fail_on or (FailOn.parse([NOTHING]) if sources.shipped else DEFAULT)
    comparison = None if before is None else compare(findings, before, rules)
    result = AuditResult(findings, rules, comparison)
    write_files(to_write, result)
    if new_baseline is not None:
        write_baseline(new_baseline, findings, rules)
    if certificates is not None:
        # Imported here because most audits write none.
        from rdpkit.verification.cli.certify import write_certificates  # noqa: PLC0415

        write_certificates(findings, certificates)
    if pages is not None:
        # Imported here because most audits write no pages.
        from rdpkit.verification.cli.audit_pages import write_pages  # noqa: PLC0415

        write_pages(pages, findings, sources, certificates=certificates, **others)
    shown = selection.findings(findings)
    if asked_format() == "json":
        entries = _entries(AuditResult(shown, rules, comparison))
        made = _made(sources.files, looked_up=sources.looked_up)
        click.echo(as_json({"made": made, **entries}))
    else:
        named = [*sources.shipped, *(shlex.quote(str(file)) for file in files)]
        _print(
            AuditResult(shown, rules, comparison),
            explained=explain is not None,
            every=every or bool(selection.verdicts),
            notes=notes,
            command=printable(" ".join(["rdpkit audit", *named])),
            baseline=baseline,
        )
        if sources.looked_up:
            click.echo("Proven when this version was made; --recompute proves them here.", err=True)
    failed = any(failures(finding, rules) for finding in findings)
    if failed if comparison is None else comparison.worse:
        sys.exit(1)


def _print(
    result: AuditResult,
    *,
    explained: bool,
    every: bool,
    notes: bool | None,
    command: str,
    baseline: Path | None,
) -> None:
    # Imported here because only people, and not programs, wait for the library that draws tables.
    from rdpkit.verification.outputs.terminal import explanation, print_news  # noqa: PLC0415

    if explained:
        for finding in result.findings:
            click.echo("\n".join(map(printable, explanation(finding))))
        return
    print_news(result.findings, every=every, notes=notes, command=command)
    if result.comparison is not None:
        click.echo(f"\nSince {printable(str(baseline))}:")
        lines = result.comparison.lines() or ["nothing moved"]
        click.echo("\n".join(map(printable, lines)))


def _entries(result: AuditResult) -> dict[str, Any]:
    """What is found as plain values for JSON."""
    # Imported here because only programs, and not people, read it in this form.
    from rdpkit.verification.outputs.news import summary  # noqa: PLC0415

    noisy = calibrated_unasked(result.findings)
    rules, found = result.fail_on, result.findings
    entries = [_entry(one, rules, noise=one.claim.id in noisy) for one in found]
    moved = {} if result.comparison is None else {"baseline": result.comparison.as_dict()}
    return {"claims": entries, "summary": summary(found), **moved}


def _made(files: Sequence[Path], *, looked_up: bool) -> dict[str, Any]:
    """By what and when a result was made, and of which files: a number alone says none of it."""
    # Imported here because it reads the source code, for its digest.
    from rdpkit.verification.auditing.versions import versions  # noqa: PLC0415

    digests = {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
    # What was looked up was proven with other versions of libraries, which nothing here knows.
    by = {"rdpkit": versions()["rdpkit"]} if looked_up else versions()
    date = f"{build_time():%Y-%m-%d}"
    return {"date": date, "versions": by, "looked_up": looked_up, "sha256": digests}


def _entry(finding: Finding, rules: FailOn, *, noise: bool) -> dict[str, Any]:
    claim = finding.claim
    fails = [rule.value for rule in failures(finding, rules)]
    mended = {
        "remedies": [remedy.as_dict() for remedy in remedies(finding, noise=noise)],
        "obstacles": list(obstacles(finding, noise=noise)),
    }
    where = {"file": claim.origin, "line": claim.line}
    return {**finding.as_dict(), **where, "fails": fails, **mended}


def _only(claims: list[Claim], identifier: str) -> list[Claim]:
    """The claim, and the other readings of its number."""
    wanted = {number_of(claim) for claim in claims if claim.id == identifier}
    found = [claim for claim in claims if number_of(claim) in wanted]
    if not found:
        near = did_you_mean(identifier, [claim.id for claim in claims])
        raise ValueError(f"Expected --explain to be the id of a claim, got {identifier!r}.{near}")
    return found
