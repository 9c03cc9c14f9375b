"""What everybody may know of a table: its columns, their types, and the values that they can have.

Ranges and categories decide how records are coded, so they have to be public knowledge. They are
stated in a schema, and never read from the records when a release is made.
"""

from __future__ import annotations

import datetime as dt
import itertools
import math
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rdpkit.formats.records import (
    Key,
    ValueKind,
    choice,
    did_you_mean,
    flag,
    integer,
    number,
    optional,
    read_table,
    refused,
    text,
)
from rdpkit.mechanisms.data.dataset import Source
from rdpkit.mechanisms.data.tables.arrow_types import (
    arrow_type,
    is_real,
    is_text,
    limits,
    value_type,
)

Kind = Literal["number", "integer", "category", "boolean", "date", "datetime"]
KINDS: tuple[Kind, ...] = ("number", "integer", "category", "boolean", "date", "datetime")
"""Kinds of columns. There is none for free text, which has no public list of values."""

BINS = 32
"""How many bins a range is cut into, where nothing else is said."""

MOST_CODES = 100_000
"""More codes than this a column may not have."""

Edges = NDArray[Any]

_DEFAULT_TYPES: dict[str, str] = {
    "number": "double",
    "integer": "int64",
    "category": "string",
    "boolean": "bool",
    "date": "date32[day]",
    "datetime": "timestamp[us]",
}
_EPOCH = dt.date(1970, 1, 1)
PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
"""How many units of time a second has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column: what its values can be, and how they are coded."""

    name: str  #: As the file has it
    kind: Kind
    """What the values are; one of {"number", "integer", "category", "boolean", "date", "datetime"}.
    """
    type: str = ""
    """The Arrow type of the column, which what comes out has again, like ``int32`` or
    ``timestamp[us, tz=UTC]``. By default the usual one of the kind.
    """
    range: tuple[Any, Any] | None = None
    """The smallest and the largest value there can be, both included: numbers, integers, or dates
    and times as ISO 8601 text. Needed for numbers, integers, dates and times.
    """
    bins: int | None = None
    """Into how many parts the range is cut; by default 32, or one for each value where an integer
    or a date has no more.
    """
    edges: tuple[Any, ...] | None = None
    """Where the parts begin, instead of ``bins``: ascending, inside the range."""
    decimals: int | None = None  #: How many decimals numbers have that come out
    values: tuple[Any, ...] = ()  #: All categories. Needed for categories.
    other: str | None = None  #: The category that stands for all that are not listed
    missing: bool = False  #: Whether values may be missing
    public: bool | str = True
    """Whether whoever wrote the schema says that all of this is public knowledge. A column that was
    drafted from private records needs a reason, such as "the form that people fill in".
    """
    drafted: bool = False
    """Whether the range or the categories were first read from the private records."""
    paid: bool = False
    """Whether they are found with noise when a release is made, which its guarantee pays for. Then
    ``values`` is not needed; ``range`` is not either, and where it is stated, the parts are found
    inside of it. All that is not stated needs a person's word no more.
    """
    cuts: Edges = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise refused("kind", "to be one of " + ", ".join(KINDS), self.kind)
        if not self.type:
            object.__setattr__(self, "type", _DEFAULT_TYPES[self.kind])
        _check_type(self.kind, self.arrow_type)
        self._check_keys()
        cuts = self._cuts() if self.is_ordered and self.range is not None else np.empty(0)
        object.__setattr__(self, "cuts", cuts)

    @property
    def arrow_type(self) -> Any:
        """The Arrow type of the column."""
        return arrow_type(self.type)

    @property
    def is_open(self) -> bool:
        """Whether the parts or categories are still to be found, with noise."""
        return self.paid and (self.edges is None if self.is_ordered else not self.values)

    @property
    def source(self) -> Source:
        """How what is stated of the column became known."""
        if isinstance(self.public, str):
            return "confirmed" if self.drafted else "stated"
        return "stated" if self.public and not self.drafted else "read"

    @property
    def is_ordered(self) -> bool:
        """Whether values have a range that is cut into parts."""
        return self.kind not in ("category", "boolean")

    @property
    def is_whole(self) -> bool:
        """Whether values are counted in whole steps: integers, days, and units of time."""
        return self.is_ordered and self.kind != "number"

    @property
    def categories(self) -> tuple[Any, ...]:
        """All categories in the order of their codes, the one for all others last."""
        if self.kind == "boolean":
            return (False, True)
        return self.values if self.other is None else (*self.values, self.other)

    @property
    def parts(self) -> int:
        """How many codes there are for values that are not missing."""
        return max(0, len(self.cuts) - 1) if self.is_ordered else len(self.categories)

    @property
    def codes(self) -> int:
        """How many codes there are; the last one is for missing values where there can be any."""
        return self.parts + int(self.missing)

    def as_table(self) -> dict[str, Any]:
        """Plain values for TOML and JSON, without what is as by default."""
        found: dict[str, Any] = {"name": self.name, "kind": self.kind, "type": self.type}
        for key in _STATED:
            given = getattr(self, key)
            if given != _KEYS[key].default:
                found[key] = list(map(_plain, given)) if isinstance(given, tuple) else given
        return found

    def steps_of(self, value: Any) -> Any:
        """A value of a range in the unit in which the column is coded."""
        match self.kind:
            case "number":
                return _finite(value)
            case "integer":
                return _whole(value)
            case "date":
                return (_date(value) - _EPOCH).days
        return _instant(value, self.arrow_type)

    @property
    def steps_of_day(self) -> int:
        """Units of a column of times that a day has."""
        return 86_400 * self.steps_of_second

    def value_of(self, step: Any) -> Any:
        """The value in the words of a schema, the other way round of :meth:`steps_of`."""
        if self.kind in ("number", "integer"):
            return step
        if self.kind == "date":
            return (_EPOCH + dt.timedelta(days=int(step))).isoformat()
        seconds, rest = divmod(int(step), self.steps_of_second)
        zone = None if self.arrow_type.tz is None else dt.UTC
        found = dt.datetime(1970, 1, 1, tzinfo=zone) + dt.timedelta(seconds=seconds)
        return (found + dt.timedelta(microseconds=rest * 10**6 // self.steps_of_second)).isoformat()

    @property
    def steps_of_second(self) -> int:
        """Units of a column of times that a second has."""
        return PER_SECOND[self.arrow_type.unit]

    def _check_keys(self) -> None:
        needs = {"category": "values", "boolean": None}.get(self.kind, "range")
        if self.paid and self.kind == "boolean":
            raise ValueError(
                "paid has no meaning for the kind 'boolean': there is nothing to find."
            )
        if self.paid and self.kind == "category" and not is_text(self.arrow_type):
            raise refused("type", "to be one of texts where categories are paid for", self.type)
        if isinstance(self.public, str) and not self.public.strip():
            raise refused("public", "to be true, false or a reason", self.public)
        if needs == "range" and self.range is None and not self.paid:
            raise ValueError("expected the key range, which is missing.")
        if needs == "values" and not self.values and not self.paid:
            raise ValueError("expected the key values, the list of all categories.")
        allowed = {"range": ("range", "bins", "edges"), "values": ("values", "other")}
        for key in ("range", "bins", "edges", "values", "other", "decimals"):
            given = getattr(self, key)
            fits = key in allowed.get(needs or "", ()) or (
                key == "decimals" and self.kind == "number"
            )
            if given is not None and given != () and not fits:
                raise ValueError(f"{key} has no meaning for the kind {self.kind!r}.")
        if self.bins is not None and self.edges is not None:
            raise ValueError("expected at most one of bins and edges.")
        if self.values:
            self._check_values()

    def _check_values(self) -> None:
        kinds = {type(value) for value in self.values}
        wanted = str if is_text(self.arrow_type) else int
        if kinds != {wanted}:
            what = "strings" if wanted is str else "integers"
            raise refused("values", f"to be {what}, as the type {self.type} has", list(self.values))
        if len(set(self.categories)) != len(self.categories):
            raise refused("values and other", "to be different", list(self.categories))
        if self.other is not None and wanted is not str:
            raise ValueError("other has no meaning where categories are integers.")
        if len(self.values) > MOST_CODES:
            raise refused("values", f"to be at most {MOST_CODES}", f"{len(self.values)} of them")

    def _cuts(self) -> Edges:
        """Where the parts begin, and behind the last one where the range ends."""
        assert self.range is not None
        low, high = (self.steps_of(value) for value in self.range)
        if not low < high and not (self.is_whole and low == high):
            raise refused("range", "to be two ascending values", list(self.range))
        ends = limits(self.arrow_type)
        if ends is not None and not (ends[0] <= low and high <= ends[1]):
            condition = f"to be in [{ends[0]}, {ends[1]}], as the type {self.type} is"
            raise refused("range", condition, list(self.range))
        end = high + 1 if self.is_whole else high
        if self.edges is not None:
            inner = [self.steps_of(value) for value in self.edges]
            inner = inner if inner and inner[0] == low else [low, *inner]
            cuts = inner if inner[-1] == high and not self.is_whole else [*inner, end]
            if any(not a < b for a, b in itertools.pairwise(cuts)):
                raise refused("edges", "to ascend inside the range", list(self.edges))
            return np.array(cuts, dtype=np.int64 if self.is_whole else np.float64)
        bins = BINS if self.bins is None else self.bins
        if not self.is_whole:
            return _spread(low, high, bins)
        bins = min(bins, end - low)
        # Integers of Python: the difference of two instants may be above 2^63 times a small bin.
        return np.array([low + (end - low) * i // bins for i in range(bins + 1)], dtype=np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """The columns of a table, in their order."""

    columns: tuple[Column, ...]  #: At least one, with different names

    def __post_init__(self) -> None:
        if not self.columns:
            raise ValueError("Expected a schema with at least one column.")
        if len(set(self.names)) != len(self.names):
            raise refused("columns", "to have different names", list(self.names))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(column.name for column in self.columns)

    @property
    def domain(self) -> tuple[int, ...]:
        """Number of codes of each column."""
        return tuple(column.codes for column in self.columns)

    @property
    def unconfirmed(self) -> tuple[str, ...]:
        """Columns of which nobody has said yet that what the schema states is public."""
        return tuple(column.name for column in self.columns if column.source == "read")

    def __getitem__(self, name: str) -> Column:
        """The column of this name."""
        for column in self.columns:
            if column.name == name:
                return column
        raise ValueError(
            f"Expected a column among {', '.join(self.names)}, got {name!r}."
            f"{did_you_mean(name, self.names)}"
        )

    def select(self, names: Iterable[str]) -> Schema:
        """Only these columns, in the order of the schema."""
        wanted = {self[name].name for name in names}
        return replace(self, columns=tuple(c for c in self.columns if c.name in wanted))

    def drop(self, names: Iterable[str]) -> Schema:
        """All columns but these."""
        unwanted = {self[name].name for name in names}
        return self.select(name for name in self.names if name not in unwanted)

    def confirmed(self, reasons: Mapping[str, str]) -> Schema:
        """The same, where each named column is public knowledge for the reason that is given."""
        for name in reasons:
            self[name]
        return replace(
            self,
            columns=tuple(replace(c, public=reasons.get(c.name, c.public)) for c in self.columns),
        )

    def as_table(self) -> dict[str, Any]:
        """Plain values, from which :meth:`from_table` makes the schema again."""
        return {"column": [column.as_table() for column in self.columns]}

    @classmethod
    def from_table(cls, table: Mapping[str, Any], *, where: str = "the schema") -> Schema:
        """The schema from plain values.

        Raises
        ------
        ValueError
            If a key is unknown or missing, or a value is not accepted. The message begins with
            ``where`` and names the column.
        """
        if set(table) != {"column"} or not isinstance(table["column"], list):
            raise ValueError(
                f"{where}: expected nothing but tables [[column]], got the keys {sorted(table)}."
            )
        return cls(columns=tuple(_column(where, i, one) for i, one in enumerate(table["column"])))

    def as_toml(self) -> str:
        """The schema as a TOML file."""
        import tomlkit  # noqa: PLC0415

        return tomlkit.dumps(self.as_table())


def load_schema(path: str | Path) -> Schema:
    """Read a schema from a TOML file.

    Raises
    ------
    ValueError
        If the file is no schema: one error with the file, the column, the key, the value and what
        is accepted.
    OSError
        If it cannot be read.
    """
    try:
        table = tomllib.loads(Path(path).read_bytes().decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: not a TOML file: {error}.") from None
    return Schema.from_table(table, where=str(path))


def _column(where: str, index: int, table: Any) -> Column:
    if not isinstance(table, Mapping):
        raise ValueError(f"{where}: {refused(f'column[{index}]', 'to be a table', table)}")
    name = table.get("name")
    place = f"{where}: column {name!r}" if isinstance(name, str) else f"{where}: column[{index}]"
    for key in ("name", "kind"):
        if key not in table:
            raise ValueError(f"{place}: expected the key {key}, which is missing.")
    try:
        return Column(**read_table(table, _KEYS))
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from None


def _listed(name: str, value: Any) -> tuple[Any, ...]:
    of_two = name == "range"
    if not isinstance(value, list) or not value or (of_two and len(value) != 2):
        raise refused(name, f"to be a list of {'two ' if of_two else ''}values", value)
    return tuple(value)


def _reason(name: str, value: Any) -> bool | str:
    if not isinstance(value, bool | str):
        raise refused(name, "to be true, false or a reason", value)
    return value


_LIST = ValueKind(_listed, {"type": "array"})
_REASON = ValueKind(_reason, {"type": ["boolean", "string"]})
_KEYS = {
    "name": Key(text(), "The column's name.", needed=True),
    "kind": Key(choice(KINDS), "What its values are.", needed=True),
    "type": Key(text(), "Its Arrow type.", default=""),
    "range": Key(_LIST, "The smallest and the largest value."),
    "bins": Key(optional(integer(1, MOST_CODES)), "Into how many parts the range is cut."),
    "edges": Key(_LIST, "Where the parts begin."),
    "decimals": Key(optional(integer(0, 15)), "Decimals of numbers that come out."),
    "values": Key(_LIST, "All categories.", default=()),
    "other": Key(optional(text()), "The category for all that are not listed."),
    "missing": Key(flag(), "Whether values may be missing.", default=False),
    "public": Key(_REASON, "Whether, or why, all of this is public knowledge.", default=True),
    "drafted": Key(flag(), "Whether it was first read from the private records.", default=False),
    "paid": Key(flag(), "Whether range or values are found with noise.", default=False),
}


# In the order in which schemas are written.
_STATED = ("range", "edges", "bins", "decimals", "other", "values", "missing", "drafted", "paid",
           "public")  # fmt: skip


def _check_type(kind: Kind, given: Any) -> None:
    plain = value_type(given)
    fits = {
        "number": is_real(given) or pa.types.is_integer(given),
        "integer": pa.types.is_integer(given) or pa.types.is_floating(given),
        "category": is_text(given) or pa.types.is_integer(plain),
        "boolean": pa.types.is_boolean(given),
        "date": pa.types.is_date(given),
        "datetime": pa.types.is_timestamp(given),
    }[kind]
    if not fits:
        raise refused("type", f"to be a type of the kind {kind!r}", str(given))


def _spread(low: float, high: float, bins: int) -> Edges:
    share = np.arange(bins + 1) / bins
    # Both products are finite where high - low is not.
    cuts = low * (1.0 - share) + high * share
    cuts[0], cuts[-1] = low, high
    if not np.all(np.diff(cuts) > 0.0):
        raise refused("bins", f"to be fewer: [{low:g}, {high:g}] has no {bins} parts", bins)
    return cuts


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, dt.date) else value


def _finite(value: Any) -> float:
    found = number().read("range", value)
    if not math.isfinite(found):
        raise refused("range", "to be finite numbers", value)
    return float(found)


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > 2**62:
        raise refused("range", "to be integers of at most 2^62", value)
    return value


def _date(value: Any) -> dt.date:
    try:
        if isinstance(value, str):
            return dt.date.fromisoformat(value)
    except ValueError:
        pass
    if isinstance(value, dt.datetime) or not isinstance(value, dt.date):
        raise refused("range", "to be dates, like 2020-12-31", value)
    return value


def _instant(value: Any, kind: Any) -> int:
    try:
        found = dt.datetime.fromisoformat(value) if isinstance(value, str) else value
    except ValueError:
        found = value
    if isinstance(found, dt.date) and not isinstance(found, dt.datetime):
        found = dt.datetime(found.year, found.month, found.day)
    if not isinstance(found, dt.datetime):
        raise refused("range", "to be times, like 2020-12-31T23:59:59", value)
    if (found.tzinfo is None) != (kind.tz is None):
        given = "without a time zone" if kind.tz is None else "with a time zone, like +00:00"
        raise refused("range", f"to be times {given}, as the type has", value)
    zero = dt.datetime(1970, 1, 1, tzinfo=None if found.tzinfo is None else dt.UTC)
    apart = found - zero
    seconds = apart.days * 86_400 + apart.seconds
    per_second = PER_SECOND[kind.unit]
    return seconds * per_second + apart.microseconds * per_second // 10**6
