"""What a page shows of one claim, in words and places. Nothing here is HTML."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable
from dataclasses import dataclass

from rdpkit.formats.text import printable
from rdpkit.verification.auditing.findings import ClaimVerdict, Finding, not_given, scenario_note
from rdpkit.verification.auditing.remedies import remedies
from rdpkit.verification.outputs.explorer.works import WorkFindings, anchor
from rdpkit.verification.outputs.html.claim_view import numbers_of
from rdpkit.verification.outputs.verdict import (
    MEANINGS,
    claimed,
    instead,
    number,
    reproduced,
    sentence,
)
from rdpkit.verification.outputs.view import (
    named_sides,
    parameters,
    region_words,
    relation_in_words,
    sides,
    statement,
)

# The kinds of numbers, in the order in which they stand, as readers are told of them.
_NAMES = {"published": "published", "lower": "attained", "upper": "proven"}
# Numbers further apart than this stand on a logarithmic axis.
_FAR_APART = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One number of a claim: what it is, its text, its place on the axis, and the theorem."""

    kind: str
    name: str
    text: str
    place: str
    bound: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimPage:
    """All that a page shows of one claim."""

    anchor: str
    id: str
    verdict: ClaimVerdict
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
    certificate: str = ""


def claim_page(
    finding: Finding,  # What the audit found
    about: WorkFindings,  # The work that it belongs to
    *,
    noise: bool,  # Whether to compute how much noise would be enough
) -> ClaimPage:
    """One finding in words."""
    claim = finding.claim
    verdict = finding.verdict
    place, scale = _axis(finding)
    rows = tuple(_rows(finding, place))
    shown = {f"{not_given(claim)}: {item}" for item in claim.missing}
    shown |= {scenario_note(text, side) for text, side in finding.scenarios}
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
            if verdict is not ClaimVerdict.TRUE
        ),
        statement=statement(claim),
        neighbours=relation_in_words(finding.claim),
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
        notes=tuple(printable(note) for note in finding.notes if note not in shown),
        # It shows the whole chain of the claim, as a shell takes it.
        command=f"{about.file.audit} --explain {shlex.quote(printable(claim.id))}",
    )


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
    shown = zip(named_sides(finding, _NAMES), sides(finding, _NAMES), strict=True)
    for (kind, side), view in shown:
        yield Row(
            kind=kind,
            name=_NAMES[kind],
            text=view.text,
            place=place(side.epsilon),
            bound=f"{view.bound}, order {view.order}" if view.order else view.bound,
        )


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
    numbers = [value for value in numbers_of(finding) if 0.0 < value < math.inf] or [1.0]
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
