"""Drawings as places: where lines, marks and labels stand, in parts of a width and a height.

Nothing here is markup. Labels that would come too close to each other on a phone are left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from rdpkit.formats.text import rounded_down, rounded_up
from rdpkit.verification.outputs.html.curves import ORDERS, Curves, Points, Series

# Labels are at least so far from each other, as a part of the width and of the height. A phone
# leaves some 230 pixels for the width of a drawing.
_APART, _ABOVE = 0.22, 0.13
# From this factor on between its ends an axis is logarithmic.
_LOGARITHMIC = 30.0
_SIZE = 1000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AxisTick:
    """A label on an axis: its place in per cent, and its text."""

    place: str
    text: str


@dataclass(frozen=True, slots=True)
class FigureScale:
    """A stretch of numbers on a line, linear or logarithmic."""

    # The numbers at its ends, low < high.
    low: float
    high: float
    logarithmic: bool  # Whether equal factors are equally long

    @classmethod
    def around(cls, values: Iterable[float], *, logarithmic: bool | None = None) -> FigureScale:
        """A scale that holds all finite values: from 0 on if they are of one size."""
        known = sorted(value for value in values if math.isfinite(value))
        positive = [value for value in known if value > 0.0]
        if not positive:
            return cls(0.0, 1.0, False)
        if logarithmic is None:
            logarithmic = known[0] > 0.0 and positive[-1] > _LOGARITHMIC * positive[0]
        if not logarithmic:
            return cls(0.0, positive[-1] * 1.06, False)
        if positive[-1] > positive[0]:
            return cls(positive[0], positive[-1], True)
        return cls(positive[0] / 2.0, positive[0] * 2.0, True)

    def share(self, value: float) -> float:
        """Where a number is, from 0 to 1; numbers beyond an end are at the end."""
        if self.logarithmic:
            if value <= self.low:
                return 0.0
            found = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            found = (value - self.low) / (self.high - self.low)
        return min(max(found, 0.0), 1.0)

    def ticks(self, apart: float, *, upwards: bool = False) -> tuple[AxisTick, ...]:
        """Labels that are at least ``apart`` from each other, at numbers that are round."""
        kept: dict[float, float] = {}
        for value in self._round_numbers():
            place = self.share(value)
            if all(abs(place - other) >= apart for other in kept.values()):
                kept[value] = place
        return tuple(
            AxisTick(place=per_cent(1.0 - place if upwards else place), text=f"{value:g}")
            for value, place in sorted(kept.items())
        )

    def _round_numbers(self) -> list[float]:
        """Round numbers of the scale, the roundest first."""
        if not self.logarithmic:
            unit = 10.0 ** math.floor(math.log10(self.high / 2.5))
            steps = (1.0, 2.0, 5.0, 10.0)
            step = next(unit * k for k in steps if self.high / (unit * k) <= 5.5)
            return [float(f"{step * k:.12g}") for k in range(int(self.high / step) + 1)]
        first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
        stride = max(1, math.ceil((last - first) / 5))
        powers = [10.0**k for k in range(first, last + 1) if k % stride == 0]
        # Over several powers of ten, these alone are labels that can be read at a glance.
        parts = (2, 5, 3, 7) if self.high < 100.0 * self.low else ()
        others = [k * 10.0**n for k in parts for n in range(first, last + 1)]
        slack = 1.0 + 1e-9
        return [v for v in (*powers, *others) if self.low / slack <= v <= self.high * slack]


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureDot:
    """A number of the audit in a drawing."""

    kind: str
    x: str
    y: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureLine:
    """A curve: what it is, and its path in a square of 1000 by 1000."""

    kind: str
    label: str
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureView:
    """A drawing of curves with its axes, its legend and its table."""

    title: str
    x_title: str
    y_title: str
    lines: tuple[FigureLine, ...]
    band: str
    dots: tuple[FigureDot, ...]
    x_ticks: tuple[AxisTick, ...]
    y_ticks: tuple[AxisTick, ...]
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    spoken: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaleView:
    """The numbers of one claim on a scale of their own, from 0 on if they are of one size."""

    rows: tuple[tuple[str, str, str], ...]
    ticks: tuple[AxisTick, ...]


def per_cent(share: float) -> str:
    """A part of a width as an attribute."""
    return f"{100.0 * share:.2f}%"


def close_up(
    numbers: Sequence[tuple[str, float, str]],  # The claim and what it stands between
) -> ScaleView | None:  # None where there are no two finite numbers
    """The numbers of one claim, one below the other, from small to large."""
    finite = sorted((n for n in numbers if math.isfinite(n[1])), key=lambda one: one[1])
    if len(finite) < 2:
        return None
    scale = FigureScale.around(value for _, value, _ in finite)
    return ScaleView(
        rows=tuple((kind, per_cent(scale.share(value)), text) for kind, value, text in finite),
        ticks=scale.ticks(_APART),
    )


def profile_figure(curves: Curves, dots: Sequence[tuple[str, float, float]]) -> FigureView | None:
    """Epsilon by delta, with the numbers of the audit; None if there is nothing to draw."""
    if not curves.profile:
        return None
    return _figure(
        curves.profile,
        dots,
        title="Epsilon by delta",
        x_title="delta, the small probability that is allowed on top",
        y_title="epsilon",
        x_name="delta",
        tabled=lambda x: _is_round(x) or any(x == delta for _, delta, _ in dots),
    )


def rdp_figure(curves: Curves, dots: Sequence[tuple[str, float, float]]) -> FigureView | None:
    """Renyi divergences by order; None if there is nothing to draw."""
    if not curves.rdp:
        return None
    return _figure(
        curves.rdp,
        dots,
        title="Renyi divergence by order",
        x_title="order",
        y_title="divergence",
        x_name="order",
        # A third of the orders are enough for a table, and those that a claim is about.
        tabled=lambda x: x in ORDERS[::3] or x not in ORDERS,
    )


def _is_round(x: float) -> bool:
    power = math.log10(x)
    return abs(power - round(power)) < 1e-9


def _figure(
    series: Sequence[Series],
    dots: Sequence[tuple[str, float, float]],
    *,
    title: str,
    x_title: str,
    y_title: str,
    x_name: str,
    tabled: Callable[[float], bool],
) -> FigureView:
    across = [x for one in series for x, _ in one.points]
    inside = [dot for dot in dots if min(across) <= dot[1] <= max(across)]
    inside = [dot for dot in inside if math.isfinite(dot[2])]
    heights = [y for one in series for _, y in one.points] + [y for _, _, y in inside]
    x, y = FigureScale.around(across, logarithmic=True), FigureScale.around(heights)
    return FigureView(
        title=title,
        x_title=x_title,
        y_title=y_title + (" (logarithmic)" if y.logarithmic else ""),
        lines=tuple(
            FigureLine(kind=one.kind, label=one.label, path=_path(one.points, x, y))
            for one in series
        ),
        band=_band(series, x, y),
        dots=tuple(
            FigureDot(kind=kind, x=per_cent(x.share(at)), y=per_cent(1.0 - y.share(value)))
            for kind, at, value in inside
        ),
        x_ticks=x.ticks(_APART),
        y_ticks=y.ticks(_ABOVE, upwards=True),
        head=(x_name, *(one.kind for one in series)),
        rows=_rows(series, tabled),
        spoken=f"{title}: {'; '.join(one.label for one in series)}. The same numbers are in the "
        "table below.",
    )


def _place(point: tuple[float, float], x: FigureScale, y: FigureScale) -> str:
    return f"{_SIZE * x.share(point[0]):.0f} {_SIZE * (1.0 - y.share(point[1])):.0f}"


def _path(points: Points, x: FigureScale, y: FigureScale) -> str:
    return "M" + "L".join(_place(point, x, y) for point in points)


def _band(series: Sequence[Series], x: FigureScale, y: FigureScale) -> str:
    """The space between the lower and the upper curve, in which the truth is."""
    by_kind = {one.kind: one.points for one in series}
    upper, lower = by_kind.get("upper"), by_kind.get("lower")
    if not upper or not lower:
        return ""
    there = [_place(point, x, y) for point in upper]
    return f"M{'L'.join([*there, *(_place(point, x, y) for point in reversed(lower))])}Z"


def _rows(series: Sequence[Series], tabled: Callable[[float], bool]) -> tuple[tuple[str, ...], ...]:
    # Where a line is a stair, the last number at a place is the one that is proven there.
    columns = [dict(one.points) for one in series]
    kinds = [one.kind for one in series]
    places = sorted({place for column in columns for place in column if tabled(place)})
    return tuple(
        (f"{place:.5g}", *map(_cell, kinds, (column.get(place) for column in columns)))
        for place in places
    )


def _cell(kind: str, value: float | None) -> str:
    if value is None:
        return "\N{EN DASH}"
    return (rounded_down if kind == "lower" else rounded_up)(value, digits=5)
