"""``rdpkit report``: audit claims, and write one page of HTML about them."""

from __future__ import annotations

import hashlib
import os
import sys
import time
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rdpkit.verification.auditing.audit import AuditCache, Bounds, Finding
from rdpkit.verification.auditing.audit import audit as run_audit
from rdpkit.verification.auditing.evidence import with_code, with_release
from rdpkit.verification.auditing.processes import in_processes
from rdpkit.verification.auditing.versions import versions
from rdpkit.verification.claims.reading import Claim, load_files, shipped_files
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from rdpkit.cli.output import format_option, one_line_errors
from rdpkit.files import write_whole
from rdpkit.text import as_json, printable

if TYPE_CHECKING:
    from rdpkit.verification.outputs.html import Curves, Provenance, SourceFile

_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command()
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    type=_FILE,
    default=Path("report.html"),
    show_default=True,
    help="The page to write; what was there is replaced once the page is whole.",
)
@click.option("--title", default="Privacy claims", show_default=True, help="The page's heading.")
@click.option(
    "--bounds",
    type=click.Choice([member.value for member in Bounds]),
    default=Bounds.ALL.value,
    show_default=True,
    help="Which bounds to compute: all; needed, privacy loss distributions only where certified "
    "Renyi bounds do not prove the claim; rdp, those alone, which refute nothing.",
)
@click.option(
    "--curves/--no-curves",
    "with_curves",
    default=True,
    show_default=True,
    help="Whether a claim shows its RDP curve and privacy profile when it is opened.",
)
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    default=lambda: os.cpu_count() or 1,
    show_default="all cores",
    help="Processes to share the work between.",
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
@format_option
@one_line_errors
def report(
    *,
    files: tuple[Path, ...],
    output: Path,
    title: str,
    bounds: str,
    with_curves: bool,
    jobs: int,
    cache: Path | None,
    allow_code: bool,
    output_format: str,
) -> None:
    """Audit claims, and write one page of HTML about them that needs no network.

    FILES are claims in TOML, or manifests of releases in JSON; with none, the claims of the papers,
    which are shipped. The page shows what was found and judges nothing: the exit status is 0
    whatever the verdicts are, and rdpkit audit fails where a claim does.

    Exit status: 0 fine, 2 bad usage or bad input.
    """
    if find_spec("jinja2") is None:
        raise ValueError("Expected jinja2 to be installed: pip install 'rdpkit[verification]'.")
    if not output.parent.is_dir():
        raise ValueError(f"Expected --output in a folder that exists, got {str(output)!r}.")
    # Only where it is needed: the page is made with a library that not everybody has.
    from rdpkit.verification.outputs.html import SourceFile, page  # noqa: PLC0415

    read = list(files or shipped_files())
    claims = load_files(read)
    sources = [
        # Shipped files are in some folder of an installation, which says nothing.
        SourceFile(
            name=str(path) if files else path.name,
            digest=hashlib.sha256(path.read_bytes()).hexdigest(),
        )
        for path in read
    ]
    findings = [
        _with_evidence(finding, allow_code, jobs)
        for finding in _audited(claims, jobs, bounds, cache)
    ]
    drawn = _drawn(findings, jobs) if with_curves else [None] * len(findings)
    content = page(findings, drawn, _provenance(title, bounds, sources)).encode()
    write_whole(output, content)
    size = len(content)
    if output_format == "json":
        click.echo(as_json({"output": str(output), "claims": len(findings), "bytes": size}))
    else:
        click.echo(f"{printable(str(output))}: {len(findings)} claims, {size / 1e6:.1f} MB")


def _provenance(title: str, bounds: str, files: list[SourceFile]) -> Provenance:
    from rdpkit.verification.outputs.html import Provenance  # noqa: PLC0415 - only where it is needed

    # With SOURCE_DATE_EPOCH the same claims give the same page, byte by byte.
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    seconds = int(epoch) if epoch.isdecimal() else int(time.time())
    return Provenance(
        title=title,
        made=f"{datetime.fromtimestamp(seconds, tz=UTC):%Y-%m-%d %H:%M} UTC",
        files=files,
        versions=versions(),
        settings={"bounds": bounds},
    )


def _progress() -> Progress:
    """A progress bar on a terminal, and nothing in a pipe."""
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
        disable=not sys.stderr.isatty(),
    )


def _audited(claims: list[Claim], jobs: int, bounds: str, cache: Path | None) -> list[Finding]:
    kept = None if cache is None else AuditCache(cache)
    for problem in () if kept is None else kept.damaged:
        click.echo(printable(f"Warning: {problem}: computed again."), err=True)
    findings = []
    with _progress() as progress:
        task = progress.add_task("auditing", total=len(claims))
        for finding in run_audit(claims, workers=jobs, bounds=bounds, cache=kept):
            findings.append(finding)
            progress.advance(task)
    return findings


def _with_evidence(finding: Finding, allow_code: bool, jobs: int) -> Finding:
    """The finding with what the release and the code say that its claim points at."""
    claim = finding.claim
    try:
        found = with_release(finding)
        if claim.code is not None:
            found = with_code(found, allow_code=allow_code, jobs=jobs)
    except (ValueError, ArithmeticError) as error:
        raise ValueError(f"{claim.origin}: claim {claim.id!r}: {error}") from None
    return found


def _drawn(findings: list[Finding], jobs: int) -> list[Curves | None]:
    """The curves behind every claim, in the order of the findings."""
    from rdpkit.verification.outputs.html import curves  # noqa: PLC0415 - only where it is needed

    claims = [finding.claim for finding in findings]
    found: list[Curves | None] = []
    with _progress() as progress:
        task = progress.add_task("drawing", total=len(claims))
        for one in in_processes(curves, claims, jobs):
            found.append(one)
            progress.advance(task)
    return found
