"""Drawing a figure with matplotlib, which is imported only when something is drawn."""

from __future__ import annotations

import io
import itertools
import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from paper_figures.model import Curve, Figure, Panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

# The colours of Okabe and Ito, which colour-blind readers can tell apart; markers differ, too.
_COLOURS = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C6D00",
)  # fmt: skip
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
_GREY = "#555555"
_MARKERS_A_CURVE = 8
_WIDTH, _HEIGHT = 4.1, 3.1
# In inches: the space above the panels, a line of keys, the margin, and a line of the caption.
_ABOVE, _KEY, _MARGIN, _LINE = 0.6, 0.22, 0.08, 0.15
# Which of 1 to 9 in every power of ten are labelled, where there is no room for 1, 2 and 5.
_FEWER = ((1.0, 3.0), (1.0,), (1.0,), (1.0,))
# How many points are between two numbers at least, and how much of its axis a label takes at most.
_BLANK, _WIDEST_LABEL = 6.0, 0.95
# The same numbers give the same file: ids in an SVG are hashed with a fixed salt, and no date is
# written.
_SETTINGS: Any = {
    "svg.hashsalt": "rdpkit",
    "svg.fonttype": "path",
    "font.family": "DejaVu Sans",
    "font.size": 9.0,
    "axes.titlesize": 9.5,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.5,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.formatter.useoffset": False,
}


def check_available() -> None:
    """Raise an error before a long computation if matplotlib is missing."""
    try:
        import matplotlib.figure  # noqa: F401, PLC0415
    except ImportError:
        raise ValueError(
            "Drawing needs matplotlib: pip install 'rdpkit[verification]'; --format json alone "
            "does not."
        ) from None


def draw(
    figure: Figure,  # What to draw
    file_format: str,  # Which of the two; one of {"svg", "png"}
) -> bytes:
    """The figure as the content of a PNG or SVG file."""
    import matplotlib  # noqa: PLC0415

    with matplotlib.rc_context():
        canvas = drawn(figure)
        buffer = io.BytesIO()
        metadata = {"Date": None} if file_format == "svg" else {"Software": None}
        canvas.savefig(buffer, format=file_format, dpi=150, metadata=metadata)
        return buffer.getvalue()


def drawn(
    figure: Figure,  # What to draw
) -> Canvas:
    """The figure as a matplotlib figure; matplotlib's settings become those of the drawing."""
    import matplotlib  # noqa: PLC0415
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415
    from matplotlib.figure import Figure as Canvas  # noqa: PLC0415
    from matplotlib.layout_engine import ConstrainedLayoutEngine  # noqa: PLC0415

    matplotlib.rcdefaults()
    matplotlib.rcParams.update(_SETTINGS)
    columns = _columns(len(figure.panels))
    rows = math.ceil(len(figure.panels) / columns)
    width = max(_WIDTH * columns, 2.0 * _WIDTH)
    caption = _wrapped(figure, width)
    below = _LINE * (caption.count("\n") + 1) + 2.0 * _MARGIN
    series = figure.panels[0].curves if len(figure.panels[0].curves) > 1 else ()
    above = _ABOVE + (_KEY if series else 0.0)
    height = _HEIGHT * rows + above + below
    canvas = Canvas(figsize=(width, height))
    FigureCanvasAgg(canvas)
    # Title and keys are above the panels, and the caption is below them.
    rectangle = (0.0, below / height, 1.0, 1.0 - (below + above) / height)
    canvas.set_layout_engine(ConstrainedLayoutEngine(rect=rectangle))
    _panels(canvas, figure.panels, rows, columns)
    _texts(canvas, figure.title, caption, series)
    _part_labels(canvas)
    return canvas


