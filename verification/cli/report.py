"""``rdpkit report``: audit claims, and write one page of HTML about them."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rdpkit import supervisor
from rdpkit.cli.output import format_option, one_line_errors
from rdpkit.cli.progress import work_shown
from rdpkit.formats.files import write_whole
from rdpkit.formats.text import as_json, how_many, printable
from rdpkit.verification.auditing.certified import kept_certificates
from rdpkit.verification.auditing.findings import Finding
from rdpkit.verification.auditing.versions import versions
from rdpkit.verification.claims.reading import load_files
from rdpkit.verification.cli.audit_options import (
    audit_options,
    audited,
    certificates_option,
    claim_options,
    file_type,
    files_to_audit,
    read_selection,
)

if TYPE_CHECKING:
    from rdpkit.verification.outputs.html import Curves, Provenance, PublishedFormula, SourceFile


@click.command()
@audit_options
@claim_options
@click.option(
    "-o",
    "--output",
    type=file_type,
    default=Path("report.html"),
    show_default=True,
    help="The page to write; what was there is replaced once the page is whole.",
)
@click.option("--title", default="Privacy claims", show_default=True, help="The page's heading.")
@click.option(
    "--curves/--no-curves",
    "with_curves",
    default=True,
    show_default=True,
    help="Whether a claim shows its privacy profile and its RDP curve when it is opened.",
)
@click.option(
    "--profiles",
    type=click.IntRange(min=0),
    default=60,
    show_default=True,
    help="For so many events, those of the worst claims first, the privacy profile is computed; "
    "each takes a second or a few.",
)
@certificates_option
@format_option
@one_line_errors
def report(
    *,
    files: tuple[Path, ...],
    register: bool,
    output: Path,
    title: str,
    bounds: str,
    with_curves: bool,
    profiles: int,
    jobs: int,
    cache: Path | None,
    allow_code: bool,
    output_format: str,
    **others: Any,
) -> None:
    """Audit claims, and write one page of HTML about them that needs no network.

    FILES are claims in TOML, or manifests of releases in JSON; with none, the claims of the papers,
    which are shipped; with --register, those of the wider literature. The exit status is 0 whatever
    the verdicts are; rdpkit audit is the command that fails where a claim does.

    Exit status: 0 fine, 2 bad usage or bad input.
    """
    if find_spec("jinja2") is None:
        raise ValueError("rdpkit report needs jinja2: pip install 'rdpkit[verification]'")
    if not output.parent.is_dir():
        raise ValueError(f"Expected --output in a folder that exists, got {str(output)!r}.")
    # Imported here because the page is made with a library that not everybody has.
    from rdpkit.verification.outputs.html import SourceFile, page  # noqa: PLC0415

    folder: Path | None = others.pop("certificates")
    read = files_to_audit(files, register=register)
    claims = read_selection(others).claims(load_files(read))
    chosen = {claim.origin for claim in claims}
    sources = [
        # The folder of a shipped file depends on the installation, so it is left out.
        SourceFile(
            name=str(path) if files else path.name,
            digest=hashlib.sha256(path.read_bytes()).hexdigest(),
        )
        for path in read
        if str(path) in chosen
    ]
    findings = audited(
        claims, bounds=bounds, jobs=jobs, cache=cache, allow_code=allow_code, **others
    )
    drawn: list[Curves | None] = [None] * len(findings)
    if with_curves:
        drawn = _drawn(findings, bounds, profiles, jobs)
    kept = kept_certificates(findings, folder)
    content = page(findings, drawn, _provenance(title, bounds, sources), kept).encode()
    write_whole(output, content)
    size = len(content)
    if output_format == "json":
        click.echo(as_json({"output": str(output), "claims": len(findings), "bytes": size}))
    else:
        click.echo(
            f"{printable(str(output))}: {how_many(len(findings), 'claim')}, {size / 1e6:.1f} MB"
        )


def _provenance(title: str, bounds: str, files: list[SourceFile]) -> Provenance:
    from rdpkit.verification.outputs.html import Provenance  # noqa: PLC0415 - as above

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


def _drawn(
    findings: Sequence[Finding], bounds: str, profiles: int, jobs: int
) -> list[Curves | None]:
    """The curves behind every claim, in the order of the findings; equal ones are made once."""
    from rdpkit.verification.outputs.html import (  # noqa: PLC0415 - as above
        answer,
        questions,
        worst_first,
    )

    asked = questions(findings, worst_first(findings), bounds=bounds, most=profiles)
    once = list(dict.fromkeys(one[0] for one in asked if one is not None))
    found: list[dict[PublishedFormula, Curves]] = []
    with work_shown() as work:
        for one in supervisor.in_order(answer, once, jobs=jobs):
            found.append(one)
            work.show("drawing", len(found), len(once))
    known = dict(zip(once, found, strict=True))
    return [None if one is None else known[one[0]][one[1]] for one in asked]
