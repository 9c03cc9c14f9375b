"""A first draft of a schema, made from a table, for somebody who then states what is public.

A draft reads the private records: their smallest and largest values, which categories occur, and
whether values are missing. So every column of a draft is marked as not confirmed, and a release
that used it as it is would not be private.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from rdpkit.formats.numbers import how_many
from rdpkit.formats.records import did_you_mean
from rdpkit.mechanisms.data.tables.arrow_types import is_real, is_text, limits, value_type
from rdpkit.mechanisms.data.tables.schema import BINS, PAID_FOR, Column, Schema

MOST_CATEGORIES = 200
"""A column of texts with more different values than this is not taken for categories."""

_FEW_INTEGERS = 3
_MOST_DECIMALS = 6
_HEADER = """\
# A draft of a schema: what everybody may know of this table.
#
# It was made from the private records themselves. Ranges, categories and missing values below were
# READ FROM THEM, and are private until you say otherwise. For every column:
#   1. replace them by what is publicly known (a code book, a form, common sense),
#   2. then set public = true, or remove the line "public = false".
# rdpkit synthesize refuses a schema with a column that is not confirmed.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A draft of a schema, and what a reader has to know of it.

    Parameters
    ----------
    schema : Schema
        Every column is marked as not confirmed.
    read : tuple of (str, str)
        For each column by its name: what was read from the private records.
    dropped : tuple of str
        Columns that were left out, as the caller asked.
    """

    schema: Schema
    read: tuple[tuple[str, str], ...]
    dropped: tuple[str, ...] = ()

    def as_toml(self) -> str:
        """The schema as a TOML file, with what is to be confirmed in comments."""
        import tomlkit  # noqa: PLC0415

        lines = [_HEADER]
        for column, (_, what) in zip(self.schema.columns, self.read, strict=True):
            table = column.as_table()
            lines.append("[[column]]")
            for key, value in table.items():
                note = f"  # confirm: {what}" if key == "public" else ""
                shown = tomlkit.item(value).as_string()
                lines.append(f"{key} = {shown}{note}")
            lines.append("")
        return "\n".join(lines)


def draft_schema(table: pa.Table, *, drop: Iterable[str] = (), bins: int | None = None) -> Draft:
    """Draft a schema from a table.

    Ranges are rounded outwards: numbers to one or two digits, dates and times to whole years.

    Parameters
    ----------
    table : pyarrow.Table
        The private records.
    drop : iterable of str
        Columns to leave out.
    bins : int, optional
        Bins of every range, instead of the default.

    Returns
    -------
    Draft
        It is private, like the records, until somebody has confirmed every column.

    Raises
    ------
    ValueError
        If a column is free text, or of a type that no schema has: the message names all such
        columns and says what to do.
    """
    left = tuple(dict.fromkeys(drop))
    for name in left:
        if name not in table.column_names:
            raise ValueError(
                f"Expected drop to name columns of the table ({', '.join(table.column_names)}), "
                f"got {name!r}.{did_you_mean(name, table.column_names)}"
            )
    columns, read, refused = [], [], []
    for name in (n for n in table.column_names if n not in left):
        try:
            column, what = _drafted(name, table[name], bins)
        except _NotDraftedError as error:
            refused.append(f"{name} ({error})")
            continue
        columns.append(column)
        read.append((name, what))
    if refused:
        raise ValueError(
            f"No schema can be drafted for {how_many(len(refused), 'column')}: "
            f"{'; '.join(refused)}. Leave them out with --drop NAME, or replace them by categories "
            "or numbers."
        )
    return Draft(schema=Schema(columns=tuple(columns)), read=tuple(read), dropped=left)


class _NotDraftedError(ValueError):
    """Why a column cannot be described."""


def _drafted(name: str, values: pa.ChunkedArray, bins: int | None) -> tuple[Column, str]:
    kind = values.type
    shared: dict[str, Any] = {"name": name, "type": str(kind), "public": False}
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
                return _offered(Column(**shared, **keys)), f"{what}; {missing}"
            # Times that no calendar has, and integers that no range has.
            except _NotDraftedError:
                raise
            except (OverflowError, ValueError) as error:
                raise _NotDraftedError(f"no range holds its values: {error}") from None
    if pa.types.is_null(kind):
        raise _NotDraftedError("it has no values at all")
    raise _NotDraftedError(f"values of the type {kind} have no kind")


def _offered(column: Column) -> Column:
    """With edges that a release pays for, where a range has many values."""
    pays = column.kind in ("number", "integer") and column.bins is None and column.parts == BINS
    return replace(column, edges=PAID_FOR) if pays else column


def _boolean(values: pa.ChunkedArray) -> tuple[dict[str, Any], str]:
    return {"kind": "boolean"}, "true or false"


def _categories(values: pa.ChunkedArray) -> tuple[dict[str, Any], str]:
    plain = values.cast(value_type(values.type)) if pa.types.is_dictionary(values.type) else values
    found = sorted(pc.unique(plain).drop_null().to_pylist())
    if not found:
        raise _NotDraftedError("it has no values at all")
    if len(found) > MOST_CATEGORIES:
        raise _NotDraftedError(f"free text: {len(found)} different values")
    what = f"the {how_many(len(found), 'category', 'categories')} that occur"
    return {"kind": "category", "values": tuple(found)}, what


def _integer(values: pa.ChunkedArray) -> tuple[dict[str, Any], str]:
    low, high = _ends(values)
    if high - low < _FEW_INTEGERS:
        return {"kind": "integer", "range": (low, high)}, f"the values {low} to {high}"
    step = _step(high - low)
    ends = _inside(values.type, low // step * step, -(-high // step) * step)
    keys = {"kind": "integer", "range": ends}
    return keys, f"values from {ends[0]} to {ends[1]}, rounded outwards"


def _number(values: pa.ChunkedArray) -> tuple[dict[str, Any], str]:
    numbers = values.cast(pa.float64()).drop_null()
    finite = numbers.filter(pc.is_finite(numbers))
    low, high = _ends(finite)
    step = float(_step(high - low)) if high - low > 1 else _small_step(high - low)
    ends = (math.floor(low / step) * step, math.ceil(high / step) * step)
    if not ends[0] < ends[1]:
        ends = (low - abs(low) - 1.0, high + abs(high) + 1.0)
    keys: dict[str, Any] = {"kind": "number", "range": ends}
    if (decimals := _decimals(finite)) is not None:
        keys["decimals"] = decimals
        keys["range"] = (round(ends[0], decimals), round(ends[1], decimals))
    keys["range"] = ends = _inside(values.type, *keys["range"])
    return keys, f"values from {ends[0]:g} to {ends[1]:g}, rounded outwards"


def _inside(kind: Any, low: Any, high: Any) -> tuple[Any, Any]:
    """The ends of a range, moved to those of the type where they are rounded beyond them."""
    ends = limits(kind)
    return (low, high) if ends is None else (max(low, ends[0]), min(high, ends[1]))


def _date(values: pa.ChunkedArray) -> tuple[dict[str, Any], str]:
    low, high = _ends(values.cast(pa.date32()))
    ends = (dt.date(low.year, 1, 1).isoformat(), dt.date(high.year, 12, 31).isoformat())
    return {"kind": "date", "range": ends}, f"the years {low.year} to {high.year}"


def _datetime(values: pa.ChunkedArray) -> tuple[dict[str, Any], str]:
    # Nanoseconds have no type in the standard library; whole years need none.
    zoned = values.type.tz is not None
    low, high = _ends(pc.year(values))
    zone = "+00:00" if zoned else ""
    if zoned:
        low, high = _ends(pc.year(values.cast(pa.timestamp(values.type.unit, tz="UTC"))))
    ends = (f"{low:04d}-01-01T00:00:00{zone}", f"{high:04d}-12-31T23:59:59{zone}")
    return {"kind": "datetime", "range": ends}, f"the years {low} to {high}"


def _ends(values: Any) -> tuple[Any, Any]:
    found = pc.min_max(values).as_py()
    if found["min"] is None:
        raise _NotDraftedError("it has no values at all")
    return found["min"], found["max"]


def _step(width: float) -> int:
    """A power of ten, or five of them, about a tenth of the width."""
    power = 10 ** max(0, math.floor(math.log10(width)) - 1) if width > 1 else 1
    return int(power * 5 if width / power > 50 else power)


def _small_step(width: float) -> float:
    return 1.0 if width <= 0 else float(10.0 ** math.floor(math.log10(width)))


def _decimals(values: Any) -> int | None:
    """The decimals that all numbers have; None if these are many."""
    for decimals in range(_MOST_DECIMALS + 1):
        if pc.all(pc.equal(pc.round(values, decimals), values)).as_py():
            return decimals
    return None


_Maker = Callable[[pa.ChunkedArray], tuple[dict[str, Any], str]]
_MAKERS: tuple[tuple[Callable[[Any], bool], _Maker], ...] = (
    (pa.types.is_boolean, _boolean),
    (is_text, _categories),
    (pa.types.is_dictionary, _categories),
    (pa.types.is_integer, _integer),
    (is_real, _number),
    (pa.types.is_date, _date),
    (pa.types.is_timestamp, _datetime),
)

__all__ = ["MOST_CATEGORIES", "Draft", "draft_schema"]
