"""The explorer: works and claims as pages that are each one file of HTML, in a folder.

A claims file may be hostile. As in the report, the template escapes every text, data for scripts is
JSON in which no tag can end, and each page's content security policy runs only the script whose
hash it lists and loads nothing from anywhere.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rdpkit import _validate
from rdpkit.formats.files import whole_folder
from rdpkit.formats.text import as_json, printable
from rdpkit.verification.auditing.findings import (
    ClaimVerdict,
    Finding,
    Soundness,
    not_given,
    scenario_note,
)
from rdpkit.verification.auditing.remedies import calibrated_unasked, remedies
from rdpkit.verification.claims.claim import Work
from rdpkit.verification.outputs.html.claim_view import numbers_of, theorems
from rdpkit.verification.outputs.html.figures import FigureScale, per_cent
from rdpkit.verification.outputs.html.page import AuditedFile, rendered, static
from rdpkit.verification.outputs.news import sentences
from rdpkit.verification.outputs.words import (
    MEANINGS,
    NUMBER_MEANINGS,
    NUMBER_NAMES,
    claimed,
    instead,
    named_sides,
    number,
    parameters,
    region_words,
    relation_in_words,
    reproduced,
    sentence,
    shown,
    sides,
    statement,
)

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
            # Letters, digits, dots and hyphens.
            key=re.sub(r"[^A-Za-z0-9.]+", "-", f"rdpkit-{about.slug}").strip("-"),
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


def _tex(text: str) -> str:
    return "".join(_TEX.get(sign, sign) for sign in text)


# The kinds of numbers, in the order in which they stand.
_KINDS = ("published", "lower", "upper")
# Numbers further apart than this stand on a logarithmic axis.
_FAR_APART = 20.0


def claim_page(
    finding: Finding,  # What the audit found
    about: WorkFindings,  # The work that it belongs to
    *,
    noise: bool,  # Whether to compute how much noise would be enough
) -> dict[str, Any]:
    """What a page shows of one claim, in words and places."""
    claim = finding.claim
    verdict = finding.verdict
    scale, ends = _claim_axis(finding)
    rows = list(_numbers(finding, scale))
    band = None
    if finding.upper is not None and math.isfinite(finding.upper.epsilon):
        low = 0.0 if finding.lower is None else finding.lower.epsilon
        band = (per_cent(scale.share(low)), per_cent(scale.share(finding.upper.epsilon)))
    told = {f"{not_given(claim)}: {item}" for item in claim.missing}
    told |= {scenario_note(text, side) for text, side in finding.scenarios}
    assumed = (text for _, side in named_sides(finding, _KINDS) for text in side.assumptions)
    mended = [] if verdict is ClaimVerdict.TRUE else remedies(finding, noise=noise)
    return {
        **shown(finding),
        "anchor": anchor(claim.id),
        "verdict": verdict,
        "sentence": sentence(finding),
        "instead": instead(finding),
        "remedies": [printable(remedy.sentence) for remedy in mended],
        "statement": statement(claim),
        "neighbours": relation_in_words(claim),
        "reproduced": reproduced(finding),
        "rows": rows,
        "band": band,
        "scale": ends,
        "spoken": ", ".join(f"{row['name']} {row['text']}" for row in rows),
        "missing": [printable(text) for text in claim.missing],
        "unread": printable(claim.unread or ""),
        "needs": [printable(text) for text in region_words(finding)],
        "parameters": parameters(claim),
        "assumptions": [printable(text) for text in dict.fromkeys(assumed)],
        "notes": [printable(note) for note in finding.notes if note not in told],
        # It shows the whole chain of the claim, as a shell takes it.
        "command": f"{about.file.audit} --explain {shlex.quote(printable(claim.id))}",
    }


def _numbers(finding: Finding, scale: FigureScale) -> Iterator[dict[str, str]]:
    """Each number of a claim: what it is, its text, its place on the axis, and the theorem."""
    claim = finding.claim
    rows = []
    for view, (_, side) in zip(sides(finding, _KINDS), named_sides(finding, _KINDS), strict=True):
        bound = f"{view.bound}, order {view.order}" if view.order else view.bound
        rows.append((view.kind, view.text, side.epsilon, bound))
    if claim.epsilon is not None:
        rows.insert(0, ("claimed", claimed(claim), float(claim.epsilon), ""))
    for kind, text, value, bound in rows:
        place = per_cent(scale.share(value))
        name = NUMBER_NAMES[kind]
        yield {"kind": kind, "name": name, "text": text, "place": place, "bound": bound}


def _claim_axis(finding: Finding) -> tuple[FigureScale, tuple[str, str]]:
    """An axis on which a claim's numbers can be told apart, and the labels of its ends."""
    numbers = [value for value in numbers_of(finding) if 0.0 < value < math.inf] or [1.0]
    low, high = min(numbers), max(numbers)
    if high < _FAR_APART * low:
        return FigureScale(0.0, high * 1.05, False), ("0", f"{high * 1.05:.3g}")
    low, high = low / 1.5, high * 1.5
    return FigureScale(low, high, True), (f"{low:.2g}", f"{high:.2g} (logarithmic axis)")


