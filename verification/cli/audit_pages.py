"""The pages of an audit: one page of HTML, and a folder of pages to look through."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from rdpkit import supervisor
from rdpkit.cli.progress import work_shown
from rdpkit.formats.files import write_whole
from rdpkit.formats.text import how_many, printable
from rdpkit.verification.auditing.certified import kept_certificates
from rdpkit.verification.auditing.findings import Finding
from rdpkit.verification.auditing.versions import versions
from rdpkit.verification.cli.audit_options import PageOptions, Sources, build_time
from rdpkit.verification.outputs.explorer import Audit, Explorer, pages, works_of, write_folder
from rdpkit.verification.outputs.html import (
    AuditedFile,
    Curves,
    Provenance,
    PublishedFormula,
    answer,
    page,
    questions,
    worst_first,
)

# For so many events, those of the worst claims first, the privacy profile is computed.
_PROFILES = 60


def write_pages(
    options: PageOptions,
    findings: Sequence[Finding],
    sources: Sources,
    *,
    certificates: Path | None,
    bounds: str,
    jobs: int,
    **others: Any,
) -> None:
    """Write the pages that were asked for, and say on standard error what is in them.

    Certificates are those that claims carry, and those of a folder.
    """
    kept = kept_certificates(findings, certificates)
    files = _audited_files(sources, findings)
    said = []
    how = {"findings": "proven when this version was made"}
    looked_up = how if sources.looked_up else {}
    if options.report is not None:
        provenance = Provenance(
            title=options.title,
            made=f"{build_time():%Y-%m-%d %H:%M} UTC",
            files=files,
            versions=versions(),
            settings={"bounds": bounds, **looked_up},
        )
        drawn: list[Curves | None] = [None] * len(findings)
        if options.curves:
            drawn = _drawn(findings, bounds, jobs)
        content = page(findings, drawn, provenance, kept).encode()
        write_whole(options.report, content)
        claims = how_many(len(findings), "claim")
        said.append(f"{options.report}: {claims}, {len(content) / 1e6:.1f} MB")
    if options.explorer is not None:
        works = works_of(findings, files)
        made = Explorer(
            title=options.title,
            works=works,
            audit=Audit(
                version=versions()["rdpkit"],
                date=f"{build_time():%Y-%m-%d}",
                looked_up=sources.looked_up,
            ),
            versions=versions(),
            certificates=kept,
        )
        sizes = write_folder(options.explorer, pages(made))
        counts = (("claim", len(findings)), ("work", len(works)), ("file", len(sizes)))
        inside = ", ".join(how_many(count, name) for name, count in counts)
        index = options.explorer / "index.html"
        said.append(f"{index}: {inside}, {sum(sizes.values()) / 1e6:.1f} MB")
    click.echo("\n".join(map(printable, said)), err=True)


def _audited_files(sources: Sources, findings: Sequence[Finding]) -> list[AuditedFile]:
    """The files that claims were read from, as pages name them."""
    chosen = {finding.claim.origin for finding in findings}
    return [
        AuditedFile(
            path=str(path),
            # The folder of a shipped file depends on the installation, so it is left out.
            name=path.name if sources.shipped else str(path),
            digest=hashlib.sha256(path.read_bytes()).hexdigest(),
            audit=" ".join(["rdpkit audit", *(sources.shipped or [shlex.quote(str(path))])]),
        )
        for path in sources.files
        if str(path) in chosen
    ]


def _drawn(findings: Sequence[Finding], bounds: str, jobs: int) -> list[Curves | None]:
    """The curves behind every claim, in the order of the findings; equal ones are made once."""
    asked = questions(findings, worst_first(findings), bounds=bounds, most=_PROFILES)
    once = list(dict.fromkeys(one[0] for one in asked if one is not None))
    found: list[dict[PublishedFormula, Curves]] = []
    with work_shown() as work:
        for one in supervisor.in_order(answer, once, jobs=jobs):
            found.append(one)
            work.show("drawing", len(found), len(once))
    known = dict(zip(once, found, strict=True))
    return [None if one is None else known[one[0]][one[1]] for one in asked]