def _panels(canvas: Canvas, panels: Sequence[Panel], rows: int, columns: int) -> None:
    """Draw every panel in a grid of axes."""
    same = len({(panel.x_label, panel.y_label) for panel in panels}) == 1
    grid = canvas.subplots(rows, columns, squeeze=False, sharex=same, sharey=True)
    used = list(zip(grid.flat, panels, strict=False))
    for axes in grid.flat[len(used) :]:
        axes.set_axis_off()
    for index, (axes, panel) in enumerate(used):
        _panel(axes, panel, offset=index if len(panel.curves) == 1 else 0)
    # matplotlib warns of a logarithmic axis on which nothing is positive, so all panels that share
    # an axis are drawn before it is scaled.
    for index, (axes, panel) in enumerate(used):
        if _heights(panels if same else (panel,)):
            _scale(axes, panel)
        # Where all panels have the same axes, only those at the edge get labels.
        if not same or index + columns >= len(used):
            axes.set_xlabel(panel.x_label)
            axes.tick_params(labelbottom=True)
        if index % columns == 0:
            axes.set_ylabel(panel.y_label)
    _limit(used[0][0], panels)


def _texts(canvas: Canvas, title: str, caption: str, series: tuple[Curve, ...]) -> None:
    """The title and the keys above the panels, and the caption below them."""
    width, height = canvas.get_size_inches()
    left, top = _MARGIN / width, 1.0 - _MARGIN / height
    canvas.text(left, top, title, fontsize=11, fontweight="bold", va="top")
    for row, (handles, labels) in enumerate([_key(), *([_series_key(series)] if series else [])]):
        canvas.legend(
            handles,
            labels,
            loc="upper left",
            bbox_to_anchor=(0.0, 1.0 - (_MARGIN + _KEY * (row + 0.8)) / height),
            ncols=len(handles),
            frameon=False,
            handlelength=2.6,
            borderpad=0.2,
        )
    small: dict[str, Any] = {"fontsize": 7.5, "color": _GREY, "va": "bottom", "linespacing": 1.35}
    canvas.text(left, _MARGIN / height, caption, **small)


def _columns(panels: int) -> int:
    """How many panels are in a row: up to three; four panels make a square."""
    return panels if panels <= 3 else 2 if panels == 4 else 3


def _wrapped(figure: Figure, width: float) -> str:
    text = " ".join((f"Source: {figure.source}.", *figure.caption()))
    return textwrap.fill(text, width=int(width * 17.5), break_on_hyphens=False)


def _panel(axes: Axes, panel: Panel, *, offset: int) -> None:
    axes.set_title(panel.title, loc="left")
    for index, curve in enumerate(panel.curves, start=offset):
        _curve(
            axes,
            curve,
            colour=_COLOURS[index % len(_COLOURS)],
            marker=_MARKERS[index % len(_MARKERS)],
            logarithmic=panel.y_logarithmic,
        )


def _scale(axes: Axes, panel: Panel) -> None:
    if panel.y_logarithmic:
        axes.set_yscale("log")
    if panel.x_logarithmic:
        axes.set_xscale("log")
        _plain_ticks(axes)


def _heights(panels: Sequence[Panel]) -> list[float]:
    """Every positive number on the vertical axis."""
    return [
        value
        for panel in panels
        for curve in panel.curves
        for name in ("published", "upper", "lower")
        for value in curve.column(name)
        if value > 0.0
    ]


def _curve(axes: Axes, curve: Curve, *, colour: str, marker: str, logarithmic: bool) -> None:
    x = np.array(curve.column("x"))
    upper, lower = np.array(curve.column("upper")), np.array(curve.column("lower"))
    # A logarithmic axis cannot show a lower bound of zero.
    if logarithmic:
        lower = np.where(lower > 0.0, lower, np.nan)
    axes.fill_between(x, lower, upper, color=colour, alpha=0.3, linewidth=0.0)
    every = max(1, round(len(x) / _MARKERS_A_CURVE))
    axes.plot(
        x,
        upper,
        color=colour,
        linewidth=2.2,
        marker=marker,
        markevery=every,
        markersize=5,
    )
    axes.plot(x, curve.column("published"), color=colour, linestyle=(0, (5, 2)), linewidth=1.5)
    axes.plot(x, lower, color=_darker(colour), linestyle=(0, (1, 1.5)), linewidth=1.4)


