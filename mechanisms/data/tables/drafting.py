"""A first draft of a schema, made from a table, for somebody who then states what is public.

A draft reads the private records: their smallest and largest values, which categories occur, and
whether values are missing. So every column of a draft is marked as not confirmed, and a release
that used it as it is would not be private.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from rdpkit.formats.numbers import how_many
from rdpkit.formats.text import printable
from rdpkit.mechanisms.data.tables.arrow_types import is_real, is_text, limits, value_type
from rdpkit.mechanisms.data.tables.schema import Column, Kind, Schema

MOST_CATEGORIES = 200
"""A column of texts with more different values than this is not taken for categories."""

_FEW_INTEGERS = 3  # A smaller range of integers is not rounded
# A category with fewer records than this is not drafted.
_FEW_RECORDS = 5
_FEW_TEXTS = 10  # Up to so many different texts are always categories
_FEWEST_OF_AN_IDENTIFIER = 50
# Beyond it not every integer is a float, and few measurements lie there.
_LARGEST_NUMBER = 2**53
_VALUE = re.compile(r"\s*|[\d\s.,:;/+-]+")
_IDENTIFIER = re.compile(
    r"(?i)(?:^|[^a-z])(?:id|uuid|guid|ssn|e-?mail|phone|telephone|mobile|iban|passport|patient|customer|client|employee|member|person|user|mrn|"
    r"(?:first|last|full|sur|user|family|given)[ _-]?name|name|address|street|url|ip)(?:$|[^a-z])"
)
# Two words with capitals, or an address of electronic mail.
_OF_A_PERSON = r"\s*(?:\p{Lu}[\w.'-]*(?:,?\s+\p{Lu}[\w.'-]*)+|[^\s@]+@[^\s@]+)\s*"
_QUESTIONS = {
    "dates with the month or the day first: write them as 2020-12-31": re.compile(
        r"\s*\d{1,2}[/.-]\d{1,2}[/.-]\d{2,4}\s*"
    ),
    "numbers with a decimal comma: write them with a point": re.compile(r"\s*[+-]?\d+,\d+\s*"),
}
_MOST_DECIMALS = 6  # Of numbers with more, none are stated
_HEADER = """\
# A draft of a schema: what everybody may know of this table.
#
# It was made from the private records themselves. Ranges, categories and missing values below were
# READ FROM THEM, and are private until you say otherwise. For every column:
#   1. replace them by what is publicly known (a code book, a form, common sense),
#   2. then say why everybody knows it, in place of false: public = "the form has these boxes".
# Where nothing is publicly known, write paid = true instead of range or values: then they are found
# with noise, which the guarantee pays for.
# rdpkit synthesize refuses a schema with a column that is not confirmed.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A draft of a schema, and what a reader has to know of it."""

    schema: Schema  #: Every column is marked as not confirmed
    read: tuple[tuple[str, str], ...]
    """For each column by its name: what was read from the private records."""
    dropped: tuple[str, ...] = ()  #: Columns that were left out, as the caller asked
    proposed: tuple[tuple[str, str], ...] = ()
    """Columns that were left out because they may name people or have no public list of values, and
    why.
    """

    def as_toml(self) -> str:
        """The schema as a TOML file, with what is to be confirmed in comments."""
        import tomlkit  # noqa: PLC0415

        lines = [_HEADER]
        lines += [f"# left out: {printable(name)} ({why})" for name, why in self.proposed]
        lines += [""] if self.proposed else []
        for column, (_, what) in zip(self.schema.columns, self.read, strict=True):
            table = column.as_table()
            lines.append("[[column]]")
            for key, value in table.items():
                note = f"  # confirm: {what}" if key == "public" else ""
                shown = tomlkit.item(value).as_string()
                lines.append(f"{key} = {shown}{note}")
            lines.append("")
        return "\n".join(lines)


