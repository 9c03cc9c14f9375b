"""The pages of the explorer: each is one file of HTML that holds its styles and its script.

A claims file may be hostile. As in the report, the template escapes every text, data for scripts is
JSON in which no tag can end, and each page's content security policy runs only the script whose
hash it lists and loads nothing from anywhere.
"""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from rdpkit.formats.text import as_json, printable
from rdpkit.verification.auditing.findings import ClaimVerdict, Finding, Soundness
from rdpkit.verification.auditing.remedies import calibrated_unasked
from rdpkit.verification.outputs import sandwich
from rdpkit.verification.outputs.explorer.citation import Audit, Citation
from rdpkit.verification.outputs.explorer.claim_page import ClaimPage, claim_page
from rdpkit.verification.outputs.explorer.works import WorkFindings, anchor
from rdpkit.verification.outputs.html.page import checking_of, embedded, hashes, shared_style
from rdpkit.verification.outputs.news import sentences
from rdpkit.verification.outputs.verdict import MEANINGS, claimed, instead, number, sentence
from rdpkit.verification.outputs.view import THEOREMS, named_sides, theorem_ids

FORMAT = "rdpkit-explorer-1"
"""What the list of an explorer's files says that it is."""

LIST = "explorer.json"
"""The list of an explorer's files, and of its claims for other programs."""

_PACKAGE = "rdpkit.verification.outputs.explorer"
_REPORT = "rdpkit.verification.outputs.html"
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
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(_PACKAGE), PackageLoader(_REPORT)]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    names = []
    for name, content in _pages(explorer, environment):
        names.append(name)
        yield name, content
    claims = [_listed(work, finding) for work in explorer.works for finding in work.findings]
    entries = {"format": FORMAT, "files": [*names, LIST], "claims": claims}
    yield LIST, as_json(entries) + "\n"


def _pages(explorer: Explorer, environment: Environment) -> Iterator[tuple[str, str]]:
    yield "index.html", _rendered(environment, "index", _index(explorer), explorer)
    for work in explorer.works:
        certified = any(one.claim.id in explorer.certificates for one in work.findings)
        shown = _work(work, explorer)
        yield _address(work), _rendered(environment, "work", shown, explorer, certified=certified)


def _address(work: WorkFindings) -> str:
    return f"works/{work.slug}.html"


def _rendered(
    environment: Environment,
    name: str,
    shown: dict[str, Any],
    explorer: Explorer,
    *,
    certified: bool = False,
) -> str:
    styles = [shared_style("tokens.css"), _static("explorer.css")]
    checker, checking, workers = checking_of(certified)
    scripts = [_static(f"{name}.js"), *checking]
    policy = (
        "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; "
        f"script-src {hashes(scripts)}; style-src {hashes(styles)}{workers}"
    )
    return environment.get_template(f"{name}.html.j2").render(
        policy=policy,
        # These texts are the project's own files, in which no tag ends.
        styles=[Markup(style) for style in styles],  # noqa: S704
        scripts=[Markup(script) for script in scripts],  # noqa: S704
        checker=Markup(checker),  # noqa: S704
        audit=explorer.audit,
        **shown,
    )


def _static(name: str) -> str:
    text = (resources.files(_PACKAGE) / "static" / name).read_text(encoding="utf-8")
    return embedded(name, text)


def _verdicts(findings: Sequence[Finding]) -> Counter[ClaimVerdict]:
    return Counter(finding.verdict for finding in findings)


def _index(explorer: Explorer) -> dict[str, Any]:
    findings = [finding for work in explorer.works for finding in work.findings]
    counts = _verdicts(findings)
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
    counts, work = _verdicts(about.findings), about.work
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
    theorems = dict.fromkeys(
        name
        for finding in about.findings
        for _, side in named_sides(finding)
        for name in theorem_ids(side)
    )
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
        "numbers": [(kind, name, sandwich.MEANINGS[name]) for kind, name in sandwich.NAMES.items()],
        "claims": _claims(about, explorer.certificates),
        "file": about.file,
        "theorems": [(name, THEOREMS[name]) for name in sorted(theorems)],
    }


def _claims(about: WorkFindings, certificates: Mapping[str, str]) -> list[ClaimPage]:
    """The claims of a page, worst first."""
    order = list(ClaimVerdict)
    findings = sorted(about.findings, key=lambda one: order.index(one.verdict))
    calibrated = calibrated_unasked(findings)
    pages_ = [claim_page(one, about, noise=one.claim.id in calibrated) for one in findings]
    return [
        dataclasses.replace(shown, certificate=certificates.get(one.claim.id, ""))
        for shown, one in zip(pages_, findings, strict=True)
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
