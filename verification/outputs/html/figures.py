"""Drawings: axes, the numbers of one claim, curves, regions and checked trainings."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from markupsafe import Markup

from rdpkit.formats.text import printable
from rdpkit.verification.auditing.findings import Finding
from rdpkit.verification.auditing.regions.region import Region, RegionRow, RegionVerdict
from rdpkit.verification.auditing.regions.sentences import searched
from rdpkit.verification.outputs.html.curves import ORDERS, Curves, Series
from rdpkit.verification.outputs.training_drawing import (
    SandwichLine,
    ScoreHistogram,
    sandwich_lines,
    score_histograms,
)
from rdpkit.verification.outputs.words import number

# Labels are at least so far from each other, as a part of the width and of the height. A phone
# leaves some 230 pixels for the width of a drawing.
_APART, _ABOVE = 0.22, 0.13
# From this factor on between its ends an axis is logarithmic.
_LOGARITHMIC = 30.0
_SIZE = 1000.0

_Dot = tuple[str, float, float]
"""A number of the audit in a drawing: its kind, and where it stands."""


class AxisTick(NamedTuple):
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
            AxisTick(per_cent(1.0 - place if upwards else place), f"{value:g}")
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


def per_cent(share: float) -> str:
    """A part of a width as an attribute."""
    return f"{100.0 * share:.2f}%"


def close_up(
    numbers: Sequence[tuple[str, float, str]],  # The claim and what it stands between
) -> dict[str, Any] | None:  # None where there are no two finite numbers
    """The numbers of one claim, one below the other, from small to large."""
    finite = sorted((n for n in numbers if math.isfinite(n[1])), key=lambda one: one[1])
    if len(finite) < 2:
        return None
    scale = FigureScale.around(value for _, value, _ in finite)
    return {
        "rows": [(kind, per_cent(scale.share(value)), text) for kind, value, text in finite],
        "ticks": scale.ticks(_APART),
    }


def profile_figure(curves: Curves, dots: Sequence[_Dot]) -> dict[str, Any] | None:
    """Epsilon by delta, with the numbers of the audit; None if there is nothing to draw."""

    def tabled(x: float) -> bool:
        power = math.log10(x)
        return abs(power - round(power)) < 1e-9 or any(x == delta for _, delta, _ in dots)

    titles = ("delta, the small probability that is allowed on top", "epsilon", "delta")
    return _figure("Epsilon by delta", titles, curves.profile, dots, tabled)


def rdp_figure(curves: Curves, dots: Sequence[_Dot]) -> dict[str, Any] | None:
    """Renyi divergences by order; None if there is nothing to draw."""

    def tabled(x: float) -> bool:
        # A third of the orders are enough for a table, and those that a claim is about.
        return x in ORDERS[::3] or x not in ORDERS

    titles = ("order", "divergence", "order")
    return _figure("Renyi divergence by order", titles, curves.rdp, dots, tabled)


def _figure(
    title: str,
    titles: tuple[str, str, str],  # Of both axes, and of the table's first column
    series: Sequence[Series],
    dots: Sequence[_Dot],
    tabled: Callable[[float], bool],  # Whether the table has a row for a place
) -> dict[str, Any] | None:
    """Curves with their axes, their legend and their table, as the template draws them."""
    if not series:
        return None
    across = [x for one in series for x, _ in one.points]
    inside = [dot for dot in dots if min(across) <= dot[1] <= max(across)]
    inside = [dot for dot in inside if math.isfinite(dot[2])]
    heights = [y for one in series for _, y in one.points] + [y for _, _, y in inside]
    x, y = FigureScale.around(across, logarithmic=True), FigureScale.around(heights)
    return {
        "title": title,
        "x_title": titles[0],
        "y_title": titles[1] + (" (logarithmic)" if y.logarithmic else ""),
        "lines": [
            {
                "kind": one.kind,
                "label": one.label,
                "path": "M" + "L".join(_point(point, x, y) for point in one.points),
            }
            for one in series
        ],
        "band": _band(series, x, y),
        "dots": [
            {"kind": kind, "x": per_cent(x.share(at)), "y": per_cent(1.0 - y.share(value))}
            for kind, at, value in inside
        ],
        "x_ticks": x.ticks(_APART),
        "y_ticks": y.ticks(_ABOVE, upwards=True),
        "head": (titles[2], *(one.kind for one in series)),
        "table": _rows(series, tabled),
        "spoken": f"{title}: {'; '.join(one.label for one in series)}. The same numbers are in the "
        "table below.",
    }


def _point(point: tuple[float, float], x: FigureScale, y: FigureScale) -> str:
    return f"{_SIZE * x.share(point[0]):.0f} {_SIZE * (1.0 - y.share(point[1])):.0f}"


def _band(series: Sequence[Series], x: FigureScale, y: FigureScale) -> str:
    """The space between the lower and the upper curve, in which the truth is."""
    by_kind = {one.kind: one.points for one in series}
    upper, lower = by_kind.get("upper"), by_kind.get("lower")
    if not upper or not lower:
        return ""
    there = [_point(point, x, y) for point in upper]
    return f"M{'L'.join([*there, *(_point(point, x, y) for point in reversed(lower))])}Z"


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
    return "\N{EN DASH}" if value is None else number(kind, value, digits=5)


# Labels on a wide page, and on a phone, whose axis is about 300 pixels wide.
_MOST_LABELS, _FEW_LABELS = 9, 4
# The part of the width beside the powers of ten for 0, or for infinity.
_BESIDE = 12.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """Powers of ten from left to right."""

    # Exponents of ten at the ends; ``high`` is larger.
    low: int
    high: int
    # Whether there is a place for 0 at the left, and for infinity at the right.
    zero: bool = False
    infinite: bool = False

    @classmethod
    def around(cls, values: Iterable[float]) -> Axis:
        """The shortest axis that holds all values."""
        values = list(values)
        logs = [math.log10(value) for value in values if 0.0 < value < math.inf]
        low, high = (math.floor(min(logs)), math.ceil(max(logs))) if logs else (-1, 1)
        return cls(
            low=low,
            high=max(high, low + 1),
            zero=any(value <= 0.0 for value in values),
            infinite=any(math.isinf(value) for value in values),
        )

    @property
    def _ends(self) -> tuple[float, float]:
        """Where the powers of ten begin and end, in per cent."""
        return (_BESIDE if self.zero else 0.0), 100.0 - (_BESIDE if self.infinite else 0.0)

    def place(self, value: float) -> str:
        """Where a value stands, in per cent of the width."""
        if value <= 0.0:
            return "0%"
        if math.isinf(value):
            return "100%"
        left, right = self._ends
        share = (math.log10(value) - self.low) / (self.high - self.low)
        return f"{left + (right - left) * min(max(share, 0.0), 1.0):.2f}%"

    @property
    def ticks(self) -> tuple[tuple[str, str, bool], ...]:
        """Places, labels, and whether there is room for the label on a phone."""
        decades = self.high - self.low
        step = max(1, math.ceil(decades / (_MOST_LABELS - 1)))
        few = step * math.ceil(decades / (_FEW_LABELS * step))
        found = [
            (self.place(10.0**k), f"{10.0**k:g}", (k - self.low) % few == 0)
            for k in range(self.low, self.high + 1, step)
        ]
        zero = [("0%", "0", True)] if self.zero else []
        infinite = [("100%", "\N{INFINITY}", True)] if self.infinite else []
        return (*zero, *found, *infinite)

    @property
    def lines(self) -> tuple[str, ...]:
        """Where the powers of ten are."""
        return tuple(self.place(10.0**k) for k in range(self.low, self.high + 1))


# Around the boundaries this part of a power of ten is drawn at least.
_MARGIN = 0.3
# Ends beyond this many powers of ten from all boundaries are not drawn.
_FAR = 3.0
_ROW_HEIGHT, _BAR, _TOP = 26, 18, 4
# A band in which a word fits, in per cent of the width.
_WORD = 9.0


def region_drawing(
    region: Region,  # With rows or without; without rows it is a sentence
) -> Markup:
    """The rows of a region as bars below their sentences, with one axis for all.

    What is open lies behind the other bands, so that it is seen where it is narrow. Each bar has
    its sentence as text alternative; colours are those of verdicts, and wide bands say theirs.
    HTML in which nothing of a claims file is markup. Its classes have their styles in
    ``static/regions.css``.
    """
    if not region.rows:
        return Markup("<p>No region can be given: {}</p>").format(printable(region.because))
    axis = _axis_of(region)
    rows = Markup().join(
        Markup("<li><p>{text}</p>{bar}</li>").format(
            text=printable(sentence), bar=_bar(row, axis, printable(sentence))
        )
        for row, sentence in zip(region.rows, region.sentences, strict=True)
    )
    return Markup(
        '<figure class="region"><ul>{rows}</ul>{scale}<figcaption>{name}</figcaption></figure>'
    ).format(rows=rows, scale=_labels(axis), name=searched(region))


def _axis_of(region: Region) -> Axis:
    """An axis that shows all boundaries, and the ends of the range where they are not far."""
    ends = {row.bands[0].low for row in region.rows} | {row.bands[-1].high for row in region.rows}
    values = {end for row in region.rows for band in row.bands for end in (band.low, band.high)}
    inner = [math.log10(value) for value in values - ends if 0.0 < value < math.inf]
    outer = [math.log10(end) for end in ends if 0.0 < end < math.inf]
    if not inner:
        near = [end for end in outer if abs(end) <= 2.0 * _FAR]
        low, high = (min(near), max(near)) if near else (0.0, 0.0)
    else:
        low, high = min(inner), max(inner)
        near = [end for end in outer if low - _FAR <= end <= high + _FAR]
        low = min([*near, low - _MARGIN])
        high = max([*near, high + _MARGIN])
    bottom = math.floor(low)
    return Axis(low=bottom, high=max(math.ceil(high), bottom + 1))


def _bar(row: RegionRow, axis: Axis, text: str) -> Markup:
    ends = _percent(axis, row.bands[0].low), _percent(axis, row.bands[-1].high)
    shapes = [_rectangle("open", *ends)]
    words = []
    for band in row.bands:
        left, right = _percent(axis, band.low), _percent(axis, band.high)
        if band.verdict is not RegionVerdict.OPEN:
            shapes.append(_rectangle(band.verdict.value, left, right))
        if right - left >= _WORD:
            word = Markup(
                '<text class="word-{0}" x="{1:.2f}%" y="{2}" text-anchor="middle">{0}</text>'
            )
            words.append(word.format(band.verdict.value, 0.5 * (left + right), _TOP + 13))
    return Markup(
        '<svg role="img" aria-label="{text}" width="100%" height="{height}">{shapes}</svg>'
    ).format(text=text, height=_ROW_HEIGHT, shapes=Markup().join([*shapes, *words]))


def _percent(axis: Axis, value: float) -> float:
    return float(axis.place(value).removesuffix("%"))


def _rectangle(kind: str, left: float, right: float) -> Markup:
    return Markup('<rect class="band-{}" x="{:.2f}%" y="{}" width="{:.2f}%" height="{}"/>').format(
        kind, left, _TOP, max(right - left, 0.2), _BAR
    )


def _labels(axis: Axis) -> Markup:
    ends = {"0.00%": "start", "100.00%": "end"}
    labels = Markup().join(
        Markup('<text x="{}" y="12" text-anchor="{}" class="{}">{}</text>').format(
            # Labels at the ends stay inside.
            place,
            ends.get(place, "middle"),
            "" if few else "wide",
            label,
        )
        for place, label, few in axis.ticks
    )
    return Markup(
        '<svg class="region-scale" aria-hidden="true" width="100%" height="16">{}</svg>'
    ).format(labels)


_ROW, _MIDDLE = 24, 12
_HEIGHT = 48


def training_view(finding: Finding) -> Markup | None:
    """The sandwich of a claim whose training was checked, and its canaries' scores.

    HTML in which nothing of a claims file or of code is markup; None if no training was
    checked. Its classes have their styles in ``static/trainings.css``.
    """
    if finding.training is None:
        return None
    pictures = Markup().join(_scores(name, one) for name, one in score_histograms(finding.training))
    checks = Markup().join(
        Markup("<li>{}</li>").format(printable(": ".join(filter(None, words))))
        for check in finding.training.checks
        for detail in ([mistake.describe() for mistake in check.mistakes] or [check.skipped])
        for words in [(check.name, check.verdict, detail)]
    )
    return Markup(
        '<figure class="training"><figcaption>The training {name}: {verdict}</figcaption>'
        "{sandwich}{pictures}<ul>{checks}</ul></figure>"
    ).format(
        name=printable(finding.training.name),
        verdict=finding.training.verdict,
        sandwich=_sandwich(sandwich_lines(finding)),
        pictures=pictures,
        checks=checks,
    )


def _sandwich(lines: list[SandwichLine]) -> Markup:
    """One bar for each number, on one axis, with its words above."""
    scale = FigureScale.around([line.value for line in lines], logarithmic=False)
    rows = Markup().join(
        Markup(
            '<li><p>{digits} {words}</p><svg role="img" aria-label="{digits} {words}" '
            'width="100%" height="{height}"><line class="axis" x1="0" x2="100%" y1="{y}" y2="{y}"/>'
            '<line class="bar-{kind}" x1="0" x2="{end}" y1="{y}" y2="{y}"/></svg></li>'
        ).format(
            digits=line.digits,
            words=line.words,
            height=_ROW,
            y=_MIDDLE,
            kind=line.kind,
            end=per_cent(1.0 if math.isinf(line.value) else scale.share(line.value)),
        )
        for line in lines
    )
    ticks = Markup().join(
        Markup('<text x="{}" y="12" text-anchor="{}">{}</text>').format(
            tick.place, "start" if tick.text == "0" else "middle", tick.text
        )
        for tick in scale.ticks(0.15)
    )
    return Markup(
        '<ul>{}</ul><svg class="training-scale" aria-hidden="true" width="100%" height="16">{}'
        "</svg>"
    ).format(rows, ticks)


def _scores(name: str, one: ScoreHistogram) -> Markup:
    """Two histograms below each other, with one scale for both."""
    highest = max(*one.inside, *one.outside)
    drawn = Markup().join(
        Markup(
            '<p>{what}</p><svg class="scores" role="img" aria-label="{what}: {words}" '
            'viewBox="0 0 {width} {height}" preserveAspectRatio="none" width="100%" '
            'height="{height}">{bars}</svg>'
        ).format(
            what=what,
            words=one.words,
            width=len(counts) * 10,
            height=_HEIGHT,
            bars=_bars(kind, counts, highest),
        )
        for kind, what, counts in (
            ("in", "Scores of canaries in the training", one.inside),
            ("out", "Scores of canaries outside the training", one.outside),
        )
    )
    return Markup("{}<p>The {}. {}</p>").format(drawn, f"check of the {name}", one.words)


def _bars(kind: str, counts: tuple[int, ...], highest: int) -> Markup:
    return Markup().join(
        Markup('<rect class="score-{}" x="{}" y="{:.2f}" width="9" height="{:.2f}"/>').format(
            kind, 10 * place, _HEIGHT * (1.0 - count / highest), _HEIGHT * count / highest
        )
        for place, count in enumerate(counts)
        if count
    )