def draft_schema(
    table: pa.Table,
    *,
    drop: Iterable[str] = (),
    keep: Iterable[str] = (),
    paid: bool = False,
    bins: int | None = None,
) -> Draft:
    """Draft a schema from a table.

    Ranges are rounded outwards: numbers to one or two digits, dates and times to whole years.
    Categories of fewer than five records are counted as "other". Columns are left out whose values
    are different for nearly all records, that look like names, numbers or addresses of people, or
    that no schema describes.

    Parameters
    ----------
    table : pyarrow.Table
        The private records.
    drop : iterable of str
        Columns to leave out.
    keep : iterable of str
        Columns that are not left out because they look like identifiers.
    paid : bool
        Leave ranges and categories to be found with noise when a release is made. Then only names
        and kinds of columns are read.
    bins : int, optional
        Bins of every range, instead of the default.

    Returns
    -------
    Draft
        It is private, like the records, until somebody has confirmed every column.

    Raises
    ------
    ValueError
        If no column is left, a name is that of no column, or the names of columns look like values.
    """
    left, wanted = tuple(dict.fromkeys(drop)), frozenset(keep)
    for name in (*left, *wanted):
        if name not in table.column_names:
            raise ValueError(f"Expected drop and keep to name columns of the table, got {name!r}.")
    if any(_VALUE.fullmatch(name) for name in table.column_names):
        raise ValueError(
            "Expected the first line to name the columns: some of the names are empty or numbers, "
            "as if a record stood there."
        )
    drafted, proposed = [], []
    for name in (n for n in table.column_names if n not in left):
        try:
            if name not in wanted:
                _check_no_identifier(name, table[name])
            drafted.append(_drafted(name, table[name], bins, paid))
        except _NotDraftedError as error:
            proposed.append((name, str(error)))
    if not drafted:
        raise ValueError(
            f"No schema can be drafted: {how_many(len(proposed), 'column')} of "
            f"{len(table.column_names)} would be left out, as they may name people or have no "
            "public list of values. --keep NAME keeps one that is no identifier."
        )
    return Draft(
        schema=Schema(columns=tuple(column for column, _ in drafted)),
        read=tuple((column.name, what) for column, what in drafted),
        dropped=left,
        proposed=tuple(proposed),
    )


class _NotDraftedError(ValueError):
    """Why a column cannot be described."""


def _check_no_identifier(name: str, values: pa.ChunkedArray) -> None:
    """Leave out what may name people: by the column's name, or because nearly all values differ."""
    if _IDENTIFIER.search(name):
        raise _NotDraftedError("its name is that of an identifier")
    kind, known = values.type, len(values) - values.null_count
    if not is_text(kind) and not pa.types.is_integer(kind):
        return
    different = pc.count_distinct(values).as_py()
    if is_text(kind) and different > _FEW_TEXTS and different * _FEW_RECORDS > known:
        raise _NotDraftedError("texts that differ for nearly all records")
    if is_text(kind):
        texts = pc.unique(values).cast(pa.string()).drop_null()
        alike = pc.sum(pc.match_substring_regex(texts, f"^{_OF_A_PERSON}$")).as_py() or 0
        if different > _FEW_RECORDS and alike * 2 > different:
            raise _NotDraftedError("texts like names or addresses of people")
    if pa.types.is_integer(kind) and known >= _FEWEST_OF_AN_IDENTIFIER and different == known:
        raise _NotDraftedError("integers that differ for all records, like numbers of people")


def _drafted(
    name: str, values: pa.ChunkedArray, bins: int | None, paid: bool
) -> tuple[Column, str]:
    kind = values.type
    shared: dict[str, Any] = {"name": name, "type": str(kind), "drafted": True, "public": False}
    if paid and not pa.types.is_boolean(kind):
        found = _PAID.get(next((make for fits, make in _MAKERS if fits(kind)), None))
        if found is not None:
            return Column(**shared, kind=found, missing=True, paid=True), "its name and kind alone"
    absent = pc.any(pc.is_null(values, nan_is_null=True)).as_py()
    if absent:
        shared["missing"] = True
    missing = "values are missing" if absent else "no value is missing"
    for fits, make in _MAKERS:
        if fits(kind):
            try:
                keys, what = make(values)
                if "range" in keys and bins is not None:
                    keys["bins"] = bins
                return Column(**shared, **keys), f"{what}; {missing}"
            # Times that no calendar has, and integers that no range has.
            except _NotDraftedError:
                raise
            except (OverflowError, ValueError):
                raise _NotDraftedError("no range holds its values") from None
    if pa.types.is_null(kind):
        raise _NotDraftedError("it has no values at all")
    raise _NotDraftedError(f"values of the type {kind} have no kind")


def _categories(values: pa.ChunkedArray) -> tuple[dict[str, Any], str]:
    plain = values.cast(value_type(values.type)) if pa.types.is_dictionary(values.type) else values
    counts = {one["values"].as_py(): one["counts"].as_py() for one in pc.value_counts(plain)}
    counts.pop(None, None)
    if not counts:
        raise _NotDraftedError("it has no values at all")
    if len(counts) > MOST_CATEGORIES:
        raise _NotDraftedError(f"free text: more than {MOST_CATEGORIES} different values")
    if is_text(values.type):
        for question, pattern in _QUESTIONS.items():
            if sum(bool(pattern.fullmatch(one)) for one in counts) * 2 > len(counts):
                raise _NotDraftedError(question)
    found = sorted(one for one, count in counts.items() if count >= _FEW_RECORDS)
    keys: dict[str, Any] = {"kind": "category", "values": tuple(found)}
    if not found:
        raise _NotDraftedError("texts of which none has five records")
    if len(found) < len(counts):
        if not is_text(values.type):
            raise _NotDraftedError("categories that are no texts, some with few records")
        keys["other"] = "other" if "other" not in found else "(other)"
    what = f"{how_many(len(found), 'category', 'categories')} with five records or more"
    return keys, what