FORMAT = "rdpkit-explorer-1"
"""What the list of an explorer's files says that it is."""

LIST = "explorer.json"
"""The list of an explorer's files, and of its claims for other programs."""

_PACKAGE = "rdpkit.verification.outputs.explorer"
_WEB = re.compile(r"https?://[^\s]+", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Explorer:
    """All that the pages are made of."""

    title: str  # The heading of the first page
    works: Sequence[WorkFindings]  # In any order
    audit: Audit  # What citations say
    versions: Mapping[str, str]  # Versions of the software, by name
    certificates: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Certificates by the ids of claims; a button of the page checks them in the browser."""


def pages(explorer: Explorer) -> Iterator[tuple[str, str]]:
    """Every file of the explorer, as its path and its text; the list of files comes last."""
    yield "index.html", _rendered("index", explorer, certified=False, **_index(explorer))
    for work in explorer.works:
        certified = any(one.claim.id in explorer.certificates for one in work.findings)
        shown_of_work = _work(work, explorer)
        yield _address(work), _rendered("work", explorer, certified=certified, **shown_of_work)
    names = ["index.html", *map(_address, explorer.works), LIST]
    claims = [_listed(work, finding) for work in explorer.works for finding in work.findings]
    yield LIST, as_json({"format": FORMAT, "files": names, "claims": claims}) + "\n"


def _rendered(name: str, explorer: Explorer, *, certified: bool, **shown_there: Any) -> str:
    styles = [static("tokens.css"), static("explorer.css", _PACKAGE)]
    scripts = [static(f"{name}.js", _PACKAGE)]
    return rendered(name, styles, scripts, certified=certified, audit=explorer.audit, **shown_there)


def _address(work: WorkFindings) -> str:
    return f"works/{work.slug}.html"


def _index(explorer: Explorer) -> dict[str, Any]:
    findings = [finding for work in explorer.works for finding in work.findings]
    counts = Counter(finding.verdict for finding in findings)
    entries = [_entry(work, one) for work in explorer.works for one in work.findings]
    order = list(ClaimVerdict)
    entries.sort(key=lambda entry: order.index(entry["verdict"]))
    works = [_summary(work) for work in explorer.works]
    works.sort(key=lambda work: work["worst"])
    return {
        "title": printable(explorer.title),
        "headline": sentences(findings),
        "false_ones": [one for one in entries if one["verdict"] is ClaimVerdict.FALSE],
        "others": [
            one
            for one in entries
            if one["verdict"] in (ClaimVerdict.DEPENDS, ClaimVerdict.APPROXIMATE) and one["refuted"]
        ],
        "kinds": sorted({entry["kind"] for entry in entries} - {""}),
        "years": sorted({entry["year"] for entry in entries} - {""}, reverse=True),
        "verdicts": [(verdict, counts[verdict]) for verdict in ClaimVerdict],
        "meanings": MEANINGS,
        "works": works,
        "claims": entries,
        "total": len(entries),
        "files": [work.file for work in explorer.works],
        "versions": explorer.versions,
    }


def _summary(about: WorkFindings) -> dict[str, Any]:
    counts, work = Counter(finding.verdict for finding in about.findings), about.work
    kinds = dict.fromkeys(one.claim.kind for one in about.findings if one.claim.kind)
    return {
        "slug": about.slug,
        "title": printable(work.title),
        "authors": printable(work.authors or ""),
        "year": "" if work.year is None else str(work.year),
        "kinds": ", ".join(kinds),
        "claims": len(about.findings),
        "counts": [(verdict, counts[verdict]) for verdict in ClaimVerdict],
        "worst": min(place for place, one in enumerate(ClaimVerdict) if counts[one]),
    }


def _entry(work: WorkFindings, finding: Finding) -> dict[str, Any]:
    claim = finding.claim
    upper = "" if finding.upper is None else number("upper", finding.upper.epsilon, digits=4)
    return {
        "slug": work.slug,
        "address": f"{_address(work)}#{anchor(claim.id)}",
        "id": printable(claim.id),
        "kind": claim.kind or "",
        "year": "" if work.work.year is None else str(work.work.year),
        "verdict": finding.verdict,
        "refuted": finding.soundness is Soundness.REFUTED,
        "claimed": claimed(claim),
        "proven": upper,
        "source": printable(claim.source),
        "sentence": sentence(finding),
        "instead": instead(finding),
    }


def _work(about: WorkFindings, explorer: Explorer) -> dict[str, Any]:
    work = about.work
    headline = sentences(about.findings)
    citation = Citation.of_work(about, explorer.audit, " ".join(headline).rstrip("."))
    return {
        "title": f"{printable(work.title)}: {printable(explorer.title)}",
        "work": {
            "title": printable(work.title),
            "authors": printable(work.authors or ""),
            "year": work.year,
            "kind": work.kind,
            "read": printable(work.read or "").rstrip("."),
        },
        "link": work.url if work.url and _WEB.fullmatch(work.url) else None,
        "headline": headline,
        "citation": citation,
        "cited": dataclasses.asdict(citation),
        "numbers": [(kind, name, NUMBER_MEANINGS[name]) for kind, name in NUMBER_NAMES.items()],
        "claims": _claims(about, explorer.certificates),
        "file": about.file,
        "theorems": theorems(about.findings),
    }


def _claims(about: WorkFindings, certificates: Mapping[str, str]) -> list[dict[str, Any]]:
    """The claims of a page, worst first."""
    order = list(ClaimVerdict)
    findings = sorted(about.findings, key=lambda one: order.index(one.verdict))
    calibrated = calibrated_unasked(findings)
    return [
        {
            **claim_page(one, about, noise=one.claim.id in calibrated),
            "certificate": certificates.get(one.claim.id, ""),
        }
        for one in findings
    ]


def _listed(work: WorkFindings, finding: Finding) -> dict[str, Any]:
    """A claim in the list of files, for other programs."""
    return {
        "id": finding.claim.id,
        "page": f"{_address(work)}#{anchor(finding.claim.id)}",
        "verdict": finding.verdict.value,
        "soundness": finding.soundness.value,
        "reproduction": finding.reproduction.value,
    }


def check_folder(path: Path) -> None:
    """Check that an explorer can be written to a folder: it is not there, empty, or an explorer."""
    if not path.exists():
        if not path.resolve().parent.is_dir():
            raise _validate.fail("--explorer", "in a folder that exists", str(path))
        return
    if not path.is_dir():
        raise _validate.fail("--explorer", "to be a folder", str(path))
    inside = {file.relative_to(path).as_posix() for file in path.rglob("*") if not file.is_dir()}
    if not inside:
        return
    foreign = sorted(inside - _known(path / LIST))
    if foreign:
        raise ValueError(
            "Expected --explorer to be a new folder, an empty one, or one that it made before, "
            f"got {str(path)!r}, which holds {foreign[0]!r}; all that is in it would be replaced."
        )


def _known(path: Path) -> set[str]:
    """The files that an explorer wrote, by its own list; none if there is no such list."""
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
        if entries["format"] != FORMAT:
            return set()
        return {str(name) for name in entries["files"]}
    except (OSError, ValueError, KeyError, TypeError):
        return set()


def write_folder(
    path: Path,  # The folder, which :func:`check_folder` accepts
    pages: Iterable[tuple[str, str]],  # Paths inside of it, and texts
) -> dict[str, int]:  # The size of each file, in bytes
    """Write all pages, or none if one of them fails; what was there before is replaced."""
    sizes = {}
    with whole_folder(path) as temporary:
        for name, text in pages:
            file = temporary / name
            file.parent.mkdir(exist_ok=True)
            content = text.encode("utf-8", "replace")
            file.write_bytes(content)
            sizes[name] = len(content)
        check_folder(path)
    return sizes
