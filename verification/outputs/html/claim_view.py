"""What the report shows of one claim: words from ``outputs/words.py``, and places on its axis.

Nothing here is HTML. The template escapes what it is given.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Any

from rdpkit.formats.numbers import as_given
from rdpkit.formats.text import printable
from rdpkit.verification.auditing.findings import Finding, Reproduction, Soundness, not_given
from rdpkit.verification.auditing.remedies import obstacles, remedies
from rdpkit.verification.claims.claim import Claim
from rdpkit.verification.outputs.html.curves import Curves
from rdpkit.verification.outputs.html.figures import (
    Axis,
    close_up,
    profile_figure,
    rdp_figure,
    region_drawing,
    training_view,
)
from rdpkit.verification.outputs.words import (
    THEOREMS,
    claimed,
    evaluation,
    instead,
    named_sides,
    number,
    parameters,
    region_reasons,
    reproduced,
    sentence,
    shown,
    sides,
    slack_words,
    theorem_ids,
)

# Lower bounds come first, so that the numbers of a claim stand in the order of the axis.
_KINDS = ("lower", "upper", "published")


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
) -> dict[str, Any]:
    """One finding in words, for the template."""
    claim = finding.claim
    numbers = _numbers(finding)
    band = None
    if finding.upper is not None:
        low = 0.0 if finding.lower is None else finding.lower.epsilon
        band = (axis.place(low), axis.place(finding.upper.epsilon))
    sound = finding.soundness is Soundness.SOUND
    reproduced = finding.reproduction is not Reproduction.DIFFERS
    return {
        **shown(finding),
        "number": place,
        "slug": slug,
        "work": _work(claim),
        "adjacency": claim.adjacency.dashed,
        "about": _about(claim),
        "verdict": finding.verdict.value,
        "reproduction": finding.reproduction.value,
        "says": printable(_says(finding)),
        "slack": slack_words(finding),
        "slack_sort": -1.0 if finding.slack is None else min(finding.slack, 1e300),
        "marks": [
            {"kind": kind, "place": axis.place(value), "text": text}
            for kind, value, text in numbers
        ],
        "band": band,
        "spoken": ", ".join(f"{kind} {text}" for kind, _, text in numbers) or "no numbers",
        "close_up": None if sound and reproduced else close_up(numbers),
        "parameters": parameters(claim)
        if claim.event is not None
        else [(not_given(claim), printable(item)) for item in claim.missing],
        "sides": sides(finding, _KINDS),
        "pair": [printable(text) for text in finding.pair],
        "remedies": [
            {"sentence": printable(one.sentence), "lines": "\n".join(map(printable, one.lines))}
            for one in remedies(finding, noise=noise)
        ],
        "obstacles": [] if sound else [printable(one) for one in obstacles(finding, noise=noise)],
        "notes": [printable(note) for note in finding.notes],
        "region": None if finding.region is None else region_drawing(finding.region),
        "region_notes": region_reasons(finding),
        "training": training_view(finding),
        "figures": [] if curves is None else _figures(finding, curves),
        "evaluation": [(name, printable(text)) for name, text in evaluation(finding)],
        "undrawn": [] if curves is None else [printable(note) for note in curves.notes],
    }


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


def _figures(finding: Finding, curves: Curves) -> list[dict[str, Any]]:
    """The drawings of a claim, with its numbers in them."""
    claim = finding.claim
    numbers = [(kind, value) for kind, value, _ in _numbers(finding)]
    by_delta, by_order = [], []
    if claim.quantity == "epsilon" and claim.delta:
        by_delta = [(kind, claim.delta, value) for kind, value in numbers]
    elif claim.delta is None and claim.order is not None:
        by_order = [(kind, claim.order, value) for kind, value in numbers]
    drawn = (profile_figure(curves, by_delta), rdp_figure(curves, by_order))
    return [one for one in drawn if one is not None]
