"""Types of Arrow columns by their names, as schemas state them."""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa

_TIMESTAMP = re.compile(r"timestamp\[(s|ms|us|ns)(?:, tz=([^\]]+))?\]")
_DICTIONARY = re.compile(r"dictionary<values=(\w+), indices=(u?int\d+), ordered=(0|1|true|false)>")
_DECIMAL = re.compile(r"decimal(?:128)?\((\d+), (\d+)\)")


def arrow_type(name: str) -> Any:
    """The Arrow type whose name this is, as ``str(type)`` writes it."""
    if found := _TIMESTAMP.fullmatch(name):
        return pa.timestamp(found[1], tz=found[2])
    if found := _DICTIONARY.fullmatch(name):
        return pa.dictionary(
            pa.type_for_alias(found[2]), arrow_type(found[1]), ordered=found[3] in ("1", "true")
        )
    if found := _DECIMAL.fullmatch(name):
        return pa.decimal128(int(found[1]), int(found[2]))
    try:
        return pa.type_for_alias({"date32[day]": "date32", "date64[ms]": "date64"}.get(name, name))
    except (ValueError, KeyError):
        raise ValueError(
            "expected type to be the name of an Arrow type, like int64, double, string, bool, "
            f"date32 or timestamp[us], got {name!r}."
        ) from None


def value_type(kind: Any) -> Any:
    """The type of a column's values: for a dictionary that of its entries."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def is_text(kind: Any) -> bool:
    """Whether values are strings."""
    plain = value_type(kind)
    return bool(pa.types.is_string(plain) or pa.types.is_large_string(plain))


def is_real(kind: Any) -> bool:
    """Whether values are numbers that need not be whole."""
    return bool(pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def limits(kind: Any) -> tuple[int | float, int | float] | None:
    """The smallest and the largest value of a type of integers or decimals; None for others."""
    if pa.types.is_integer(kind):
        bits = kind.bit_width
        if pa.types.is_unsigned_integer(kind):
            return 0, 2**bits - 1
        return -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    if pa.types.is_decimal(kind):
        largest = (10**kind.precision - 1) / 10**kind.scale
        return -largest, largest
    return None
