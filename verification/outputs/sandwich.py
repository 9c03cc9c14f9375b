"""A claim and the numbers that it stands between, drawn on one axis with letters."""

from __future__ import annotations

import math
from dataclasses import dataclass

from rdpkit.verification.auditing.findings import Finding
from rdpkit.verification.outputs.verdict import claimed, number
from rdpkit.verification.outputs.view import named_sides

NAMES = {
    "claimed": "claimed",
    "published": "published",
    "lower": "attained",
    "upper": "proven",
}
"""What a reader is told of each number: what somebody printed, and what data sets attain."""

MEANINGS = {
    "claimed": "what the source prints",
    "published": "what the source's own formula gives, right or wrong",
    "attained": "two data sets that differ in one record leak at least this (a lower bound)",
    "proven": "no two such data sets leak more than this (an upper bound)",
}
"""Each word of a drawing, explained."""

# The numbers of a drawing that stand above the axis, and those below it.
_ABOVE = ("claimed", "lower")
_BELOW = ("published", "upper")


@dataclass(frozen=True, slots=True)
class Glyphs:
    """The characters of a drawing."""

    # The axis, the mark of the claim, that of the published number, the place between what is
    # attained and what is proven, and both ends.
    line: str
    claimed: str
    published: str
    truth: str
    start: str
    end: str


UNICODE = Glyphs("─", "┃", "┆", "█", "├", "┤")
ASCII = Glyphs("-", "|", ":", "#", "|", "|")


@dataclass(frozen=True, slots=True)
class Numbers:
    """The numbers of a drawing, by kind, and their texts."""

    values: dict[str, float]
    texts: dict[str, str]

    @classmethod
    def of(cls, finding: Finding, *, digits: int = 4) -> Numbers:
        """The numbers of a finding that are known; bounds are rounded so that they stay true."""
        values, texts = {}, {}
        claim = finding.claim
        if claim.epsilon is not None:
            values["claimed"] = float(claim.epsilon)
            texts["claimed"] = claimed(claim)
        for kind, side in named_sides(finding):
            values[kind] = side.epsilon
            texts[kind] = number(kind, side.epsilon, digits=digits)
        return cls(values, texts)


def drawing(
    finding: Finding,  # What the audit found
    *,
    width: int,  # The longest line, at least 40
    glyphs: Glyphs = UNICODE,  # The characters to draw with
) -> list[str]:
    """Claimed, published, attained and proven on one axis that begins at 0.

    Labels, the axis, and more labels; empty if no number is known. An infinite number
    stands at the right end.
    """
    numbers = Numbers.of(finding)
    if not numbers.values:
        return []
    finite = [value for value in numbers.values.values() if math.isfinite(value)]
    # The largest number does not stand at the end, where infinity does.
    longest = 1.08 * max(finite, default=0.0) or 1.0
    last = width - 2

    def place(value: float) -> int:
        return last if math.isinf(value) else round(value / longest * (last - 1))

    places = {kind: place(value) for kind, value in numbers.values.items()}
    axis = [glyphs.line] * (last + 1)
    axis[0], axis[last] = glyphs.start, glyphs.end
    if "upper" in places:
        for column in range(places.get("lower", places["upper"]), places["upper"] + 1):
            axis[column] = glyphs.truth
    elif "lower" in places:
        axis[places["lower"]] = glyphs.truth
    for kind, mark in (("published", glyphs.published), ("claimed", glyphs.claimed)):
        if kind in places:
            axis[places[kind]] = mark
    labels = {kind: f"{NAMES[kind]} {text}" for kind, text in numbers.texts.items()}
    rows = (_labels(kinds, places, labels, width) for kinds in (_ABOVE, _BELOW))
    above, below = rows
    return [line for line in (above, "".join(axis), below) if line]


def _labels(
    kinds: tuple[str, ...], places: dict[str, int], labels: dict[str, str], width: int
) -> str:
    """The labels of one side of the axis, each as near to its place as there is room."""
    known = sorted((kind for kind in kinds if kind in places), key=lambda kind: places[kind])
    starts = [
        min(max(places[kind] - len(labels[kind]) // 2, 0), width - len(labels[kind]))
        for kind in known
    ]
    # There are two at most: the first gives way to the second, which stands where it can.
    for i in range(len(known) - 1, 0, -1):
        room = starts[i] - 2 - len(labels[known[i - 1]])
        if starts[i - 1] > room:
            starts[i - 1] = max(room, 0)
            starts[i] = max(starts[i], starts[i - 1] + len(labels[known[i - 1]]) + 2)
    line = ""
    for kind, start in zip(known, starts, strict=True):
        line = line.ljust(start) + labels[kind]
    return line