def _darker(colour: str) -> tuple[float, float, float]:
    """A darker colour that is visible on a line of the colour itself."""
    channels = [int(colour[i : i + 2], 16) / 255.0 for i in (1, 3, 5)]
    if max(channels) == 0.0:
        return (0.8, 0.8, 0.8)
    return (0.25 * channels[0], 0.25 * channels[1], 0.25 * channels[2])


def _limit(axes: Axes, panels: Sequence[Panel]) -> None:
    """Set the shared vertical axis: from zero, or cut at the top where a bound grows too fast.

    Panels that share the axis share its scale, so it is logarithmic if one of them asks for that.
    """
    if not any(panel.y_logarithmic for panel in panels):
        axes.set_ylim(bottom=0.0)
        return
    highest = panels[0].y_highest
    values = _heights(panels)
    if highest is not None and values and min(values) < highest < max(values):
        axes.set_ylim(0.7 * min(values), highest)


def _part_labels(canvas: Canvas) -> None:
    """Break labels that are wider than their axis, and label fewer ticks where numbers touch."""
    for few in range(len(_FEWER)):
        canvas.draw_without_rendering()
        crowded = False
        for axes in canvas.axes:
            label = axes.xaxis.label
            wide = label.get_window_extent().width > _WIDEST_LABEL * axes.bbox.width
            if wide and "\n" not in label.get_text():
                half = len(label.get_text()) // 2 + 8
                label.set_text(textwrap.fill(label.get_text(), half, break_on_hyphens=False))
                crowded = True
            if _touching(axes):
                _fewer_ticks(axes, few)
                crowded = True
        if not crowded:
            return


def _touching(axes: Axes) -> bool:
    """Whether two numbers below the horizontal axis are too close to be told apart."""
    left, right = sorted(axes.get_xlim())
    seen = [
        tick.label1.get_window_extent()
        for tick in axes.xaxis.get_major_ticks()
        if tick.label1.get_visible() and left <= tick.get_loc() <= right
        if tick.label1.get_text()
    ]
    seen.sort(key=lambda box: float(box.x0))
    figure = axes.get_figure(root=True)
    assert figure is not None
    blank = _BLANK / 72.0 * figure.dpi
    return any(b.x0 - a.x1 < blank for a, b in itertools.pairwise(seen))


def _fewer_ticks(axes: Axes, few: int) -> None:
    from matplotlib.ticker import LogLocator, MaxNLocator  # noqa: PLC0415

    if axes.get_xscale() == "log":
        axes.xaxis.set_major_locator(LogLocator(subs=_FEWER[few]))
    else:
        axes.xaxis.set_major_locator(MaxNLocator(nbins=len(_FEWER) + 2 - few, steps=[1, 2, 5, 10]))


def _plain_ticks(axes: Axes) -> None:
    """Label 1, 2 and 5 of every power of ten with plain numbers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter  # noqa: PLC0415

    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())


def _key() -> tuple[list[Any], list[str]]:
    """The meaning of the line styles, in grey."""
    from matplotlib.lines import Line2D  # noqa: PLC0415
    from matplotlib.patches import Patch  # noqa: PLC0415

    handles = [
        Line2D([], [], color=_GREY, linestyle=(0, (5, 2)), linewidth=1.5),
        Line2D([], [], color=_GREY, linewidth=2.2),
        Line2D([], [], color="black", linestyle=(0, (1, 1.5)), linewidth=1.4),
        Patch(facecolor=_GREY, alpha=0.3, linewidth=0.0),
    ]
    return handles, ["published", "upper", "lower", "between lower and upper"]


def _series_key(curves: tuple[Curve, ...]) -> tuple[list[Any], list[str]]:
    """The colour and marker of each curve."""
    from matplotlib.lines import Line2D  # noqa: PLC0415

    handles = [
        Line2D([], [], color=_COLOURS[i], marker=_MARKERS[i], linewidth=2.2, markersize=5)
        for i in range(len(curves))
    ]
    return handles, [curve.label for curve in curves]
