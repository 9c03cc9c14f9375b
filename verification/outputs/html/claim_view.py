"""What the page shows of one claim: words from :mod:`rdpkit.verification.outputs.view`, and places.

Nothing here is HTML. The template escapes what it is given.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from rdpkit.formats.numbers import as_given
from rdpkit.formats.text import printable
from rdpkit.verification.auditing.findings import Finding, Reproduction, Soundness, not_given
from rdpkit.verification.auditing.remedies import obstacles, remedies
from rdpkit.verification.claims.claim import Claim
from rdpkit.verification.outputs.html.axis import Axis
from rdpkit.verification.outputs.html.curves import Curves
from rdpkit.verification.outputs.html.drawing import (
    FigureView,
    ScaleView,
    close_up,
    profile_figure,
    rdp_figure,
)
from rdpkit.verification.outputs.html.region_drawing import region_drawing
from rdpkit.verification.outputs.html.training_view import training_view
from rdpkit.verification.outputs.verdict import claimed, instead, number, reproduced, sentence
from rdpkit.verification.outputs.view import (
    THEOREMS,
    SideView,
    evaluation,
    named_sides,
    parameters,
    region_reasons,
    sides,
    slack_words,
    theorem_ids,
)

# Lower bounds come first, so that the numbers of a claim stand in the order of the axis.
_KINDS = ("lower", "upper", "published")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A number on the axis: what it is, where, and in digits."""

    kind: str
    place: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RemedyView:
    """What mends a claim: a sentence, and the lines for its file."""

    sentence: str
    lines: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimView:
    """All that the page shows of one claim."""

    number: int
    slug: str
    id: str
    source: str
    work: tuple[tuple[str, str], ...]
    mechanism: str
    adjacency: str
    about: str
    claimed: str
    verdict: str
    reproduction: str
    says: str
    slack: str
    slack_sort: float
    marks: tuple[Mark, ...]
    band: tuple[str, str] | None
    spoken: str
    close_up: ScaleView | None
    parameters: tuple[tuple[str, str], ...]
    sides: tuple[SideView, ...]
    refutation: tuple[str, ...]
    pair: tuple[str, ...]
    remedies: tuple[RemedyView, ...]
    obstacles: tuple[str, ...]
    scenarios: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    region: Markup | None
    region_notes: tuple[str, ...]
    training: Markup | None
    figures: tuple[FigureView, ...]
    undrawn: tuple[str, ...]
    evaluation: tuple[tuple[str, str], ...]
    certificate: str = ""


def numbers_of(finding: Finding) -> list[float]:
    """The numbers that the axis must hold."""
    found = [side.epsilon for _, side in named_sides(finding)]
    if finding.claim.epsilon is not None:
        found.append(float(finding.claim.epsilon))
    return found


def claim_view(
    finding: Finding,  # What the audit found
    place: int,  # Its place in the files
    slug: str,  # Its anchor, from :func:`slugs`
    axis: Axis,  # The axis of all claims
    curves: Curves | None,  # The drawings behind it
    *,
    noise: bool,  # Whether to calibrate how much noise would be enough
) -> ClaimView:
    """One finding in words."""
    claim = finding.claim
    numbers = _numbers(finding)
    marks = tuple(
        Mark(kind=kind, place=axis.place(value), text=text) for kind, value, text in numbers
    )
    band = None
    if finding.upper is not None:
        low = 0.0 if finding.lower is None else finding.lower.epsilon
        band = (axis.place(low), axis.place(finding.upper.epsilon))
    sound = finding.soundness is Soundness.SOUND
    reproduced = finding.reproduction is not Reproduction.DIFFERS
    return ClaimView(
        number=place,
        slug=slug,
        id=printable(claim.id),
        source=printable(claim.source),
        work=_work(claim),
        mechanism=printable(claim.mechanism),
        adjacency=claim.adjacency.dashed,
        about=_about(claim),
        claimed=claimed(claim),
        verdict=finding.verdict.value,
        reproduction=finding.reproduction.value,
        says=printable(_says(finding)),
        slack=slack_words(finding),
        slack_sort=-1.0 if finding.slack is None else min(finding.slack, 1e300),
        marks=marks,
        band=band,
        spoken=", ".join(f"{mark.kind} {mark.text}" for mark in marks) or "no numbers",
        close_up=None if sound and reproduced else close_up(numbers),
        parameters=_parameters(claim),
        sides=tuple(sides(finding, _KINDS)),
        refutation=tuple(map(printable, finding.refutation)),
        pair=tuple(map(printable, finding.pair)),
        remedies=tuple(
            RemedyView(sentence=printable(one.sentence), lines="\n".join(map(printable, one.lines)))
            for one in remedies(finding, noise=noise)
        ),
        obstacles=() if sound else tuple(map(printable, obstacles(finding, noise=noise))),
        scenarios=tuple(
            (printable(text), f"{number('published', side.epsilon)} by {side.bound}")
            for text, side in finding.scenarios
        ),
        notes=tuple(map(printable, finding.notes)),
        region=None if finding.region is None else region_drawing(finding.region),
        region_notes=tuple(region_reasons(finding)),
        training=training_view(finding),
        figures=() if curves is None else _figures(finding, curves),
        evaluation=tuple((name, printable(text)) for name, text in evaluation(finding)),
        undrawn=() if curves is None else tuple(map(printable, curves.notes)),
    )


