"""What notebooks show of guarantees, comparisons and events: tables and small drawings.

Everything is inline, so that it needs neither a network nor a library. Texts are escaped. Lines
have the colour of the text around them, so that dark pages work too.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

WIDTH, HEIGHT = 340, 170
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 12, 10, 30  # Margins of a picture
_BLUE, _RED, _GREY = "#1f77b4", "#d62728", "#888888"
# The smallest delta that a drawing shows, and how much of a value a cell shows.
_LEAST, _LONGEST, _LARGEST = 1e-30, 400, 1e300
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;"}
# Numbers that differ by more than this factor are drawn on a logarithmic axis.
_WIDE = 10.0
_STYLE = "border:none;text-align:left;padding:1px 8px 1px 0;vertical-align:top"

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
:root {{ background: Canvas; color: CanvasText; color-scheme: light dark; }}
body {{ font: 1rem/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 44rem; padding: 1rem; }}
h1 {{ font-size: 1.5rem; }}
h2 {{ font-size: 1.15rem; }}
p, li, td, th {{ overflow-wrap: anywhere; }}
.answer {{ font-size: 1.3rem; }}
table {{ width: 100%; }}
</style>
</head>
<body>
<main>
<h1>{title}</h1>
{body}
</main>
</body>
</html>
"""

Points = Sequence[tuple[float, float, float | None]]
"""Epsilon, the largest delta that is possible there, and the smallest one, if it is known."""


def escaped(text: object) -> str:
    """A text in which nothing is markup, cut off where it is long."""
    shown = str(text)
    if len(shown) > _LONGEST:
        shown = shown[: _LONGEST - 3] + "..."
    return "".join(_ENTITIES.get(c, c if c.isprintable() else " ") for c in shown)


def table(rows: Mapping[str, object]) -> str:
    """Names and values; a value that is a mapping is a table of its own."""
    lines = [
        f'<tr><td style="{_STYLE}">{escaped(name)}</td><td style="{_STYLE}">'
        f"{table(value) if isinstance(value, Mapping) else escaped(value)}</td></tr>"
        for name, value in rows.items()
    ]
    return f'<table style="border-collapse:collapse">{"".join(lines)}</table>'


