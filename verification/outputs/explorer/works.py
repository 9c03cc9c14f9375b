"""Works and claims by names that never change: files of pages, and places on them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rdpkit.verification.auditing.findings import Finding
from rdpkit.verification.claims.claim import Work
from rdpkit.verification.outputs.html.page import AuditedFile

_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
# What no file system allows as a name, and what would be too long for one.
_RESERVED = {
    "con",
    "prn",
    "aux",
    "nul",
    *(f"{name}{k}" for name in ("com", "lpt") for k in range(10)),
}
_LONGEST = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkFindings:
    """One work: what it is, the file that its claims are in, and what was found about them."""

    slug: str
    work: Work
    file: AuditedFile
    findings: tuple[Finding, ...]


def works_of(
    findings: Iterable[Finding],  # What an audit found
    files: Sequence[AuditedFile],  # Where their claims are from; files without any are left out
) -> list[WorkFindings]:
    """Findings by the work that they are about: one for each file, in the order of the files."""
    by_file: dict[str, list[Finding]] = {file.path: [] for file in files}
    for finding in findings:
        if finding.claim.origin not in by_file:
            raise ValueError(
                f"Expected files to hold {finding.claim.origin!r}, from which a claim is, got "
                f"{list(by_file)}."
            )
        by_file[finding.claim.origin].append(finding)
    made, taken = [], set[str]()
    for file in files:
        found = by_file[file.path]
        if not found:
            continue
        stem = Path(file.path).name.split(".")[0]
        slug = _slug(stem.lower())
        while slug in taken:
            # Two files of one name are told apart by where they are.
            slug = f"{slug}-{_short(file.path)}"
        taken.add(slug)
        work = found[0].claim.work or Work(title=file.name)
        made.append(WorkFindings(slug=slug, work=work, file=file, findings=tuple(found)))
    return made


def anchor(identifier: str) -> str:
    """The place of a claim on its page: ``claim-`` and its id, if that can stand in an address."""
    return f"claim-{_slug(identifier)}"


def _slug(name: str) -> str:
    if _PLAIN.fullmatch(name) and len(name) <= _LONGEST and name.lower() not in _RESERVED:
        return name
    plain = re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-")[:40]
    return f"{plain or 'x'}-{_short(name)}"


def _short(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
