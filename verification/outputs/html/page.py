"""The page itself: one file of HTML that holds its styles, its scripts and all that they show.

A claims file may be hostile. Three things keep its content from running: the template escapes every
text, data for scripts is JSON in which no tag can end, and the page's content security policy runs
only the scripts whose hashes it lists and loads nothing from anywhere.
"""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from rdpkit.formats.text import printable
from rdpkit.verification.auditing.findings import Finding
from rdpkit.verification.auditing.remedies import calibrated_unasked
from rdpkit.verification.outputs.html.axis import Axis
from rdpkit.verification.outputs.html.claim_view import (
    ClaimView,
    claim_view,
    numbers_of,
    slugs,
    theorems,
)
from rdpkit.verification.outputs.html.curves import Curves
from rdpkit.verification.outputs.html.words import (
    GROUPS,
    NUMBERS,
    REPRODUCTION,
    VERDICTS,
    WORDS,
    ClaimGroup,
    DefinedWord,
    group_of,
    worst_first,
)
from rdpkit.verification.outputs.news import sentences

_SCRIPTS = ("report.js",)
# The checker is data for a worker, which a button of a certificate starts.
_CHECKER, _CHECKING = "kernel.js", "certificates.js"
_STYLES = ("tokens.css", "regions.css", "trainings.css", "report.css")


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedFile:
    """A file of claims as pages name it."""

    path: str  # As the claims of it say where they are from
    name: str  # What readers are told
    digest: str  # The SHA-256 of its content, in hexadecimal digits
    audit: str  # The command that audits it, without options

    def __post_init__(self) -> None:
        # The name of a file may hold anything, and pages show it.
        for name in ("name", "audit"):
            object.__setattr__(self, name, printable(getattr(self, name)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Where the page's numbers come from."""

    title: str  # What the page is about
    made: str  # The time, in words
    files: Sequence[AuditedFile]  # The files of claims
    versions: dict[str, str]  # Versions of the software, by name
    settings: dict[str, str]  # What the audit was asked for, by name


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupView:
    """Claims under one heading."""

    group: ClaimGroup
    claims: tuple[ClaimView, ...]


def page(
    # What an audit found, in the order of the files. The page shows the worst first.
    findings: Sequence[Finding],
    curves: Sequence[Curves | None],  # The drawings behind each of them
    provenance: Provenance,  # What the page says of itself
    # Certificates by the ids of claims; a button of the page checks them in the browser.
    certificates: Mapping[str, str] | None = None,
) -> str:
    """The report as HTML."""
    axis = Axis.around(number for finding in findings for number in numbers_of(finding))
    known = certificates or {}
    views = _views(findings, curves, axis, known)
    checker, checking, workers = checking_of(bool(known))
    scripts = [*(_static(name) for name in _SCRIPTS), *checking]
    styles = [_static(name) for name in _STYLES]
    policy = (
        "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; "
        f"script-src {hashes(scripts)}; style-src {hashes(styles)}"
        f"{workers}"
    )
    environment = Environment(
        loader=PackageLoader("rdpkit.verification.outputs.html"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("report.html.j2").render(
        title=printable(provenance.title),
        news=[printable(sentence) for sentence in sentences(findings)],
        made=provenance.made,
        files=[(printable(file.name), file.digest) for file in provenance.files],
        versions=provenance.versions,
        settings=provenance.settings,
        policy=policy,
        # These texts are the project's own files, in which no tag ends.
        styles=[Markup(text) for text in styles],  # noqa: S704
        scripts=[Markup(text) for text in scripts],  # noqa: S704
        checker=Markup(checker),  # noqa: S704
        axis=axis,
        count=len(views),
        groups=_groups(findings, views),
        verdicts=(
            ("verdict", "Is it true?", _counted(VERDICTS, [v.verdict for v in views])),
            (
                "reproduction",
                "Does the number come out again?",
                _counted(REPRODUCTION, [v.reproduction for v in views]),
            ),
        ),
        numbers=NUMBERS,
        words=WORDS,
        mechanisms=sorted({view.mechanism for view in views}),
        theorems=theorems(findings),
    )


def _views(
    findings: Sequence[Finding],
    curves: Sequence[Curves | None],
    axis: Axis,
    certificates: Mapping[str, str],
) -> list[ClaimView]:
    anchors = slugs([finding.claim.id for finding in findings])
    calibrated = calibrated_unasked(findings)
    found = []
    for number, (finding, anchor, drawn) in enumerate(
        zip(findings, anchors, curves, strict=True), start=1
    ):
        name = finding.claim.id
        view = claim_view(finding, number, anchor, axis, drawn, noise=name in calibrated)
        found.append(replace(view, certificate=certificates.get(name, "")))
    return found


def _groups(findings: Sequence[Finding], views: Sequence[ClaimView]) -> list[GroupView]:
    """The claims under their headings, the worst first, without headings that have none."""
    places = worst_first(findings)
    found = [
        GroupView(
            group=group,
            claims=tuple(views[k] for k in places if group_of(findings[k]) == number),
        )
        for number, group in enumerate(GROUPS)
    ]
    return [one for one in found if one.claims]


def _counted(
    words: Sequence[DefinedWord], verdicts: Sequence[str]
) -> tuple[tuple[DefinedWord, int], ...]:
    counts = Counter(verdicts)
    return tuple((word, counts[word.term]) for word in words)


def checking_of(certified: bool) -> tuple[str, list[str], str]:
    """The checker, the scripts that run it, and what a policy has to allow for a worker."""
    if not certified:
        return "", [], ""
    return _static(_CHECKER), [_static(_CHECKING)], "; worker-src blob:"


def shared_style(name: str) -> str:
    """A file of this page that other pages use, too."""
    return _static(name)


def _static(name: str) -> str:
    text = (resources.files("rdpkit.verification.outputs.html") / "static" / name).read_text(
        encoding="utf-8"
    )
    return embedded(name, text)


def embedded(name: str, text: str) -> str:
    """The text of a script or a style, if it can stand in a page."""
    if "</s" in text.lower() or "\r" in text:
        raise ValueError(
            f"{name} cannot be embedded in a page: it has an end tag or a carriage return."
        )
    return text


def hashes(texts: Sequence[str]) -> str:
    """The hashes of scripts or styles, as a content security policy lists them."""
    digests = (hashlib.sha256(text.encode()).digest() for text in texts)
    return " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
