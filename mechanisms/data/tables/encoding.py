"""Records as codes in the public domain of a schema, and codes as records of the same types.

Coding never fails because of what one record has, and never tells anything of it: what is outside
of the schema is moved inside. Otherwise an error would show that a certain record is there.
"""

from __future__ import annotations

import datetime as dt
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rdpkit.formats.numbers import how_many
from rdpkit.mechanisms.data.tables.arrow_types import is_real, is_text, value_type
from rdpkit.mechanisms.data.tables.schema import PER_SECOND, Column, Schema

Codes = NDArray[np.int32]
# More steps than this are further apart than rounding errors of their product with a scale.
_LARGEST_STEPS = 1e9
Floats = NDArray[np.float64]


class UniformDraws(Protocol):
    """Where places within a bin are drawn from: a numpy Generator, for instance."""

    def random(self, size: int) -> Floats:
        """Independent numbers in [0, 1)."""


def encode(table: pa.Table, schema: Schema) -> Codes:
    """Records as codes, column by column.

    A value outside of its range gets the code of the nearest bin. A category that is not listed
    gets the code of ``other``, or else is missing. What is missing, or cannot be read as a value of
    the column, gets the last code where values may be missing, and code 0 otherwise. So each record
    is coded by itself, and every table of these columns is accepted.

    Parameters
    ----------
    table : pyarrow.Table
        At least the columns of the schema; others are ignored.
    schema : Schema
        Names, kinds and public ranges of the k columns.

    Returns
    -------
    ndarray of int32, shape (n, k)
        Codes in [0, ``schema.domain``).

    Raises
    ------
    ValueError
        If a column is not there, or its type as a whole is none that can be read as its kind.
    """
    check_columns(table, schema)
    found = np.empty((table.num_rows, len(schema.columns)), dtype=np.int32)
    for index, column in enumerate(schema.columns):
        found[:, index] = _codes(column, table[column.name])
    return found


def check_columns(table: pa.Table, schema: Schema) -> None:
    """Refuse a table without all columns of the schema."""
    for name in schema.names:
        if name not in table.column_names:
            raise ValueError(
                f"Expected the table to have the column {name!r} of the schema; none of its "
                f"{how_many(table.num_columns, 'column')} has that name."
            )


def decode(codes: Codes, schema: Schema, *, draws: UniformDraws) -> pa.Table:
    """Records whose codes these are, with the columns, types and ranges of the schema.

    Parameters
    ----------
    codes : ndarray of int, shape (n, k)
        In [0, ``schema.domain``).
    schema : Schema
        As for :func:`encode`.
    draws : UniformDraws
        Where values within a bin are drawn from. They are uniform in the bin, and say nothing of
        the private records.

    Returns
    -------
    pyarrow.Table
        Coded again, it has the same codes, if no ``decimals`` move numbers out of their bins.

    Raises
    ------
    ValueError
        If codes have another shape, or are not in the domain.
    """
    values = np.asarray(codes)
    if values.ndim != 2 or values.shape[1] != len(schema.columns) or values.dtype.kind not in "iu":
        raise ValueError(
            f"Expected codes to be integers of shape (n, {len(schema.columns)}), got "
            f"{values.dtype} of shape {values.shape}."
        )
    columns = []
    for index, column in enumerate(schema.columns):
        mine = values[:, index].astype(np.int64)
        if mine.size and not (mine.min() >= 0 and mine.max() < column.codes):
            raise ValueError(f"Expected codes of {column.name!r} to be in [0, {column.codes}).")
        columns.append(_values(column, mine, draws))
    fields = [pa.field(column.name, column.arrow_type) for column in schema.columns]
    return pa.Table.from_arrays(columns, schema=pa.schema(fields))


def _codes(column: Column, given: pa.ChunkedArray) -> NDArray[np.int64]:
    array = _decoded(given)
    absent = column.parts if column.missing else 0
    if column.is_ordered:
        numbers, known = _steps(column, array)
        places = np.searchsorted(column.cuts, numbers, side="right") - 1
        found = np.clip(places, 0, column.parts - 1)
        return np.where(known, found, absent)
    texts, known = _as_categories(column, array)
    at = pc.index_in(texts, value_set=pa.array(column.categories, type=texts.type))
    listed = np.asarray(at.fill_null(-1), dtype=np.int64)
    unlisted = column.parts - 1 if column.other is not None else absent
    return np.where(known, np.where(listed >= 0, listed, unlisted), absent)


