"""``rdpkit explorer``: audit claims, and write a folder of pages to look through them."""

from __future__ import annotations

import hashlib
import os
import shlex
import time
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rdpkit.cli.output import format_option, one_line_errors
from rdpkit.formats.text import as_json, printable
from rdpkit.verification.auditing.certified import kept_certificates
from rdpkit.verification.auditing.versions import versions
from rdpkit.verification.claims.reading import load_files, register_files, shipped_files
from rdpkit.verification.cli.audit_options import audit_options, audited, certificates_option

if TYPE_CHECKING:
    from rdpkit.verification.outputs.explorer import AuditedFile


@click.command()
@audit_options
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    metavar="DIR",
    help="The folder to write; one that rdpkit explorer made before is replaced once all pages "
    "are there, and any other that is not empty is refused.",
)
@click.option("--papers", is_flag=True, help="Show the claims of the papers, which are shipped.")
@click.option(
    "--register",
    is_flag=True,
    help="Show the register: claims of the wider literature, which are shipped.",
)
@certificates_option
@click.option("--title", default="Privacy claims, audited", show_default=True, help="The heading.")
@format_option
@one_line_errors
def explorer(
    *,
    files: tuple[Path, ...],
    output: Path,
    papers: bool,
    register: bool,
    title: str,
    certificates: Path | None,
    output_format: str,
    **others: Any,
) -> None:
    """Audit claims, and write a folder of pages about them that need no network.

    FILES are claims in TOML, or manifests of releases in JSON. Without FILES, --papers and
    --register the claims of the papers and those of the register are shown. Open index.html in a
    browser. The exit status is 0 whatever the verdicts are; rdpkit audit is the command that fails
    where a claim does.

    Exit status: 0 fine, 2 bad usage or bad input.
    """
    if find_spec("jinja2") is None:
        raise ValueError("rdpkit explorer needs jinja2: pip install 'rdpkit[verification]'")
    # Imported here because the pages are made with a library that not everybody has.
    from rdpkit.verification.outputs.explorer import (  # noqa: PLC0415
        Audit,
        Explorer,
        check_folder,
        pages,
        works_of,
        write_folder,
    )

    check_folder(output)
    everything = not (files or papers or register)
    sources = [
        *(_source(path, str(path), f"rdpkit audit {shlex.quote(str(path))}") for path in files),
        *_shipped(papers=papers or everything, register=register or everything),
    ]
    claims = load_files(source.path for source in sources)
    findings = audited(claims, **others)
    works = works_of(findings, sources)
    made = Explorer(
        title=title,
        works=works,
        audit=Audit(version=versions()["rdpkit"], date=_date()),
        versions=versions(),
        certificates=kept_certificates(findings, certificates),
    )
    sizes = write_folder(output, pages(made))
    _tell(output, works=len(works), claims=len(findings), sizes=sizes, output_format=output_format)


def _shipped(*, papers: bool, register: bool) -> list[AuditedFile]:
    """The files of claims that are shipped; their folder depends on the installation."""
    found = []
    if papers:
        found += [_source(path, path.name, "rdpkit audit") for path in shipped_files()]
    if register:
        found += [_source(path, path.name, "rdpkit audit --register") for path in register_files()]
    return found


def _source(path: Path, name: str, audit: str) -> AuditedFile:
    from rdpkit.verification.outputs.explorer import AuditedFile  # noqa: PLC0415 - as above

    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return AuditedFile(path=str(path), name=name, digest=digest, audit=audit)


def _date() -> str:
    # With SOURCE_DATE_EPOCH the same claims give the same pages, byte by byte.
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    seconds = int(epoch) if epoch.isdecimal() else int(time.time())
    return f"{datetime.fromtimestamp(seconds, tz=UTC):%Y-%m-%d}"


def _tell(
    output: Path, *, works: int, claims: int, sizes: dict[str, int], output_format: str
) -> None:
    size = sum(sizes.values())
    first = output / "index.html"
    if output_format == "json":
        about = {"output": str(output), "index": str(first), "works": works, "claims": claims}
        click.echo(as_json({**about, "bytes": size, "files": sizes}))
        return
    told = ", ".join(
        f"{count} {name}{'' if count == 1 else 's'}"
        for name, count in (("claim", claims), ("work", works), ("file", len(sizes)))
    )
    click.echo(f"{printable(str(first))}: {told}, {size / 1e6:.1f} MB")
