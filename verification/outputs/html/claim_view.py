"""What the page shows of one claim: words from :mod:`rdpkit.verification.outputs.view`, and places.

Nothing here is HTML. The template escapes what it is given.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from rdpkit.formats.text import printable
from rdpkit.verification.auditing.findings import Finding
from rdpkit.verification.claims.claim import Claim
from rdpkit.verification.outputs.html.axis import Axis
from rdpkit.verification.outputs.html.curves import DELTAS, ORDERS, Curves
from rdpkit.verification.outputs.view import (
    THEOREMS,
    SideView,
    claimed,
    named_sides,
    number,
    parameters,
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
class ClaimView:
    """All that the page shows of one claim."""

    number: int
    id: str
    source: str
    mechanism: str
    adjacency: str
    about: str
    claimed: str
    soundness: str
    reproduction: str
    slack: str
    slack_sort: float
    marks: tuple[Mark, ...]
    band: tuple[str, str] | None
    spoken: str
    parameters: tuple[tuple[str, str], ...]
    sides: tuple[SideView, ...]
    refutation: tuple[str, ...]
    pair: tuple[str, ...]
    scenarios: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    data: dict[str, Any] | None


def numbers_of(finding: Finding) -> list[float]:
    """The numbers that the axis must hold."""
    found = [side.epsilon for _, side in named_sides(finding)]
    if finding.claim.epsilon is not None:
        found.append(float(finding.claim.epsilon))
    return found


def claim_view(finding: Finding, place: int, axis: Axis, curves: Curves | None) -> ClaimView:
    """One finding in words.

    Parameters
    ----------
    finding : Finding
        What the audit found.
    place : int
        Its place on the page.
    axis : Axis
        The axis of all claims.
    curves : Curves or None
        The drawings behind it.
    """
    claim = finding.claim
    marks = [
        Mark(kind=kind, place=axis.place(side.epsilon), text=number(kind, side.epsilon))
        for kind, side in named_sides(finding, _KINDS)
    ]
    if claim.epsilon is not None:
        marks.append(
            Mark(kind="claimed", place=axis.place(float(claim.epsilon)), text=claimed(claim))
        )
    band = None
    if finding.upper is not None:
        low = 0.0 if finding.lower is None else finding.lower.epsilon
        band = (axis.place(low), axis.place(finding.upper.epsilon))
    return ClaimView(
        number=place,
        id=printable(claim.id),
        source=printable(claim.source),
        mechanism=printable(claim.mechanism),
        adjacency=claim.adjacency.value,
        about=_about(claim),
        claimed=claimed(claim),
        soundness=finding.soundness.value,
        reproduction=finding.reproduction.value,
        slack=slack_words(finding),
        slack_sort=-1.0 if finding.slack is None else min(finding.slack, 1e300),
        marks=tuple(marks),
        band=band,
        spoken=", ".join(f"{mark.kind} {mark.text}" for mark in marks) or "no numbers",
        parameters=_parameters(claim),
        sides=tuple(sides(finding, _KINDS)),
        refutation=tuple(map(printable, finding.refutation)),
        pair=tuple(map(printable, finding.pair)),
        scenarios=tuple(
            (printable(text), f"{number('published', side.epsilon)} by {side.bound}")
            for text, side in finding.scenarios
        ),
        notes=tuple(map(printable, finding.notes)),
        data=None if curves is None else _data(finding, curves),
    )


def theorems(findings: list[Finding]) -> tuple[tuple[str, str], ...]:
    """Every theorem that a number on the page rests on, with its source."""
    names: dict[str, None] = {}
    for finding in findings:
        for _, side in named_sides(finding):
            names.update(dict.fromkeys(theorem_ids(side)))
    return tuple((name, THEOREMS[name]) for name in sorted(names))


def _about(claim: Claim) -> str:
    parts = [] if claim.quantity == "epsilon" else [claim.quantity]
    if claim.fpr is not None:
        parts.append(f"fpr {claim.fpr:g}")
    if claim.delta is not None:
        parts.append(f"delta {claim.delta:g}")
    if claim.order is not None:
        parts.append(f"Renyi order {claim.order:g}")
    return ", ".join(parts)


def _parameters(claim: Claim) -> tuple[tuple[str, str], ...]:
    if claim.event is None:
        return tuple(("not given by the source", printable(item)) for item in claim.missing)
    return tuple(parameters(claim))


def _data(finding: Finding, curves: Curves) -> dict[str, Any]:
    """What the page's script draws, as plain values."""
    claim = finding.claim
    points = []
    if claim.delta is not None and claim.quantity == "epsilon":
        for kind, side in named_sides(finding, _KINDS):
            if math.isfinite(side.epsilon):
                points.append([kind, claim.delta, float(f"{side.epsilon:.6g}")])
        if claim.epsilon is not None and claim.epsilon.is_finite():
            points.append(["claimed", claim.delta, float(claim.epsilon)])
    return {
        "rdp": {
            "x": [float(f"{order:.6g}") for order in ORDERS],
            "series": [[one.label, one.kind, list(one.values)] for one in curves.rdp],
        },
        "profile": {
            "x": [float(f"{delta:.6g}") for delta in DELTAS],
            "series": [[one.label, one.kind, list(one.values)] for one in curves.profile],
            "points": points,
        },
    }
