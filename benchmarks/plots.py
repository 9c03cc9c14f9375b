"""Two drawings of the results; matplotlib is imported when something is drawn."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.imports import WORK as IMPORT
from benchmarks.judge import RIGHT
from benchmarks.model import OURS, Curve
from benchmarks.results import Results

# Okabe and Ito's colours, which the colour-blind tell apart.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
# The same drawing from the same numbers: ids are hashed with this, and no date is written.
_SETTINGS: Any = {
    "svg.hashsalt": "rdpkit",
    "svg.fonttype": "path",
    "font.family": "DejaVu Sans",
    "font.size": 9.0,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.5,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def _svg(draw: Any, width: float, height: float) -> bytes:
    import matplotlib  # noqa: PLC0415
    from matplotlib.backends.backend_svg import FigureCanvasSVG  # noqa: PLC0415
    from matplotlib.figure import Figure  # noqa: PLC0415

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_SETTINGS)
        figure = Figure(figsize=(width, height), layout="constrained")
        FigureCanvasSVG(figure)
        draw(figure)
        buffer = io.BytesIO()
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
        return buffer.getvalue()


def has_ratios(results: Results) -> bool:
    """Whether there is anything for :func:`ratios` to draw."""
    return bool(_lines(results))


_Line = tuple[str, str, list[tuple[float, bool]]]


def _lines(results: Results) -> list[_Line]:
    """Title of the work, library, and the ratio of each case with whether it is right."""
    lines: list[_Line] = []
    for work in results.works:
        if work["id"] == IMPORT:
            continue
        for library in dict.fromkeys(r.library for r in results.rows if r.work == work["id"]):
            dots = [
                (row.ratio, row.verdict == RIGHT)
                for row in results.rows
                if (row.work, row.library) == (work["id"], library) and row.ratio is not None
            ]
            if library != OURS and dots:
                lines.append((work["title"], library, dots))
    return lines


def ratios(results: Results) -> bytes:
    """Every library's time over rdpkit's: a dot a case, filled where the numbers are right."""
    lines = _lines(results)
    if not lines:
        raise ValueError("Expected results with ratios, got none.")

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        places: list[float] = []
        previous = ""
        at = 0.0
        for title, _, _ in lines:
            if title != previous:
                at += 1.2
                axes.text(
                    0.0,
                    -at + 0.62,
                    textwrap.shorten(title, 70),
                    transform=axes.get_yaxis_transform(),
                    fontweight="bold",
                    va="center",
                )
                previous = title
            places.append(-at)
            at += 1.0
        for place, (_, _, dots) in zip(places, lines, strict=True):
            values = [value for value, _ in dots]
            axes.plot([min(values), max(values)], [place, place], color="#999999", lw=1.0)
            for value, right in dots:
                axes.plot(
                    value,
                    place,
                    "o",
                    ms=5.5,
                    mec=_COLOURS[0],
                    mfc=_COLOURS[0] if right else "white",
                )
        axes.axvline(1.0, color=_COLOURS[1], lw=1.2)
        axes.set_xscale("log")
        axes.set_yticks(places, [library for _, library, _ in lines])
        axes.set_ylim(-at + 0.3, 0.0)
        axes.grid(visible=False, axis="y")
        axes.set_xlabel(
            "time over rdpkit's (1: as fast); filled: the numbers are right, hollow: they are not"
        )

    return _svg(draw, 8.2, 1.2 + 0.28 * (len(lines) + 1.3 * len({title for title, _, _ in lines})))


def scaling(curves: Sequence[Curve]) -> bytes:
    """Time against size, with the slope of each line."""
    sizes = list(dict.fromkeys(curve.size for curve in curves if curve.sizes))
    if not sizes:
        raise ValueError("Expected curves with points, got none.")

    def draw(figure: Any) -> None:
        grid = figure.subplots(1, len(sizes), squeeze=False)
        for axes, size in zip(grid.flat, sizes, strict=True):
            shown = [curve for curve in curves if curve.size == size and curve.sizes]
            titles = list(dict.fromkeys(curve.title for curve in shown))
            for curve in shown:
                ours = curve.library == OURS
                slope = "" if curve.slope is None else f", slope {curve.slope:.2f}"
                axes.plot(
                    curve.sizes,
                    curve.seconds,
                    "o-" if ours else "s--",
                    ms=3.5,
                    lw=1.4 if ours else 1.0,
                    color=_COLOURS[titles.index(curve.title)],
                    mfc=None if ours else "white",
                    label=textwrap.fill(f"{curve.library}: {curve.title}{slope}", 44),
                )
            axes.set_xscale("log")
            axes.set_yscale("log")
            _guide(axes)
            axes.set_xlabel(size)
            axes.legend(fontsize=7, frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.16))
        grid.flat[0].set_ylabel("seconds")

    return _svg(draw, 4.2 * len(sizes), 6.2)


def _guide(axes: Any) -> None:
    """A dotted line of slope 1 through the lower left corner."""
    (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    x = np.geomspace(left, right, 50)
    y = bottom * x / left
    inside = y <= top
    axes.plot(x[inside], y[inside], ":", color="#555555", lw=1.0, label="linear")
    axes.set_xlim(left, right)
    axes.set_ylim(bottom, top)
