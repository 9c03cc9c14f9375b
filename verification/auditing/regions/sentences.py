"""The words of a region, in one place: plain sentences for the terminal, the report and files."""

from __future__ import annotations

from typing import Any

from rdpkit.formats.numbers import rounded_down, rounded_up
from rdpkit.verification.auditing.regions.region import Region, RegionRow, RegionVerdict

_DIGITS = 4


def row_sentence(region: Region, row: RegionRow) -> str:
    """One row in a sentence: "At l = 4: true for every T up to A, refuted from B on"."""
    shared = common(region)
    where = given(tuple(pair for pair in row.values if pair not in shared))
    text = ", ".join(_parts(region, row))
    return f"{where}: {text}." if where else f"{text[:1].upper()}{text[1:]}."


def _parts(region: Region, row: RegionRow) -> list[str]:
    every = f"every {searched(region)}"
    shown = [band for band in row.bands if band.verdict is not RegionVerdict.OPEN]
    if not shown:
        return [f"open for {every}: nothing is proven and nothing is refuted"]
    found = []
    for band in shown:
        first, last = band is row.bands[0], band is row.bands[-1]
        # Ends are rounded into the band, so that what is said of a number is true of it.
        low = _number(region, band.low, up=True)
        high = _number(region, band.high, up=False)
        about = f" for {every}" if band is shown[0] else ""
        if first and last:
            where = f" from {low} to {high}, all that was looked at" if any(region.limits) else ""
        elif first:
            where = f" up to {high}"
        elif last:
            limit = f" (looked at up to {high})" if region.limits[1] is not None else ""
            where = f" from {low} on{limit}"
        else:
            where = f" from {low} to {high}"
        found.append(f"{band.verdict.value}{about}{where}")
    return [*found, *_open(row)]


def searched(region: Region) -> str:
    """What is searched in words: "noise multiplier", "number of steps"."""
    counted = region.whole and region.search[0] in _COUNTS
    return ("number of " if counted else "") + " = ".join(map(words_of, region.search))


_COUNTS = ("steps", "samples_per_class", "releases", "iterations", "count")


def words_of(name: str) -> str:
    """The name of a parameter in words."""
    return name.replace("_", " ")


def _open(row: RegionRow) -> list[str]:
    """What is open, in words."""
    places = [place for place, band in enumerate(row.bands) if band.verdict is RegionVerdict.OPEN]
    last = len(row.bands) - 1
    if not places:
        return []
    if places == [0]:
        return ["open below"]
    return ["open above"] if places == [last] else ["open between"]


def _number(region: Region, value: float, *, up: bool) -> str:
    if region.whole:
        return f"{int(value):,}"
    return rounded_up(value, digits=_DIGITS) if up else rounded_down(value, digits=_DIGITS)


def given(values: tuple[tuple[str, Any], ...]) -> str:
    """Values in words: "At l = 4 and delta = 1e-05"; empty if there are none."""
    return f"At {listed(values)}" if values else ""


def listed(values: tuple[tuple[str, Any], ...]) -> str:
    """Values in words: "l = 4 and delta = 1e-05"."""
    said = [f"{words_of(name)} = {value_words(value)}" for name, value in values]
    return said[0] if len(said) == 1 else f"{', '.join(said[:-1])} and {said[-1]}"


def common(region: Region) -> tuple[tuple[str, Any], ...]:
    """The values that are the same in all rows, if there are several rows."""
    if len(region.rows) < 2:
        return ()
    first, *others = (row.values for row in region.rows)
    return tuple(pair for pair in first if all(pair in values for values in others))


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
    if common(region):
        found.append(f"Everywhere {listed(common(region))}.")
    if region.meets is not None:
        names = " = ".join(map(words_of, region.calibrated))
        found.append(
            f"At each value {names} is set so that the source's formula {region.meets} gives the "
            "claimed epsilon."
        )
    if region.monotone:
        found.append(f"Why values beyond a boundary need not be tried: {region.monotone}.")
    return [*found, *_assumptions(region)]


def _assumptions(region: Region) -> list[str]:
    """What the bounds assume; what is not assumed of all rows, with the rows."""
    shared = common(region)
    found = []
    for note in dict.fromkeys(note for row in region.rows for note in row.notes):
        rows = [row for row in region.rows if note in row.notes]
        if len(rows) == len(region.rows):
            found.append(f"Assumes that {note}.")
            continue
        own = [pair for pair in rows[0].values if pair not in shared]
        of_all = tuple(pair for pair in own if all(pair in row.values for row in rows))
        found.append(f"{given(of_all) or 'In some of them'}, assumes that {note}.")
    return found


def _sentence(text: str) -> str:
    begun = f"{text[:1].upper()}{text[1:]}"
    return begun if begun.endswith((".", "!", "?")) else f"{begun}."
