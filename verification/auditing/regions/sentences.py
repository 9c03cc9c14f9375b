"""The words of a region, in one place: plain sentences for the terminal, the report and files."""

from __future__ import annotations

import math
from typing import Any

from rdpkit.formats.numbers import rounded_down, rounded_up
from rdpkit.verification.auditing.regions.region import Band, Region, RegionRow, Verdict

_DIGITS = 4


def row_sentence(region: Region, row: RegionRow) -> str:
    """One row in a sentence: "At l = 4: true for every T up to A, refuted from B on, open between."

    Parameters
    ----------
    region : Region
        What is searched.
    row : RegionRow
        The bands.
    """
    where = given(row.values)
    what = " = ".join(region.search)
    parts = [_of_band(region, row, band, what) for band in row.bands]
    kept = [part for part in parts if part]
    shown = [band.verdict for band in row.bands]
    if shown == [Verdict.OPEN]:
        kept = [f"open for every {what} that was looked at: nothing is proven or refuted"]
    elif Verdict.OPEN in shown:
        kept = [*kept, _open(region, row)]
    text = ", ".join(kept)
    return f"{where}: {text}." if where else f"{text[:1].upper()}{text[1:]}."


def _of_band(region: Region, row: RegionRow, band: Band, what: str) -> str:
    """A band that is true or refuted in words; empty for open ones."""
    if band.verdict is Verdict.OPEN:
        return ""
    first, last = band is row.bands[0], band is row.bands[-1]
    # A claim is true on the side that is more private, so a boundary is rounded into its band.
    low = _number(region, band.low, up=True)
    high = _number(region, band.high, up=False)
    every = f"every {what}"
    if first and last:
        return f"{band.verdict.value} for {every} {_looked_at(region, band)}"
    if first:
        return f"{band.verdict.value} for {every} up to {high}"
    if last:
        return f"{band.verdict.value} from {low} on{_end(region, band)}"
    return f"{band.verdict.value} from {low} to {high}"


def _looked_at(region: Region, band: Band) -> str:
    limits = _number(region, band.low, up=True), _number(region, band.high, up=False)
    return f"from {limits[0]} to {limits[1]}, which is all that was looked at"


def _end(region: Region, band: Band) -> str:
    """Where what was looked at ends, if the parameter goes on."""
    if math.isinf(band.high) or band.high >= _FAR or region.search == ("delta",):
        return ""
    return f" (looked at up to {_number(region, band.high, up=False)})"


_FAR = 1e15


def _open(region: Region, row: RegionRow) -> str:
    """What is open, in words."""
    places = [place for place, band in enumerate(row.bands) if band.verdict is Verdict.OPEN]
    if len(places) == 1 and 0 < places[0] < len(row.bands) - 1:
        return "open between"
    return "open elsewhere"


def _number(region: Region, value: float, *, up: bool) -> str:
    if region.whole:
        return f"{int(value):,}"
    return rounded_up(value, digits=_DIGITS) if up else rounded_down(value, digits=_DIGITS)


def given(values: tuple[tuple[str, Any], ...]) -> str:
    """The values that a row is about: "At l = 4 and delta = 1e-05"."""
    said = [f"{name} = {value_words(value)}" for name, value in values]
    if not said:
        return ""
    return "At " + (said[0] if len(said) == 1 else f"{', '.join(said[:-1])} and {said[-1]}")


def value_words(value: Any) -> str:
    """A value of a parameter for people."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, tuple | list):
        return ", ".join(map(value_words, value))
    return str(value)


def how(region: Region) -> list[str]:
    """What a region rests on, in sentences."""
    found = []
    if region.because:
        found.append(_sentence(region.because))
    if region.meets is not None:
        names = " = ".join(region.calibrated)
        found.append(
            f"At each value {names} is set so that the source's formula {region.meets} gives the "
            "claimed epsilon."
        )
    if region.monotone:
        found.append(f"Why values beyond a boundary need not be tried: {region.monotone}.")
    return found


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."


__all__ = ["given", "how", "row_sentence", "value_words"]
