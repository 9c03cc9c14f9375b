"""Tables of TOML and JSON: one description of their keys reads them and is their JSON Schema.

A table is described by a mapping from its keys to :class:`Key`, and each key has a
:class:`ValueKind` that says what its value may be. Reading is strict: an unknown key, a missing key
and a wrong value are each one error that names the key, the value and what is accepted.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from enum import Enum
from typing import Any

_LONGEST = 80  # Characters of a value in an error
# A number with a decimal exponent beyond this is no parameter, and slow to compute with.
_LARGEST_EXPONENT = 300
_LARGEST_FLOAT = 1.7976931348623157e308
_INFINITE = {"inf": math.inf, "-inf": -math.inf}


@dataclasses.dataclass(frozen=True, slots=True)
class ValueKind:
    """What a value may be."""

    read: Callable[[str, Any], Any]
    """Of the key's name and the value; it returns the value in the form in which it is used, or
    raises a ValueError made by :func:`refused`.
    """
    schema: Mapping[str, Any]  # The same as a JSON Schema


@dataclasses.dataclass(frozen=True, slots=True)
class Key:
    """One key of a table."""

    kind: ValueKind  # What its value may be
    meaning: str = ""  # For the reader, in an editor
    needed: bool = False  # Whether the table must have it
    default: Any = None  # What is read where the key is left out


class Refused(ValueError):  # noqa: N818 - what is refused is the value
    """A mistake at one key of a table."""

    def __init__(self, message: str, key: str) -> None:
        super().__init__(message, key)
        self.key = key

    def __str__(self) -> str:
        return str(self.args[0])


class Mistakes(ValueError):  # noqa: N818 - several errors
    """Several mistakes that were found at once, each of which is an error of its own."""

    def __init__(self, found: Sequence[ValueError | OSError]) -> None:
        super().__init__(found)
        self.found = tuple(found)

    def __str__(self) -> str:
        return "\n".join(map(str, self.found))


def each_of(error: ValueError | OSError) -> tuple[ValueError | OSError, ...]:
    """The mistakes that an error is about."""
    return error.found if isinstance(error, Mistakes) else (error,)


def check_none(found: Sequence[ValueError | OSError]) -> None:
    """Raise all mistakes at once, if there are any."""
    if found:
        raise found[0] if len(found) == 1 else Mistakes(found)


def refused(name: str, condition: str, value: Any) -> ValueError:
    """The error about a value: the key, what is accepted, and what was given."""
    return Refused(f"expected {name} {condition}, got {shown(value)}.", name)


def shown(value: Any) -> str:
    """A value as errors show it: as it was written, and not too long."""
    text = str(value) if isinstance(value, Decimal) else repr(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """A question to put behind an error about an unknown name; empty if no known name is near."""
    from difflib import get_close_matches  # noqa: PLC0415 - needed only for errors

    near = get_close_matches(str(name), [str(one) for one in known], n=1)
    return f" Did you mean {near[0]!r}?" if near else ""


def read_table(table: Mapping[str, Any], keys: Mapping[str, Key]) -> dict[str, Any]:
    """The values of a table, with those of keys that were left out; all mistakes at once."""
    accepted = ", ".join(keys)
    found: list[ValueError | OSError] = [
        Refused(f"unknown key {name!r}; accepted are {accepted}.{did_you_mean(name, keys)}", name)
        for name in table
        if name not in keys
    ]
    values = {}
    for name, key in keys.items():
        values[name] = key.default
        if name in table or key.needed:
            try:
                values[name] = key.kind.read(name, table.get(name))
            except ValueError as error:
                found += each_of(error)
    check_none(found)
    return values


def table_schema(keys: Mapping[str, Key]) -> dict[str, Any]:
    """The description of a table as a JSON Schema."""
    return {
        "type": "object",
        "required": [name for name, key in keys.items() if key.needed],
        "additionalProperties": False,
        "properties": {
            name: {**key.kind.schema, "description": key.meaning} for name, key in keys.items()
        },
    }


def as_plain(value: Any) -> Any:
    """A value as JSON holds it: dataclasses as tables, infinite numbers as "inf" and "-inf"."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: as_plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple | list):
        return [as_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {name: as_plain(item) for name, item in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        if math.isnan(value):
            raise ValueError("NaN is not JSON compliant.")
        return "inf" if value > 0 else "-inf"
    return value


def plain_of(value: Any, names: Iterable[str]) -> dict[str, Any]:
    """Some attributes of a value, as JSON holds them."""
    return {name: as_plain(getattr(value, name)) for name in names}


def text() -> ValueKind:
    """A string that is not empty."""

    def read(name: str, value: Any) -> str:
        if not isinstance(value, str) or not value.strip():
            raise refused(name, "to be a non-empty string", value)
        return value

    return ValueKind(read, {"type": "string", "pattern": r"\S"})


def string() -> ValueKind:
    """Any string."""

    def read(name: str, value: Any) -> str:
        if not isinstance(value, str):
            raise refused(name, "to be a string", value)
        return value

    return ValueKind(read, {"type": "string"})


def texts() -> ValueKind:
    """A list of strings, none of which is empty; it is read as a tuple."""

    def read(name: str, value: Any) -> tuple[str, ...]:
        if not isinstance(value, list) or not all(isinstance(v, str) and v for v in value):
            raise refused(name, "to be a list of strings", value)
        return tuple(value)

    return ValueKind(read, {"type": "array", "items": {"type": "string", "minLength": 1}})


def choice(options: Iterable[str], build: Callable[[str], Any] = str) -> ValueKind:
    """One of a few names; ``build`` makes what is used of it."""
    accepted = tuple(str(option) for option in options)

    def read(name: str, value: Any) -> Any:
        if not isinstance(value, str) or value not in accepted:
            condition = "to be one of " + ", ".join(map(repr, accepted))
            raise Refused(f"{refused(name, condition, value)}{did_you_mean(value, accepted)}", name)
        return build(value)

    return ValueKind(read, {"enum": list(accepted)})


def flag() -> ValueKind:
    """True or false."""

    def read(name: str, value: Any) -> bool:
        if not isinstance(value, bool):
            raise refused(name, "to be true or false", value)
        return value

    return ValueKind(read, {"type": "boolean"})


def number(
    # The same in words, like "in (0, 1)"; they follow the key's name in an error.
    condition: str = "",
    *,
    # The limits. Infinity is accepted with ``maximum=math.inf`` only, also as the text "inf", which
    # stands for it where a file is JSON.
    above: float = -math.inf,
    below: float = math.inf,
    minimum: float = -math.inf,
    maximum: float = _LARGEST_FLOAT,
) -> ValueKind:
    """A number that is larger than ``above``, smaller than ``below`` and in [minimum, maximum]."""
    limits = {
        "exclusiveMinimum": above,
        "exclusiveMaximum": below,
        "minimum": minimum,
        "maximum": maximum,
    }

    def read(name: str, value: Any) -> float:
        given = _INFINITE.get(value, value) if isinstance(value, str) else value
        if isinstance(given, bool) or not isinstance(given, int | float | Decimal):
            raise refused(name, f"to be a number {condition}".strip(), value)
        found = _float(given)
        inside = (found > above or above == -math.inf) and (found < below or below == math.inf)
        if not (inside and minimum <= found <= maximum):
            raise refused(name, condition or "to be a number", value)
        return found

    finite = {limit: value for limit, value in limits.items() if math.isfinite(value)}
    return ValueKind(read, {"type": "number", **finite})


def _float(value: float | Decimal) -> float:
    """The nearest float; NaN where a number is so large or so small that none is near."""
    if not isinstance(value, float):
        exact = Decimal(value)
        if exact.is_finite() and exact and abs(exact.adjusted()) >= _LARGEST_EXPONENT:
            return math.nan
    return float(value)


def integer(minimum: int, maximum: int = 10**9) -> ValueKind:
    """An integer from ``minimum`` to ``maximum``, by default a thousand million."""
    largest = "10^9" if maximum == 10**9 else str(maximum)

    def read(name: str, value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not minimum <= value <= maximum:
            raise refused(name, f"to be an integer in [{minimum}, {largest}]", value)
        return value

    return ValueKind(read, {"type": "integer", "minimum": minimum, "maximum": maximum})


def optional(kind: ValueKind) -> ValueKind:
    """The same, or nothing: null in JSON."""

    def read(name: str, value: Any) -> Any:
        return None if value is None else kind.read(name, value)

    return ValueKind(read, {"anyOf": [kind.schema, {"type": "null"}]})


def table(header: str = "", schema: Mapping[str, Any] | None = None) -> ValueKind:
    """A table with any keys; ``header`` is how TOML begins it, for errors."""

    def read(name: str, value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise refused(name, f"to be a table{header and ', ' + header}", value)
        return value

    return ValueKind(read, schema or {"type": "object"})


def record(
    keys: Mapping[str, Key], build: Callable[..., Any] = dict, *, header: str = ""
) -> ValueKind:
    """A table with these keys; ``build`` takes its values by their names."""
    plain_table = table(header)

    def read(name: str, value: Any) -> Any:
        return build(**read_table(plain_table.read(name, value), keys))

    return ValueKind(read, table_schema(keys))


def many(kind: ValueKind, what: str) -> ValueKind:
    """A list of values of one kind, read as a tuple; ``what`` names them in errors."""

    def read(name: str, value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise refused(name, f"to be a list of {what}", value)
        return tuple(kind.read(f"{name}[{index}]", item) for index, item in enumerate(value))

    return ValueKind(read, {"type": "array", "items": kind.schema})


def row(*kinds: ValueKind) -> ValueKind:
    """A list with one value of each of these kinds, read as a tuple."""

    def read(name: str, value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list) or len(value) != len(kinds):
            raise refused(name, f"to be a list of {len(kinds)} values", value)
        pairs = zip(kinds, value, strict=True)
        return tuple(kind.read(f"{name}[{index}]", v) for index, (kind, v) in enumerate(pairs))

    return ValueKind(read, {"type": "array", "items": [kind.schema for kind in kinds]})