def _integer(values: pa.ChunkedArray) -> tuple[dict[str, Any], str]:
    low, high = _ends(values)
    if max(abs(low), abs(high)) > _LARGEST_NUMBER:
        raise _NotDraftedError("integers of 64 bits, which are mostly identifiers")
    if high - low < _FEW_INTEGERS:
        return {"kind": "integer", "range": (low, high)}, "a range of at most three integers"
    step = _step(high - low)
    ends = _inside(values.type, low // step * step, -(-high // step) * step)
    return {"kind": "integer", "range": ends}, "a range, rounded outwards"


def _number(values: pa.ChunkedArray) -> tuple[dict[str, Any], str]:
    numbers = values.cast(pa.float64()).drop_null()
    finite = numbers.filter(pc.is_finite(numbers))
    low, high = _ends(finite)
    width = high - low
    step = float(_step(width)) if width > 1 else 1.0
    if 0 < width <= 1:
        step = float(10.0 ** math.floor(math.log10(width)))
    ends = (math.floor(low / step) * step, math.ceil(high / step) * step)
    if not ends[0] < ends[1]:
        ends = (low - abs(low) - 1.0, high + abs(high) + 1.0)
    keys: dict[str, Any] = {"kind": "number", "range": ends}
    for decimals in range(_MOST_DECIMALS + 1):
        if pc.all(pc.equal(pc.round(finite, decimals), finite)).as_py():
            keys["decimals"] = decimals
            keys["range"] = (round(ends[0], decimals), round(ends[1], decimals))
            break
    keys["range"] = ends = _inside(values.type, *keys["range"])
    infinite = len(finite) < len(numbers) - (pc.sum(pc.is_nan(numbers)).as_py() or 0)
    beyond = "; infinite values are counted at its ends" if infinite else ""
    return keys, f"a range, rounded outwards{beyond}"


def _inside(kind: Any, low: Any, high: Any) -> tuple[Any, Any]:
    """The ends of a range, moved to those of the type where they are rounded beyond them."""
    ends = limits(kind)
    return (low, high) if ends is None else (max(low, ends[0]), min(high, ends[1]))


def _date(values: pa.ChunkedArray) -> tuple[dict[str, Any], str]:
    low, high = _ends(values.cast(pa.date32()))
    ends = (dt.date(low.year, 1, 1).isoformat(), dt.date(high.year, 12, 31).isoformat())
    return {"kind": "date", "range": ends}, "a range of whole years"


def _datetime(values: pa.ChunkedArray) -> tuple[dict[str, Any], str]:
    # Nanoseconds have no type in the standard library; whole years need none.
    zoned = values.type.tz is not None
    low, high = _ends(pc.year(values))
    zone = "+00:00" if zoned else ""
    if zoned:
        low, high = _ends(pc.year(values.cast(pa.timestamp(values.type.unit, tz="UTC"))))
    ends = (f"{low:04d}-01-01T00:00:00{zone}", f"{high:04d}-12-31T23:59:59{zone}")
    return {"kind": "datetime", "range": ends}, "a range of whole years"


def _ends(values: Any) -> tuple[Any, Any]:
    found = pc.min_max(values).as_py()
    if found["min"] is None:
        raise _NotDraftedError("it has no values at all")
    return found["min"], found["max"]


def _step(width: float) -> int:
    """A power of ten, or five of them, about a tenth of the width."""
    power = 10 ** max(0, math.floor(math.log10(width)) - 1) if width > 1 else 1
    return int(power * 5 if width / power > 50 else power)


_Maker = Callable[[pa.ChunkedArray], tuple[dict[str, Any], str]]
_MAKERS: tuple[tuple[Callable[[Any], bool], _Maker], ...] = (
    (pa.types.is_boolean, lambda _: ({"kind": "boolean"}, "true or false")),
    (is_text, _categories),
    (pa.types.is_dictionary, _categories),
    (pa.types.is_integer, _integer),
    (is_real, _number),
    (pa.types.is_date, _date),
    (pa.types.is_timestamp, _datetime),
)

_PAID: Mapping[Any, Kind] = {
    _categories: "category",
    _integer: "integer",
    _number: "number",
    _date: "date",
    _datetime: "datetime",
}
