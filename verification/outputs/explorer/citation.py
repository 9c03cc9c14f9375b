"""How to cite an audit: as text and for BibTeX, with all that is needed to repeat it.

The parts are put together here for a work, and by the page's script for a single claim; a test
holds both to the same result.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from rdpkit.formats.text import printable
from rdpkit.verification.outputs.explorer.works import WorkFindings

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
