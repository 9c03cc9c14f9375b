"""Whether numbers are right, and whether goals are met."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from flint import arb, ctx

from benchmarks.model import OURS, Outcome, Reference, Row, Work

_BITS = 200

RIGHT = "right"
TOO_SMALL = "too small"
TOO_LARGE = "too large"
FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """How far values are from a reference, relative to it."""

    # The largest amounts below the lower and above the upper end; 0 where there is none.
    below: float
    above: float
    off: int  # How many are off by more than the tolerance
    verdict: str
    """"too small" if any is below by more than the tolerance, which is the worse fault; then "too
    large"; then "right". NaN is "failed".
    """


def judge(values: Sequence[float], reference: Reference) -> Judgement:
    """Compare values with a reference, in balls of 200 bits."""
    if len(values) != len(reference.low) or len(values) != len(reference.high):
        raise ValueError(f"Expected {len(reference.low)} values, got {len(values)}.")
    if any(math.isnan(value) for value in values):
        return Judgement(below=math.nan, above=math.nan, off=len(values), verdict=FAILED)
    below = above = 0.0
    off = 0
    with ctx.workprec(_BITS):
        for value, low, high in zip(values, reference.low, reference.high, strict=True):
            under, over = _amount(value, arb(low), -1), _amount(value, arb(high), 1)
            below, above = max(below, under), max(above, over)
            off += max(under, over) > reference.tolerance
    if below > reference.tolerance:
        verdict = TOO_SMALL
    elif above > reference.tolerance:
        verdict = TOO_LARGE
    else:
        verdict = RIGHT
    return Judgement(below=below, above=above, off=off, verdict=verdict)


def _amount(value: float, end: arb, sign: int) -> float:
    """How far beyond an end, relative to it; 0 inside."""
    if math.isinf(value):
        return math.inf if value * sign > 0.0 else 0.0
    if end == 0:
        return 0.0 if value * sign <= 0.0 else math.inf
    return max(0.0, float(sign * (arb(value) - end) / abs(end)))


def outcomes(work: Work, rows: Sequence[Row]) -> list[Outcome]:
    """How the goals of a work stand: the smallest ratio over the cases, and the library's error."""
    found = []
    ours = [row for row in rows if row.work == work.id and row.library == OURS]
    for goal in work.goals:
        ratios = [
            (row.ratio, row.case)
            for row in rows
            if row.work == work.id and row.library == goal.against and row.ratio is not None
        ]
        measured, case = min(ratios) if ratios else (None, "")
        found.append(
            Outcome(
                work=work.id,
                name=goal.name,
                limit=f"at least {goal.least:g}",
                measured=measured,
                met=None if measured is None else measured >= goal.least,
                case=case,
            )
        )
    if work.reference is not None and ours:
        right = [row.verdict == RIGHT for row in ours]
        found.append(
            Outcome(
                work=work.id,
                name="rdpkit's numbers are right",
                limit="in every case",
                measured=sum(right) / len(right),
                met=all(right),
                case=", ".join(row.case for row in ours if row.verdict != RIGHT),
            )
        )
    return found


def best_right_peer(rows: Sequence[Row], work: str, case: str) -> Row | None:
    """The fastest other library whose numbers are right in a case."""
    peers = [
        row
        for row in rows
        if (row.work, row.case) == (work, case)
        and not row.library.startswith(OURS)
        and row.verdict == RIGHT
        and row.seconds is not None
    ]
    return min(peers, key=lambda row: row.seconds or math.inf, default=None)
