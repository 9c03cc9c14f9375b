"""Works and claims by names that never change, and how to cite an audit of them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rdpkit.formats.text import printable
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


_TEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{sign: f"\\{sign}" for sign in "&%$#_"},
}
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """What every citation of one explorer says."""

    version: str  # Of rdpkit
    date: str  # Of the audit, as ``2026-11-22``
    looked_up: bool = False
    """Whether the findings were proven when this version was made, and looked up on that date."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """The parts of a citation."""

    key: str  # What BibTeX calls it
    title: str  # Of the audit
    found: str  # What was found, in a few words
    command: str  # It repeats the audit
    file: str  # The name of the claims file
    digest: str  # The file's SHA-256
    # Of the audit.
    version: str
    date: str

    @classmethod
    def of_work(cls, about: WorkFindings, audit: Audit, found: str) -> Citation:
        """The citation of all claims of a work."""
        return cls(
            key=citation_key("rdpkit", about.slug),
            title=printable(f"Audit of {about.work.title}"),
            found=found,
            command=about.file.audit,
            file=about.file.name,
            digest=about.file.digest,
            version=audit.version,
            date=audit.date,
        )

    def as_text(self) -> str:
        """The citation in one paragraph."""
        return f"{self.title}. rdpkit {self.version}, {self.date}. {self._note()}."

    def as_bibtex(self) -> str:
        """The citation as an entry for BibTeX, in which nothing of a claims file is a command."""
        year, month, _ = self.date.split("-")
        lines = [
            f"@misc{{{self.key},",
            "  author = {{The rdpkit authors}},",
            f"  title = {{{{{_tex(self.title)}}}}},",
            f"  year = {{{year}}},",
            f"  month = {_MONTHS[int(month) - 1]},",
            f"  howpublished = {{rdpkit {_tex(self.version)}, audited on {self.date}}},",
            f"  note = {{{_tex(self._note())}}},",
            "}",
        ]
        return "\n".join(lines)

    def _note(self) -> str:
        return (
            f"{self.found}. To repeat it: {self.command}. Claims file {self.file}, SHA-256 "
            f"{self.digest}"
        )


def citation_key(*parts: str) -> str:
    """What BibTeX calls an entry: letters, digits, dots and hyphens of its parts."""
    return re.sub(r"[^A-Za-z0-9.]+", "-", "-".join(parts)).strip("-")


def _tex(text: str) -> str:
    return "".join(_TEX.get(sign, sign) for sign in text)
