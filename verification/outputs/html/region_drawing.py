"""The drawing of a region: bands that are true, open and refuted along a logarithmic axis."""

from __future__ import annotations

import math

from markupsafe import Markup

from rdpkit.formats.text import printable
from rdpkit.verification.auditing.regions.region import Band, Region, RegionRow, RegionVerdict
from rdpkit.verification.auditing.regions.sentences import searched
from rdpkit.verification.outputs.html.axis import Axis

# Around the boundaries this part of a power of ten is drawn at least.
_MARGIN = 0.3
# Ends beyond this many powers of ten from all boundaries are not drawn.
_FAR = 3.0
_HEIGHT, _BAR, _TOP = 26, 18, 4
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
    axis = _axis(region)
    rows = Markup().join(
        Markup("<li><p>{text}</p>{bar}</li>").format(
            text=printable(sentence), bar=_bar(row, axis, printable(sentence))
        )
        for row, sentence in zip(region.rows, region.sentences, strict=True)
    )
    return Markup(
        '<figure class="region"><ul>{rows}</ul>{scale}<figcaption>{name}</figcaption></figure>'
    ).format(rows=rows, scale=_scale(axis), name=searched(region))


def _axis(region: Region) -> Axis:
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
    ends = _place(axis, row.bands[0].low), _place(axis, row.bands[-1].high)
    shapes = [_rectangle("open", *ends)]
    words = []
    for band in row.bands:
        left, right = _place(axis, band.low), _place(axis, band.high)
        if band.verdict is not RegionVerdict.OPEN:
            shapes.append(_rectangle(band.verdict.value, left, right))
        if right - left >= _WORD:
            words.append(_word(band, 0.5 * (left + right)))
    return Markup(
        '<svg role="img" aria-label="{text}" width="100%" height="{height}">{shapes}</svg>'
    ).format(text=text, height=_HEIGHT, shapes=Markup().join([*shapes, *words]))


def _place(axis: Axis, value: float) -> float:
    return float(axis.place(value).removesuffix("%"))


def _rectangle(kind: str, left: float, right: float) -> Markup:
    return Markup('<rect class="band-{}" x="{:.2f}%" y="{}" width="{:.2f}%" height="{}"/>').format(
        kind, left, _TOP, max(right - left, 0.2), _BAR
    )


def _word(band: Band, middle: float) -> Markup:
    return Markup(
        '<text class="word-{0}" x="{1:.2f}%" y="{2}" text-anchor="middle">{0}</text>'
    ).format(band.verdict.value, middle, _TOP + 13)


def _scale(axis: Axis) -> Markup:
    labels = Markup().join(
        Markup('<text x="{}" y="12" text-anchor="{}" class="{}">{}</text>').format(
            place, _anchor(place), "" if few else "wide", label
        )
        for place, label, few in axis.ticks
    )
    return Markup(
        '<svg class="region-scale" aria-hidden="true" width="100%" height="16">{}</svg>'
    ).format(labels)


def _anchor(place: str) -> str:
    """Labels at the ends stay inside."""
    return {"0.00%": "start", "100.00%": "end"}.get(place, "middle")