def read_values(given: pa.ChunkedArray, column: Column) -> NDArray[Any]:
    """The values of a column before they are coded.

    Where the column has a range: numbers, days or units of time since 1970, NaN where one
    is missing or cannot be read. Otherwise categories as texts, None where one is missing.
    """
    array = _decoded(given)
    if column.is_ordered:
        numbers, known = _steps(column, array)
        return np.where(known, numbers.astype(np.float64), np.nan)
    texts, _ = _as_categories(column, array)
    return np.array(texts.cast(pa.string()).to_pylist(), dtype=object)


def _decoded(given: pa.ChunkedArray) -> pa.Array:
    if pa.types.is_string_view(given.type):
        given = given.cast(pa.string())
    array = given.combine_chunks()
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], given.type)
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


def _as_categories(column: Column, array: pa.Array) -> tuple[pa.Array, NDArray[np.bool_]]:
    if column.kind == "boolean":
        target: Any = pa.bool_()
    else:
        target = pa.string() if is_text(column.arrow_type) else pa.int64()
    found = _cast(column, array, target)
    return found, np.asarray(found.is_valid())


def _steps(column: Column, array: pa.Array) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Values in the unit in which the column is coded, and where there are any."""
    if column.kind in ("number", "integer"):
        # An integer column may hold numbers that are not whole; each is counted to the nearest.
        if column.kind == "integer" and pa.types.is_integer(array.type):
            cast = _cast(column, array, pa.int64())
        else:
            cast = _cast(column, array, pa.float64())
        known = np.asarray(cast.is_valid())
        numbers = np.asarray(cast.fill_null(0))
        if numbers.dtype.kind == "f":
            known &= ~np.isnan(numbers)
            numbers = np.where(known, numbers, 0.0)
            if column.kind == "integer":
                numbers = np.clip(np.rint(numbers), -(2.0**62), 2.0**62).astype(np.int64)
        return numbers, known
    target = pa.date32() if column.kind == "date" else column.arrow_type
    if column.kind == "datetime" and (
        pa.types.is_timestamp(array.type) or pa.types.is_date(array.type)
    ):
        return _instants(array, target.unit)
    cast = _cast(column, array, target)
    known = np.asarray(cast.is_valid())
    whole = cast.cast(pa.int32() if column.kind == "date" else pa.int64())
    return np.asarray(whole.fill_null(0)).astype(np.int64), known


def _instants(array: pa.Array, unit: str) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Times and dates in another unit: rounded down where it is coarser, never out of range."""
    if pa.types.is_date32(array.type):
        array = pc.cast(array, pa.int32())
        per_second = Fraction(1, 86_400)
    else:
        own = "ms" if pa.types.is_date64(array.type) else array.type.unit
        per_second = Fraction(PER_SECOND[own])
    known = np.asarray(array.is_valid())
    found = np.asarray(pc.cast(array, pa.int64()).fill_null(0))
    factor = PER_SECOND[unit] / per_second
    if factor < 1:
        return found // factor.denominator, known
    # No range of a schema reaches as far as 2^62.
    farthest = 2**62 // factor.numerator
    return np.clip(found, -farthest, farthest) * factor.numerator, known


def _cast(column: Column, array: pa.Array, target: Any) -> pa.Array:
    """The array with another type; a single cell that cannot be read is missing."""
    if array.type == target:
        return array
    if pa.types.is_null(array.type):
        return pa.nulls(len(array), type=target)
    source = array.type
    if not _is_readable(column.kind, source):
        raise ValueError(
            f"Expected the column {column.name!r} to hold values of the kind {column.kind}, got a "
            f"column of the type {source}."
        )
    if source == pa.uint64():
        # The largest numbers stay large; a cast would make them negative.
        largest = pa.scalar(2**63 - 1, pa.uint64())
        array = pc.min_element_wise(array, largest, skip_nulls=False)
    try:
        return pc.cast(array, target, safe=not pa.types.is_integer(source))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return pa.array([_one(cell, target) for cell in array], type=target)