def slugs(ids: Sequence[str]) -> list[str]:
    """An anchor for each claim, made of its id, that no other claim has.

    Letters, digits, dots, hyphens and underscores. An id that is a number, or has no such
    letters, is preceded by "id-", because ``claim-12`` is the twelfth claim.
    """
    found: list[str] = []
    taken: set[str] = set()
    for text in ids:
        plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
        slug = re.sub(r"[^A-Za-z0-9._]+", "-", plain)[:80].strip("-.")
        if not slug or slug.isdecimal():
            slug = f"id-{slug}".rstrip("-")
        free, count = slug, 1
        while free.lower() in taken:
            count += 1
            free = f"{slug}-{count}"
        taken.add(free.lower())
        found.append(free)
    return found


def theorems(findings: Sequence[Finding]) -> tuple[tuple[str, str], ...]:
    """Every theorem that a number on the page rests on, with its source."""
    names: dict[str, None] = {}
    for finding in findings:
        for _, side in named_sides(finding):
            names.update(dict.fromkeys(theorem_ids(side)))
    return tuple((name, THEOREMS[name]) for name in sorted(names))


def _numbers(finding: Finding) -> list[tuple[str, float, str]]:
    """What each number of a finding is, its value, and its digits."""
    claim = finding.claim
    found = [
        (kind, side.epsilon, number(kind, side.epsilon))
        for kind, side in named_sides(finding, _KINDS)
    ]
    if claim.epsilon is not None:
        found.append(("claimed", float(claim.epsilon), claimed(claim)))
    return found


def _says(finding: Finding) -> str:
    """The verdict, what would be true instead, and whether the source's own formula says so."""
    found = [sentence(finding), instead(finding)]
    if finding.reproduction is Reproduction.DIFFERS:
        found.append(reproduced(finding))
    return " ".join(text for text in found if text)


def _about(claim: Claim) -> str:
    parts = [] if claim.quantity == "epsilon" else [claim.quantity]
    if claim.fpr is not None:
        parts.append(f"fpr {claim.fpr:g}")
    if claim.delta is not None:
        parts.append(f"delta {as_given(claim.delta)}")
    if claim.order is not None:
        parts.append(f"Renyi order {claim.order:g}")
    return ", ".join(parts)


def _work(claim: Claim) -> tuple[tuple[str, str], ...]:
    """What the claim was printed in."""
    work = claim.work
    if work is None:
        return ()
    by = ", ".join(str(part) for part in (work.authors, work.year) if part is not None)
    title = f"{work.title} ({by})" if by else work.title
    named = (("Work", title), ("Address", work.url), ("What was read", work.read))
    return tuple((name, printable(text)) for name, text in named if text)


def _parameters(claim: Claim) -> tuple[tuple[str, str], ...]:
    if claim.event is None:
        return tuple((not_given(claim), printable(item)) for item in claim.missing)
    return tuple(parameters(claim))


def _figures(finding: Finding, curves: Curves) -> tuple[FigureView, ...]:
    """The drawings of a claim, with its numbers in them."""
    claim = finding.claim
    numbers = [(kind, value) for kind, value, _ in _numbers(finding)]
    by_delta, by_order = [], []
    if claim.quantity == "epsilon" and claim.delta:
        by_delta = [(kind, claim.delta, value) for kind, value in numbers]
    elif claim.delta is None and claim.order is not None:
        by_order = [(kind, claim.order, value) for kind, value in numbers]
    drawn = (profile_figure(curves, by_delta), rdp_figure(curves, by_order))
    return tuple(one for one in drawn if one is not None)
