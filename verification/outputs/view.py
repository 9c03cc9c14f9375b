"""A finding in words, as the page shows it: every text made printable, every number rounded safely.

Nothing here is HTML. The template escapes what it is given.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from rdpkit.verification.auditing.findings import Finding, Side
from rdpkit.verification.claims.reading import Claim
from rdpkit.verification.outputs.html.axis import Axis
from rdpkit.verification.outputs.html.curves import DELTAS, ORDERS, Curves

from rdpkit import BOUNDS
from rdpkit.accountants.loss_distributions import SOURCES
from rdpkit.text import printable, rounded_down, rounded_up

_DIGITS = 6
_LONGEST = 14
_TITLES = {bound.id: f"{bound.title}: {bound.source}" for bound in BOUNDS} | SOURCES


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A number on the axis: what it is, where, and in digits."""

    kind: str
    place: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SideView:
    """One side of a claim: the number, its theorem, and how far it can be trusted."""

    kind: str
    text: str
    bound: str
    sources: tuple[str, ...]
    order: str
    enclosure: str
    assumptions: tuple[str, ...]


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
    found = [side.epsilon for _, side in _sides(finding)]
    if finding.claim.epsilon is not None:
        found.append(float(finding.claim.epsilon))
    return found


def claim_view(finding: Finding, number: int, axis: Axis, curves: Curves | None) -> ClaimView:
    """One finding in words.

    Parameters
    ----------
    finding : Finding
        What the audit found.
    number : int
        Its place on the page.
    axis : Axis
        The axis of all claims.
    curves : Curves or None
        The drawings behind it.
    """
    claim = finding.claim
    marks = [
        Mark(kind=kind, place=axis.place(side.epsilon), text=_number(kind, side.epsilon))
        for kind, side in _sides(finding)
    ]
    claimed = _claimed(claim.epsilon)
    if claim.epsilon is not None:
        marks.append(Mark(kind="claimed", place=axis.place(float(claim.epsilon)), text=claimed))
    band = None
    if finding.upper is not None:
        low = 0.0 if finding.lower is None else finding.lower.epsilon
        band = (axis.place(low), axis.place(finding.upper.epsilon))
    return ClaimView(
        number=number,
        id=printable(claim.id),
        source=printable(claim.source),
        mechanism=printable(claim.mechanism),
        adjacency=claim.adjacency.value,
        about=_about(claim),
        claimed=claimed,
        soundness=finding.soundness.value,
        reproduction=finding.reproduction.value,
        slack="" if finding.slack is None else f"{finding.slack:.3g}",
        slack_sort=-1.0 if finding.slack is None else min(finding.slack, 1e300),
        marks=tuple(marks),
        band=band,
        spoken=", ".join(f"{mark.kind} {mark.text}" for mark in marks) or "no numbers",
        parameters=_parameters(claim),
        sides=tuple(_side(kind, side) for kind, side in _sides(finding)),
        refutation=tuple(map(printable, finding.refutation)),
        pair=tuple(map(printable, finding.pair)),
        scenarios=tuple(
            (printable(text), f"{_number('published', side.epsilon)} by {side.bound}")
            for text, side in finding.scenarios
        ),
        notes=tuple(map(printable, finding.notes)),
        data=None if curves is None else _data(finding, curves),
    )


def theorems(findings: list[Finding]) -> tuple[tuple[str, str], ...]:
    """Every theorem that a number on the page rests on, with its source."""
    names: dict[str, None] = {}
    for finding in findings:
        for _, side in _sides(finding):
            names.update(dict.fromkeys(side.bound.split(" + ")))
    return tuple((name, _TITLES[name]) for name in sorted(names) if name in _TITLES)


def _sides(finding: Finding) -> list[tuple[str, Side]]:
    named = (("lower", finding.lower), ("upper", finding.upper), ("published", finding.published))
    return [(kind, side) for kind, side in named if side is not None]


def _side(kind: str, side: Side) -> SideView:
    enclosure = ""
    if side.enclosure is not None:
        what = "certified" if side.rigorous else "floating-point"
        enclosure = f"{what} interval [{side.enclosure[0]!r}, {side.enclosure[1]!r}]"
    return SideView(
        kind=kind,
        text=_number(kind, side.epsilon),
        bound=printable(side.bound),
        sources=tuple(_TITLES[name] for name in side.bound.split(" + ") if name in _TITLES),
        order="" if side.order is None else f"{side.order:.6g}",
        enclosure=enclosure,
        assumptions=tuple(map(printable, side.assumptions)),
    )


def _number(kind: str, value: float) -> str:
    if kind == "lower":
        return rounded_down(value, digits=_DIGITS)
    return rounded_up(value, digits=_DIGITS)


def _claimed(epsilon: Decimal | None) -> str:
    """The number as printed, unless that is too long for a line."""
    if epsilon is None:
        return "not given"
    if not epsilon.is_finite():
        return "inf"
    text = str(epsilon)
    return text if len(text) <= _LONGEST else f"{epsilon:.6e}"


def _about(claim: Claim) -> str:
    parts = []
    if claim.delta is not None:
        parts.append(f"delta {claim.delta:g}")
    if claim.order is not None:
        parts.append(f"Renyi order {claim.order:g}")
    return ", ".join(parts)


def _parameters(claim: Claim) -> tuple[tuple[str, str], ...]:
    if claim.event is None:
        return tuple(("not given by the source", printable(item)) for item in claim.missing)
    return tuple(
        (field.name, printable(str(getattr(claim.event, field.name))))
        for field in dataclasses.fields(claim.event)
        if field.compare
    )


def _data(finding: Finding, curves: Curves) -> dict[str, Any]:
    """What the page's script draws, as plain values."""
    claim = finding.claim
    points = []
    if claim.delta is not None:
        for kind, side in _sides(finding):
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
