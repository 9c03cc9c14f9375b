"""Drawings of a report as SVG: histograms side by side, and a map of the errors of pairs.

Colours are variables of the page, so that drawings follow its light and its dark scheme. What is
drawn is in the tables, too.
"""

from __future__ import annotations

import html
from collections.abc import Sequence

from rdpkit.mechanisms.evaluation.utility.columns import Histogram, MarginalError

_WIDTH, _HEIGHT = 320, 110
_CELL = 24  # Side of a square of the map
MOST_NUMBERED = 24
_DARKEST = 0.5  # The error of a full square


def escaped(text: str) -> str:
    """A text for a page or for an attribute in quotes, with nothing that cannot be printed."""
    return html.escape("".join(c if c.isprintable() else " " for c in text), quote=True)


def histogram(shown: Histogram) -> str:
    """Bars of the release and of the real records, in pairs, one pair a cell."""
    top = max((*shown.synthetic, *shown.real), default=0.0) or 1.0
    room = _WIDTH / max(1, len(shown.labels))
    bar = 0.42 * room
    shapes = []
    for i, (ours, theirs) in enumerate(zip(shown.synthetic, shown.real, strict=True)):
        for share, left, kind in ((ours, 0.06, "made"), (theirs, 0.52, "real")):
            height = _HEIGHT * share / top
            shapes.append(
                f'<rect class="{kind}" x="{room * (i + left):.1f}" y="{_HEIGHT - height:.1f}" '
                f'width="{bar:.1f}" height="{height:.1f}"><title>{escaped(shown.labels[i])}: '
                f"{100 * share:.1f} %</title></rect>"
            )
    line = f'<line class="axis" x1="0" y1="{_HEIGHT}" x2="{_WIDTH}" y2="{_HEIGHT}"/>'
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT + 1}" role="img" preserveAspectRatio="none" '
        f'aria-label="{escaped(_words(shown))}">{"".join(shapes)}{line}</svg>'
    )


def _words(shown: Histogram) -> str:
    gaps = [abs(a - b) for a, b in zip(shown.synthetic, shown.real, strict=True)]
    if not gaps:
        return f"Histogram of {shown.name}: no values"
    worst = gaps.index(max(gaps))
    return (
        f"Histogram of {shown.name}: {len(gaps)} cells, largest difference at "
        f"{shown.labels[worst]}: {100 * shown.synthetic[worst]:.1f} % in the release, "
        f"{100 * shown.real[worst]:.1f} % in the real records"
    )


def heat_map(names: Sequence[str], pairs: Sequence[MarginalError]) -> str:
    """A square for each pair of columns, the fuller the larger its error; columns are numbered."""
    place = {name: i for i, name in enumerate(names)}
    numbered = len(names) <= MOST_NUMBERED
    start = _CELL if numbered else 0
    side = start + _CELL * len(names)
    shapes = [f'<rect class="ground" width="{side}" height="{side}"/>']
    for one in pairs:
        i, j = sorted(place[name] for name in one.columns)
        strength = min(1.0, one.error / _DARKEST)
        label = f"{one.columns[0]} and {one.columns[1]}: {100 * one.error:.1f} %"
        for row, column in ((i, j), (j, i)):
            shapes.append(
                f'<rect class="heat" x="{start + _CELL * column + 1}" '
                f'y="{start + _CELL * row + 1}" '
                f'width="{_CELL - 2}" height="{_CELL - 2}" fill-opacity="{strength:.3f}">'
                f"<title>{escaped(label)}</title></rect>"
            )
    if numbered:
        for i in range(len(names)):
            at = start + _CELL * (i + 0.5)
            shapes.append(_number(at, _CELL * 0.65, i + 1))
            shapes.append(_number(_CELL * 0.5, at + 4, i + 1))
    worst = max(pairs, key=lambda one: one.error)
    words = (
        f"Errors of {len(pairs)} pairs of {len(names)} columns; the largest is that of "
        f"{' and '.join(worst.columns)}: {100 * worst.error:.1f} %"
    )
    return (
        f'<svg viewBox="0 0 {side} {side}" style="max-width:{max(side, 200)}px" role="img" '
        f'aria-label="{escaped(words)}">{"".join(shapes)}</svg>'
    )


def _number(x: float, y: float, number: int) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="middle" font-size="11">{number}</text>'
