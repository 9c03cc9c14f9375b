"""The report: one page of HTML about the findings of an audit, and the words that it explains."""

from __future__ import annotations

import base64
import functools
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any, NamedTuple

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from rdpkit.formats.text import printable
from rdpkit.verification.auditing.findings import ClaimVerdict, Finding, Reproduction, Soundness
from rdpkit.verification.auditing.remedies import calibrated_unasked
from rdpkit.verification.outputs.html.claim_view import claim_view, numbers_of, slugs, theorems
from rdpkit.verification.outputs.html.curves import Curves
from rdpkit.verification.outputs.html.figures import Axis
from rdpkit.verification.outputs.news import sentences
from rdpkit.verification.outputs.words import MEANINGS

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
    return rendered(
        "report",
        [static(name) for name in _STYLES],
        [static(name) for name in _SCRIPTS],
        certified=bool(known),
        title=printable(provenance.title),
        news=[printable(sentence) for sentence in sentences(findings)],
        made=provenance.made,
        files=[(printable(file.name), file.digest) for file in provenance.files],
        versions=provenance.versions,
        settings=provenance.settings,
        axis=axis,
        count=len(views),
        groups=_groups(findings, views),
        verdicts=[
            (
                axis_of,
                question,
                [(word, sum(view[axis_of] == word.term for view in views)) for word in words],
            )
            for axis_of, question, words in (
                ("verdict", "Is it true?", VERDICTS),
                ("reproduction", "Does the number come out again?", REPRODUCTION),
            )
        ],
        numbers=NUMBERS,
        words=WORDS,
        mechanisms=sorted({view["mechanism"] for view in views}),
        theorems=theorems(findings),
    )


def rendered(
    name: str,  # The template, without its ending
    styles: Sequence[str],
    scripts: Sequence[str],
    *,
    certified: bool,  # Whether the page has certificates, which the checker checks in the browser
    **shown: Any,  # What the template shows; it escapes every text
) -> str:
    """A page that holds its styles and scripts, and whose policy lists their hashes."""
    checker = ""
    if certified:
        checker, scripts = static(_CHECKER), [*scripts, static(_CHECKING)]
    policy = (
        "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; "
        f"script-src {_hashes(scripts)}; style-src {_hashes(styles)}"
        + ("; worker-src blob:" if certified else "")
    )
    return (
        _templates()
        .get_template(f"{name}.html.j2")
        .render(
            policy=policy,
            # These texts are the project's own files, in which no tag ends.
            styles=[Markup(text) for text in styles],  # noqa: S704
            scripts=[Markup(text) for text in scripts],  # noqa: S704
            checker=Markup(checker),  # noqa: S704
            **shown,
        )
    )