def _one(cell: pa.Scalar, target: Any) -> Any:
    """One cell with another type; None if it cannot be read."""
    text = pa.types.is_string(cell.type) or pa.types.is_large_string(cell.type)
    try:
        if not text:
            return pc.cast(cell, target)
        value = str(cell.as_py()).strip() if cell.is_valid else ""
        if pa.types.is_boolean(target):
            return _WORDS.get(value.lower())
        try:
            return pc.cast(pa.scalar(value), target)
        except pa.ArrowInvalid:
            return _time(value, target) if pa.types.is_timestamp(target) else None
    # Whatever a cell holds, it is no reason to refuse the table.
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        return None


def _time(text: str, target: Any) -> Any:
    """A time with more decimals than its type has, without these."""
    found = dt.datetime.fromisoformat(text)
    if (found.tzinfo is None) != (target.tz is None):
        return None
    microseconds = pa.scalar(found, pa.timestamp("us", tz=target.tz))
    return pc.cast(microseconds, target, safe=target.unit == "ns")


def _values(column: Column, codes: NDArray[np.int64], draws: UniformDraws) -> pa.Array:
    missing = codes == column.parts
    if not column.is_ordered:
        plain = value_type(column.arrow_type)
        texts = pa.array(column.categories, type=plain)
        found = texts.take(pa.array(np.where(missing, 0, codes)))
        found = pc.if_else(pa.array(missing), pa.scalar(None, type=plain), found)
        if pa.types.is_dictionary(column.arrow_type):
            return found.dictionary_encode().cast(column.arrow_type)
        return found
    at = np.where(missing, 0, codes)
    low, high = column.cuts[:-1][at], column.cuts[1:][at]
    place = np.asarray(draws.random(len(codes)), dtype=np.float64)
    if column.is_whole:
        width = high - low
        steps = low + np.minimum((place * width).astype(np.int64), width - 1)
        if column.kind == "date":
            steps = pa.array(steps.astype(np.int32), mask=missing).cast(pa.date32())
        else:
            steps = pa.array(steps, mask=missing)
        return steps.cast(column.arrow_type)
    numbers = low * (1.0 - place) + high * place
    if column.decimals is not None:
        numbers = _with_decimals(column, numbers, low, high, place)
    numbers = np.clip(numbers, column.cuts[0], column.cuts[-1])
    if pa.types.is_integer(column.arrow_type):
        numbers = np.rint(numbers)
    found = pa.array(numbers, mask=missing)
    return found if found.type == column.arrow_type else found.cast(column.arrow_type, safe=False)


def _with_decimals(
    column: Column, numbers: Floats, low: Floats, high: Floats, place: Floats
) -> Floats:
    """Numbers of so many decimals, uniformly among those in each part if there are any."""
    assert column.decimals is not None
    scale = 10.0**column.decimals
    with np.errstate(over="ignore", invalid="ignore"):
        # Rounding of products must not move an end that is a number of such decimals.
        first = np.ceil(low * scale - 1e-6)
        count = np.ceil(high * scale - 1e-6) - first
        # The last part holds the end of the range.
        count += (high == column.cuts[-1]) & (first + count <= high * scale + 1e-6)
        found = (first + np.floor(place * count)) / scale
        known = (count >= 1.0) & (np.abs(first) + count < _LARGEST_STEPS)
        return np.where(known, found, np.round(numbers, column.decimals))


def _is_readable(kind: str, source: Any) -> bool:
    """Whether cells of an Arrow type can be read as values of a column's kind."""
    if pa.types.is_string(source) or pa.types.is_large_string(source):
        return True
    if kind in ("date", "datetime"):
        return bool(pa.types.is_date(source) or pa.types.is_timestamp(source))
    return bool(pa.types.is_integer(source) or pa.types.is_boolean(source) or is_real(source))


_WORDS = {"true": True, "yes": True, "t": True, "y": True, "1": True}
_WORDS |= {"false": False, "no": False, "f": False, "n": False, "0": False}