def grid(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table with headings."""

    def line(cells: Sequence[str], tag: str) -> str:
        inner = "".join(f'<{tag} style="{_STYLE}">{escaped(cell)}</{tag}>' for cell in cells)
        return f"<tr>{inner}</tr>"

    body = "".join(line(row, "td") for row in rows)
    return f'<table style="border-collapse:collapse">{line(headings, "th")}{body}</table>'


def block(*parts: str) -> str:
    """Parts below each other, as one piece of a page."""
    inner = "".join(f"<div>{part}</div>" for part in parts if part)
    return f'<div class="rdpkit">{inner}</div>'


def page(
    title: str,  # What the page is about
    answer: Sequence[str],  # Paragraphs
    # By their headings: texts, which become a list, or a piece of HTML that is made here.
    sections: Mapping[str, Sequence[str] | str],
) -> str:
    """A page for people who do not compute: the answer, then what stands behind it."""
    body = [f'<p class="answer">{_paragraph(text)}</p>' for text in answer]
    for heading, content in sections.items():
        if content:
            body.append(f"<h2>{escaped(heading)}</h2>")
            body.append(content if isinstance(content, str) else _list(content))
    return _PAGE.format(title=escaped(title), body="\n".join(body))


def _list(texts: Iterable[str]) -> str:
    return "<ul>" + "".join(f"<li>{_paragraph(text)}</li>" for text in texts) + "</ul>"


def _paragraph(text: str) -> str:
    """A text that may be longer than what a cell shows."""
    return " ".join(map(escaped, text.split()))


def profile_drawing(
    points: Points,  # The profile, with epsilon ascending. Deltas of 0 are left out.
    *,
    # The guarantee, which is marked.
    epsilon: float,
    delta: float,
    lower: float | None,  # An epsilon that is attained at ``delta``. What lies between is shaded.
) -> str:  # SVG; empty if there are not two points to draw
    """The privacy profile: delta on a logarithmic axis by epsilon, between its two bounds."""
    above = [(e, d) for e, d, _ in points if d > _LEAST]
    below = [(e, d) for e, _, d in points if d is not None and d > _LEAST]
    if len(above) < 2:
        return ""
    right = max(e for e, _ in above) or 1.0
    logs = [math.log10(d) for _, d in (*above, *below)]
    if delta > _LEAST:
        logs.append(math.log10(delta))
    low, high = math.floor(min(logs)), max(math.ceil(max(logs)), math.floor(min(logs)) + 1)

    def place(e: float, d: float) -> tuple[float, float]:
        return (
            _LEFT + (WIDTH - _LEFT - _RIGHT) * min(max(e / right, 0.0), 1.0),
            _TOP + (HEIGHT - _TOP - _BOTTOM) * (high - math.log10(d)) / (high - low),
        )

    shapes = [_axes(right, low, high)]
    if lower is not None and delta > _LEAST:
        (x0, _), (x1, _) = place(lower, delta), place(epsilon, delta)
        shapes.append(
            f'<rect x="{x0:.1f}" y="{_TOP}" width="{max(x1 - x0, 1.0):.1f}" '
            f'height="{HEIGHT - _TOP - _BOTTOM}" fill="{_GREY}" opacity="0.35"/>'
        )
    shapes.append(_line([place(*point) for point in above], _BLUE, 3.0))
    if len(below) > 1:
        shapes.append(_line([place(*point) for point in below], _RED, 1.0))
    if delta > _LEAST:
        x, y = place(epsilon, delta)
        shapes.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{_BLUE}"/>')
    return _svg("privacy profile: delta by epsilon, upper and lower bounds", shapes)


def bars_drawing(
    # A label, a kind ("upper", "lower" or "published") and a number, for each bound.
    rows: Sequence[tuple[str, str, float]],
) -> str:
    """Numbers side by side: one mark for each bound, and what lies between them shaded."""
    rows = [row for row in rows if math.isfinite(row[2])]
    if not rows:
        return ""
    values = [value for _, _, value in rows]
    least, largest = min(values), min(max(values), _LARGEST)
    wide = least > _LEAST and largest > _WIDE * least
    left = 0.9 * least if wide else 0.0
    right = 1.1 * largest or 1.0
    room = (HEIGHT - _TOP - _BOTTOM) / len(rows)

    def x(value: float) -> float:
        # The quotient of two numbers may be too large for a float where their logarithms are not.
        low = math.log(left) if wide else 0.0
        share = (math.log(value) - low) / (math.log(right) - low) if wide else value / right
        return 10 + (WIDTH - 20) * min(share, 1.0)

    uppers = [value for _, kind, value in rows if kind == "upper"]
    lowers = [value for _, kind, value in rows if kind == "lower"]
    shapes = []
    if uppers and lowers:
        x0, x1 = x(max(lowers)), x(min(uppers))
        shapes.append(
            f'<rect x="{x0:.1f}" y="{_TOP}" width="{max(x1 - x0, 1.0):.1f}" '
            f'height="{HEIGHT - _TOP - _BOTTOM}" fill="{_GREY}" opacity="0.35"/>'
        )
    colours = {"upper": _BLUE, "lower": _RED}
    for index, (label, kind, value) in enumerate(rows):
        y = _TOP + room * (index + 0.5)
        colour = colours.get(kind, _GREY)
        shapes.append(f'<circle cx="{x(value):.1f}" cy="{y:.1f}" r="3.5" fill="{colour}"/>')
        beyond = x(value) > WIDTH / 2
        at, anchor = (x(value) - 7, "end") if beyond else (x(value) + 7, "start")
        shapes.append(_text(at, y + 4, label, anchor))
    bottom = HEIGHT - _BOTTOM
    shapes.append(_path([(10, bottom), (WIDTH - 10, bottom)]))
    shapes.append(_text(10, HEIGHT - 12, f"{left:.3g}", "start"))
    shapes.append(_text(WIDTH / 2, HEIGHT - 12, f"epsilon{' (log)' if wide else ''}", "middle"))
    shapes.append(_text(WIDTH - 10, HEIGHT - 12, f"{right:.3g}", "end"))
    return _svg("bounds on epsilon", shapes)


def _axes(right: float, low: int, high: int) -> str:
    bottom, middle = HEIGHT - _BOTTOM, (_LEFT + WIDTH - _RIGHT) / 2
    return (
        _path([(_LEFT, _TOP), (_LEFT, bottom), (WIDTH - _RIGHT, bottom)])
        + _text(_LEFT - 5, _TOP + 8, f"1e{high}", "end")
        + _text(_LEFT - 5, bottom, f"1e{low}", "end")
        + _text(_LEFT - 5, (_TOP + bottom) / 2, "delta", "end")
        + _text(_LEFT, HEIGHT - 12, "0", "middle")
        + _text(middle, HEIGHT - 12, "epsilon", "middle")
        + _text(WIDTH - _RIGHT, HEIGHT - 12, f"{right:.3g}", "end")
    )


def _text(x: float, y: float, words: str, anchor: str) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="10" '
        f'fill="currentColor">{escaped(words)}</text>'
    )


def _path(points: Sequence[tuple[float, float]]) -> str:
    joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{joined}" fill="none" stroke="currentColor" opacity="0.6"/>'


def _line(points: Sequence[tuple[float, float]], colour: str, width: float) -> str:
    joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{joined}" fill="none" stroke="{colour}" stroke-width="{width}"/>'


def _svg(title: str, shapes: Sequence[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}" role="img"><title>{escaped(title)}</title>'
        + "".join(shapes)
        + "</svg>"
    )