@functools.cache
def _templates() -> Environment:
    """The templates of the explorer and of the report."""
    packages = ("rdpkit.verification.outputs.explorer", "rdpkit.verification.outputs.html")
    return Environment(
        loader=ChoiceLoader([PackageLoader(package) for package in packages]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _views(
    findings: Sequence[Finding],
    curves: Sequence[Curves | None],
    axis: Axis,
    certificates: Mapping[str, str],
) -> list[dict[str, Any]]:
    anchors = slugs([finding.claim.id for finding in findings])
    calibrated = calibrated_unasked(findings)
    found = []
    for number, (finding, anchor, drawn) in enumerate(
        zip(findings, anchors, curves, strict=True), start=1
    ):
        name = finding.claim.id
        view = claim_view(finding, number, anchor, axis, drawn, noise=name in calibrated)
        found.append({**view, "certificate": certificates.get(name, "")})
    return found


def _groups(
    findings: Sequence[Finding], views: Sequence[dict[str, Any]]
) -> list[tuple[ClaimGroup, list[dict[str, Any]]]]:
    """The claims under their headings, the worst first, without headings that have none."""
    places = worst_first(findings)
    found = [
        (group, [views[k] for k in places if group_of(findings[k]) == number])
        for number, group in enumerate(GROUPS)
    ]
    return [one for one in found if one[1]]


def static(name: str, package: str = "rdpkit.verification.outputs.html") -> str:
    """A script or a style of a package, if it can stand in a page."""
    text = (resources.files(package) / "static" / name).read_text(encoding="utf-8")
    if "</s" in text.lower() or "\r" in text:
        raise ValueError(
            f"{name} cannot be embedded in a page: it has an end tag or a carriage return."
        )
    return text


def _hashes(texts: Sequence[str]) -> str:
    """The hashes of scripts or styles, as a content security policy lists them."""
    digests = (hashlib.sha256(text.encode()).digest() for text in texts)
    return " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)


class DefinedWord(NamedTuple):
    """A word and its meaning."""

    term: str  # The word
    meaning: str  # What it means, in a sentence or two

    @property
    def id(self) -> str:
        """Its anchor."""
        return f"word-{self.term.replace(' ', '-')}"


class ClaimGroup(NamedTuple):
    """Claims that are shown under one heading."""

    id: str  # Its anchor
    title: str  # The heading
    about: str  # What these claims have in common


VERDICTS = tuple(
    DefinedWord(one.value, f"{MEANINGS[one][0].upper()}{MEANINGS[one][1:]}.")
    for one in ClaimVerdict
)
"""Whether a claim is true, the worst first."""

REPRODUCTION = (
    DefinedWord(
        Reproduction.DIFFERS.value,
        "The formula that the source names gives another number than the printed one.",
    ),
    DefinedWord(
        Reproduction.UNDERSPECIFIED.value,
        "Something is missing in what was read, so the number cannot be computed again.",
    ),
    DefinedWord(
        Reproduction.UNNAMED.value,
        "No formula is named here, and the usual one gives another number, so how it was "
        "computed is not judged.",
    ),
    DefinedWord(
        Reproduction.EXACT.value,
        "The source's formula gives the printed number, to its last printed digit.",
    ),
)
"""Whether the printed number comes out again, the worst first."""

NUMBERS = (
    DefinedWord(
        "lower",
        "What two neighbouring data sets really leak. No true claim about the mechanism is "
        "smaller.",
    ),
    DefinedWord(
        "upper",
        "The best proven bound: no two neighbouring data sets leak more. Every claim that is at "
        "least this is true.",
    ),
    DefinedWord(
        "published",
        "What the source's own formula gives for the source's own parameters. The formula may be "
        "wrong, so this proves nothing.",
    ),
    DefinedWord("claimed", "The number that the source prints."),
)
"""The four numbers of a claim, in the order of the legend."""

OTHERS = (
    DefinedWord(
        "slack",
        "The claim divided by the upper bound. At 2, half the number would have been true as "
        "well; below 1, the claim is not proven.",
    ),
    DefinedWord(
        "epsilon",
        "How much one record may change what comes out: the probability of no outcome grows by "
        "more than the factor e to the epsilon. Smaller is more private.",
    ),
    DefinedWord(
        "delta",
        "A small probability that is allowed on top of the factor of epsilon. It should be far "
        "below one in the number of records.",
    ),
    DefinedWord(
        "adjacency",
        "Which data sets are neighbours. With add_or_remove_one, one of them has one record more; "
        "with replace_one, one record is another one.",
    ),
    DefinedWord(
        "neighbouring data sets",
        "Two data sets that differ in one record, as the adjacency says. Privacy means that they "
        "can hardly be told apart by what is released.",
    ),
    DefinedWord(
        "Renyi divergence",
        "Another measure of how far outcomes from two neighbours are apart, one number for each "
        "order. Many formulas compute it first and convert it to epsilon.",
    ),
    DefinedWord(
        "certified",
        "Computed with intervals that contain every rounding error, and rounded to the safe side.",
    ),
    DefinedWord(
        "scenario",
        "One way to complete what is missing. What a formula gives for it is no verdict.",
    ),
)
"""Other words of the page."""

WORDS = (*VERDICTS, *REPRODUCTION, *NUMBERS, *OTHERS)
"""All words."""

GROUPS = (
    ClaimGroup(
        "refuted",
        "Refuted",
        "As they are read here these claims are false: more leaks than they say. Where "
        "another reading of the number holds, the claim says so.",
    ),
    ClaimGroup(
        "open", "Unproven", "These claims can be computed, and are neither proven nor refuted."
    ),
    ClaimGroup(
        "differs",
        "Not what the formula gives",
        "These numbers are not those of the formula that their source names.",
    ),
    ClaimGroup(
        "missing",
        "Incomplete",
        "Something that these numbers depend on is missing in what was read, so they are "
        "neither proven nor refuted.",
    ),
    ClaimGroup(
        "sound",
        "Sound",
        "These claims are proven. Those that could be said best with a smaller number come first.",
    ),
)
"""The headings under which claims are shown, the worst first."""


def group_of(finding: Finding) -> int:
    """The place in :data:`GROUPS` of the heading under which a finding is shown."""
    if finding.soundness is Soundness.REFUTED:
        return 0
    if finding.soundness is Soundness.UNPROVEN and finding.upper is not None:
        return 1
    if finding.reproduction is Reproduction.DIFFERS:
        return 2
    return 3 if finding.soundness is Soundness.UNPROVEN else 4


def worst_first(findings: Sequence[Finding]) -> list[int]:
    """The places of findings, the worst first.

    Refuted claims are ordered by how far they are from the truth, sound ones by how much better
    they could be said. What is equal stays in the order of the files.
    """

    def rank(place: int) -> tuple[int, float]:
        finding = findings[place]
        group = group_of(finding)
        slack = finding.slack if finding.slack is not None else 1.0
        return group, -slack if group == len(GROUPS) - 1 else slack

    return sorted(range(len(findings)), key=rank)
