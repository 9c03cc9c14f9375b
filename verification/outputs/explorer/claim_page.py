"""What a page shows of one claim, in words and places. Nothing here is HTML."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from rdpkit.formats.text import printable, rounded_up
from rdpkit.verification.auditing.findings import Finding
from rdpkit.verification.auditing.remedies import remedies
from rdpkit.verification.outputs.explorer.grid import SliderGrid, SliderQuestion
from rdpkit.verification.outputs.explorer.sliders import ROLES, Slider
from rdpkit.verification.outputs.explorer.verdicts import (
    MEANINGS,
    NEIGHBOURS,
    PlainVerdict,
    instead,
    reproduced,
    sentence,
)
from rdpkit.verification.outputs.explorer.works import AuditedFile, WorkFindings, anchor
from rdpkit.verification.outputs.view import (
    SideView,
    claimed,
    named_sides,
    number,
    parameters,
    region_words,
    sides,
    statement,
)

# The kinds of numbers, in the order in which they stand, as readers are told of them.
_NAMES = {"published": "published", "lower": "attained", "upper": "proven"}
# Numbers further apart than this stand on a logarithmic axis.
_FAR_APART = 20.0
_MOVES = {
    1: "more is more private",
    -1: "less is more private",
    0: "neither is always more private",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One number of a claim: what it is, its text, its place on the axis, and the theorem."""

    kind: str
    name: str
    text: str
    place: str
    bound: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SliderView:
    """A slider in words: its name, what moving it does, and the numbers along it."""

    key: str
    title: str
    name: str
    moves: str
    last: int
    own: int
    points: tuple[tuple[str, str, bool], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GridTable:
    """The numbers along each slider of a grid, and the claims that they are about."""

    grid: str
    title: str
    unit: str
    claims: tuple[tuple[str, str], ...]
    sliders: tuple[SliderView, ...]
    certified: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimPage:
    """All that a page shows of one claim."""

    anchor: str
    id: str
    verdict: PlainVerdict
    meaning: str
    sentence: str
    instead: str
    remedies: tuple[str, ...]
    statement: str
    neighbours: str
    source: str
    reproduced: str
    rows: tuple[Row, ...]
    band: tuple[str, str] | None
    scale: tuple[str, str]
    spoken: str
    refutation: tuple[str, ...]
    missing: tuple[str, ...]
    unread: str
    needs: tuple[str, ...]
    scenarios: tuple[tuple[str, str], ...]
    parameters: tuple[tuple[str, str], ...]
    mechanism: str
    assumptions: tuple[str, ...]
    notes: tuple[str, ...]
    command: str
    claimed: float | None
    grid: str


def claim_page(finding: Finding, about: WorkFindings, *, grid: str, noise: bool) -> ClaimPage:
    """One finding in words.

    Parameters
    ----------
    finding : Finding
        What the audit found.
    about : WorkFindings
        The work that it belongs to.
    grid : str
        What the page calls the numbers of its sliders; empty if it has none.
    noise : bool
        Whether to compute how much noise would be enough.
    """
    claim = finding.claim
    verdict = PlainVerdict.of(finding)
    place, scale = _axis(finding)
    rows = tuple(_rows(finding, place))
    shown = {f"not given by the source: {item}" for item in claim.missing}
    assumed = (text for _, side in named_sides(finding, _NAMES) for text in side.assumptions)
    return ClaimPage(
        anchor=anchor(claim.id),
        id=printable(claim.id),
        verdict=verdict,
        meaning=MEANINGS[verdict],
        sentence=sentence(finding),
        instead=instead(finding),
        remedies=tuple(
            printable(remedy.sentence)
            for remedy in remedies(finding, noise=noise)
            if verdict is not PlainVerdict.TRUE
        ),
        statement=statement(claim),
        neighbours=NEIGHBOURS[claim.adjacency],
        source=printable(claim.source),
        reproduced=reproduced(finding),
        rows=rows,
        band=_band(finding, place),
        scale=scale,
        spoken=", ".join(f"{row.name} {row.text}" for row in rows),
        refutation=tuple(map(printable, finding.refutation)),
        missing=tuple(map(printable, claim.missing)),
        unread=printable(claim.unread or ""),
        needs=tuple(map(printable, region_words(finding))),
        scenarios=tuple(
            (printable(text), f"{number('published', side.epsilon)} by {side.bound}")
            for text, side in finding.scenarios
        ),
        parameters=tuple(parameters(claim)),
        mechanism=printable(claim.mechanism),
        assumptions=tuple(map(printable, dict.fromkeys(assumed))),
        notes=tuple(
            printable(note)
            for note in finding.notes
            if note not in shown and not note.startswith("scenario: ")
        ),
        command=command_for(about.file, claim.id),
        claimed=None if claim.epsilon is None else float(claim.epsilon),
        grid=grid,
    )


def command_for(file: AuditedFile, identifier: str) -> str:
    """The command that shows the whole chain of a claim, as a shell takes it."""
    return f"{file.audit} --explain {shlex.quote(printable(identifier))}"


def _rows(finding: Finding, place: _Place) -> Iterable[Row]:
    claim = finding.claim
    if claim.epsilon is not None:
        yield Row(
            kind="claimed",
            name="claimed",
            text=claimed(claim),
            place=place(float(claim.epsilon)),
            bound="",
        )
    views = {view.kind: view for view in sides(finding, _NAMES)}
    for kind, side in named_sides(finding, _NAMES):
        view = views[kind]
        yield Row(
            kind=kind,
            name=_NAMES[kind],
            text=view.text,
            place=place(side.epsilon),
            bound=_by(view),
        )


def _by(view: SideView) -> str:
    order = f", order {view.order}" if view.order else ""
    return f"{view.bound}{order}"


def _numbers(finding: Finding) -> list[float]:
    found = [side.epsilon for _, side in named_sides(finding)]
    if finding.claim.epsilon is not None:
        found.append(float(finding.claim.epsilon))
    return [value for value in found if 0.0 < value < math.inf]


class _Place:
    """Where a number stands between the ends of an axis, in per cent of its width."""

    def __init__(self, low: float, high: float) -> None:
        self.low, self.high = low, high

    def __call__(self, value: float) -> str:
        if self.low > 0.0:
            share = math.log(max(value, self.low) / self.low) / math.log(self.high / self.low)
        else:
            share = value / self.high
        return f"{100.0 * min(max(share, 0.0), 1.0):.2f}%"


def _axis(finding: Finding) -> tuple[_Place, tuple[str, str]]:
    """An axis on which a claim's numbers can be told apart, and the labels of its ends."""
    numbers = _numbers(finding) or [1.0]
    low, high = min(numbers), max(numbers)
    if high < _FAR_APART * low:
        place = _Place(0.0, high * 1.05)
        return place, ("0", f"{place.high:.3g}")
    place = _Place(low / 1.5, high * 1.5)
    return place, (f"{place.low:.2g}", f"{place.high:.2g} (logarithmic axis)")


def _band(finding: Finding, place: _Place) -> tuple[str, str] | None:
    if finding.upper is None or math.isinf(finding.upper.epsilon):
        return None
    low = 0.0 if finding.lower is None else finding.lower.epsilon
    return place(low), place(finding.upper.epsilon)


def grid_table(
    name: str, question: SliderQuestion, grid: SliderGrid, findings: Sequence[Finding]
) -> GridTable:
    """The numbers of a grid for readers without scripts.

    Parameters
    ----------
    name : str
        What the page calls the grid.
    question : SliderQuestion
        What it is about.
    grid : SliderGrid
        The numbers.
    findings : sequence of Finding
        Those that share it.
    """
    number = name.removeprefix("g")
    return GridTable(
        grid=name,
        title=f"Table {number}",
        unit=_unit(question.delta, question.order),
        claims=tuple((anchor(one.claim.id), printable(one.claim.id)) for one in findings),
        sliders=tuple(_slider(slider, grid) for slider in grid.sliders.sliders),
        certified=grid.certified,
    )


def _slider(slider: Slider, grid: SliderGrid) -> SliderView:
    texts = slider.texts()
    along = _along(slider, grid)
    return SliderView(
        key=slider.key,
        title=ROLES[slider.role],
        name=slider.name,
        moves=_MOVES[slider.private],
        last=len(texts) - 1,
        own=slider.own,
        points=tuple(
            (text, value_text(value), place == slider.own)
            for place, (text, value) in enumerate(zip(texts, along, strict=True))
        ),
    )


def _along(slider: Slider, grid: SliderGrid) -> list[float | None]:
    """The numbers along one slider, with the others at the claim's own values."""
    stride = 1
    for other in reversed(grid.sliders.sliders):
        if other is slider:
            break
        stride *= len(other.values)
    start = grid.sliders.own - slider.own * stride
    return [grid.values[start + place * stride] for place in range(len(slider.values))]


def value_text(value: float | None) -> str:
    """A number of a grid as people read it; it was rounded up before."""
    if value is None:
        return "not possible"
    return rounded_up(value, digits=4)


def grid_data(grid: SliderGrid, question: SliderQuestion) -> dict[str, Any]:
    """A grid as the page's script reads it; JSON has no infinity."""
    return {
        "unit": _unit(question.delta, question.order),
        "sliders": [
            {
                "key": one.key,
                "title": ROLES[one.role],
                "name": one.name,
                "texts": one.texts(),
                "own": one.own,
            }
            for one in grid.sliders.sliders
        ],
        "values": ["inf" if one == math.inf else one for one in grid.values],
    }


def _unit(delta: float | None, order: float | None) -> str:
    return (
        f"Renyi divergence at order {order:g}" if delta is None else f"epsilon at delta {delta:g}"
    )


__all__ = [
    "ClaimPage",
    "GridTable",
    "Row",
    "SliderView",
    "claim_page",
    "command_for",
    "grid_data",
    "grid_table",
]
