"""Records as columns of numbers and categories: the one form in which all measures see them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rdpkit import _validate
from rdpkit.mechanisms.data.tables.encoding import read_values
from rdpkit.mechanisms.data.tables.schema import Schema

Kind = Literal["number", "category"]
Image = tuple[int, int, int]
"""Channels, height and width."""

_LARGEST = 1e150  # Its square is finite
FEW = 12
"""Whole numbers with at most so many different values in a release are read as categories."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SampleColumn:
    """One column of a table."""

    name: str  # Its name
    kind: Kind  # What it holds; one of {"number", "category"}
    values: NDArray[Any]
    """Floats, NaN where one is missing; or texts, None where one is missing; shape (n,)."""
    unit: str = ""
    """Of numbers that are dates or times: days or parts of a second since 1970; one of {"", "D",
    "s", "ms", "us", "ns"}.
    """

    def shown(self, value: float) -> str:
        """A number of the column for people: a date where it is one."""
        if not self.unit:
            return f"{value:.6g}"
        whole: Any = np.array(int(value), dtype=f"datetime64[{self.unit}]")
        return str(whole if self.unit == "D" else whole.astype("datetime64[s]"))

    @property
    def missing(self) -> NDArray[np.bool_]:
        """For each record, whether its value is missing."""
        if self.kind == "number":
            return np.asarray(np.isnan(self.values), np.bool_)
        return np.fromiter((v is None for v in self.values), np.bool_, len(self.values))

    def taken(self, rows: NDArray[Any]) -> SampleColumn:
        """The column of some of the records."""
        return replace(self, values=self.values[rows])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sample:
    """Records."""

    columns: tuple[SampleColumn, ...]  # All of one length, with different names
    image: Image | None = None
    """Channels, height and width, if all columns but the last are pixels of images."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all columns."""
        return tuple(column.name for column in self.columns)

    @property
    def rows(self) -> int:
        """The number of records."""
        return len(self.columns[0].values)

    def column(self, name: str) -> SampleColumn:
        """The column of that name."""
        for column in self.columns:
            if column.name == name:
                return column
        raise _validate.no_such("the column", name, self.names)

    def taken(self, rows: NDArray[Any]) -> Sample:
        """Some of the records."""
        return Sample(columns=tuple(c.taken(rows) for c in self.columns), image=self.image)

    def without(self, name: str) -> Sample:
        """The records without one column."""
        return Sample(columns=tuple(c for c in self.columns if c.name != name), image=self.image)

    def pixels(self) -> NDArray[np.float64]:
        """All columns of numbers, shape (n, d)."""
        return np.column_stack([c.values for c in self.columns if c.kind == "number"])


def joined(*samples: Sample) -> Sample:
    """The records of several samples with the same columns, one after the other."""
    first = samples[0]
    columns = tuple(
        replace(c, values=np.concatenate([s.columns[i].values for s in samples]))
        for i, c in enumerate(first.columns)
    )
    return Sample(columns=columns, image=first.image)


def some_rows(sample: Sample, most: int, rng: np.random.Generator) -> Sample:
    """At most so many records, chosen at random."""
    if sample.rows <= most:
        return sample
    return sample.taken(np.sort(rng.choice(sample.rows, most, replace=False)))


def of_arrays(features: NDArray[Any], labels: NDArray[Any], *, image: Image | None) -> Sample:
    """Arrays of features and labels as columns; soft labels become the likeliest one."""
    flat = np.asarray(features, np.float64).reshape(len(features), -1)
    hard = labels if labels.ndim == 1 else labels.argmax(axis=1)
    pixels = tuple(
        SampleColumn(name=f"x{i}", kind="number", values=flat[:, i]) for i in range(flat.shape[1])
    )
    texts = np.array([str(int(label)) for label in hard], dtype=object)
    return Sample(
        columns=(*pixels, SampleColumn(name="label", kind="category", values=texts)), image=image
    )


def kinds_of(table: Any) -> dict[str, Kind]:
    """What the columns of an arrow table hold, judged by types and by how many values there are.

    Whole numbers with few different values, texts and truth values are categories. This is asked
    of the release alone, so that the answer says nothing about the private data.
    """
    found: dict[str, Kind] = {}
    for name in table.column_names:
        kind = table.schema.field(name).type
        whole = pa.types.is_integer(kind)
        texts = (pa.types.is_string, pa.types.is_large_string, pa.types.is_boolean)
        few = whole and pc.count_distinct(table.column(name)).as_py() <= FEW
        category = few or pa.types.is_dictionary(kind) or any(is_one(kind) for is_one in texts)
        found[name] = "category" if category or pa.types.is_null(kind) else "number"
    return found


def of_table(
    table: Any,  # With all columns that ``kinds`` names; others are left out
    kinds: Mapping[str, Kind],  # What each column holds
    *,
    where: str,  # What the table is called in errors
) -> Sample:
    """The columns of an arrow table, read as the kinds say."""
    _lacks_none(table, kinds, where)
    columns = tuple(
        SampleColumn(
            name=name,
            kind=kind,
            values=_values(table.column(name), name, kind, where),
            unit=_unit(table.column(name).type) if kind == "number" else "",
        )
        for name, kind in kinds.items()
    )
    return Sample(columns=columns)


def of_schema(
    table: Any,  # With all columns of the schema; others are left out
    schema: Schema,  # What is publicly known of them
    *,
    where: str,  # What the table is called in errors
) -> Sample:
    """The columns of a schema, read as it says. A value that cannot be read is missing."""
    _lacks_none(table, schema.names, where)
    return Sample(
        columns=tuple(
            SampleColumn(
                name=one.name,
                kind="number" if one.is_ordered else "category",
                values=_bounded(read_values(table.column(one.name), one)),
                unit=_unit(one.arrow_type),
            )
            for one in schema.columns
        )
    )


def _lacks_none(table: Any, names: Iterable[str], where: str) -> None:
    lacking = [name for name in names if name not in table.column_names]
    if lacking:
        raise ValueError(
            f"Expected {where} to have the column {lacking[0]!r}, as the release has, got "
            f"{', '.join(map(repr, table.column_names[:20]))}."
        )
    if not table.num_rows:
        raise ValueError(f"Expected {where} to have records and columns, got none.")


def _unit(kind: Any) -> str:
    if pa.types.is_date(kind):
        return "D"
    return str(kind.unit) if pa.types.is_timestamp(kind) else ""


def _values(column: Any, name: str, kind: Kind, where: str) -> NDArray[Any]:
    if kind == "category":
        return np.array([_text(value) for value in column.to_pylist()], dtype=object)
    stated = column.type
    try:
        if pa.types.is_temporal(stated):
            column = column.cast(pa.date32() if pa.types.is_date(stated) else pa.int64())
            column = column.cast(pa.int32()) if pa.types.is_date(stated) else column
        whole = pa.types.is_integer(column.type)
        cast = column.cast(pa.float64(), safe=not whole)
        numbers = cast.to_numpy(zero_copy_only=False)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise ValueError(
            f"Expected the column {name!r} of {where} to hold numbers or dates, as that of the "
            f"release does, got {stated}."
        ) from None
    return _bounded(np.array(numbers, dtype=np.float64))


def _bounded(values: NDArray[Any]) -> NDArray[Any]:
    """Numbers whose squares can be summed; infinite ones are missing."""
    if values.dtype.kind != "f":
        return values
    finite = np.where(np.isfinite(values), values, np.nan)
    return np.asarray(np.clip(finite, -_LARGEST, _LARGEST))


def _text(value: Any) -> str | None:
    """A value of a category as a text: 3 and 3.0 are the same."""
    if value is None or value != value:  # noqa: PLR0124 - NaN
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def same_columns(samples: Sequence[tuple[str, Sample]]) -> None:
    """Refuse samples of arrays that have different numbers of columns."""
    where, first = samples[0]
    for name, sample in samples[1:]:
        if sample.names != first.names:
            raise ValueError(
                f"Expected {name} to have {len(first.names) - 1} numbers and a label, as "
                f"{where} has, got {len(sample.names) - 1}. A release that holds no records, but a "
                "classifier or statistics, is read by rdpkit evaluate EXPERIMENT --release."
            )


# Columns as a matrix of numbers, in the units of the records that a model is trained on.

Matrix = NDArray[np.float64]

_MOST_CATEGORIES = 50  # Rarer ones have no column of their own
_FARTHEST = 8.0  # In deviations; outliers are cut there


def encoder_of(sample: Sample) -> Callable[[Sample], Matrix]:
    """What turns records into rows of numbers, shape (n, d), in the units of a sample.

    A number is centred and divided by its standard deviation; beside it stands whether it is
    missing, where some were missing in training. A category has a coordinate for each of its
    values. Everything comes from the sample.
    """
    columns = [(column.name, _how(column)) for column in sample.columns]

    def encode(records: Sample) -> Matrix:
        parts = [_encoded(records.column(name), how) for name, how in columns]
        return np.concatenate(parts, axis=1) if parts else np.zeros((records.rows, 0))

    return encode


def _how(column: SampleColumn) -> tuple[str, ...] | tuple[float, float, bool]:
    if column.kind == "category":
        counts = Counter(v for v in column.values if v is not None)
        often = sorted(counts, key=lambda v: (-counts[v], v))[:_MOST_CATEGORIES]
        return tuple(sorted(often))
    missing = column.missing
    known = column.values[~missing]
    if not known.size:
        return 0.0, 1.0, True
    spread = float(known.std())
    return float(known.mean()), spread if spread > 0.0 else 1.0, bool(missing.any())


def _encoded(column: SampleColumn, how: tuple[str, ...] | tuple[float, float, bool]) -> Matrix:
    if column.kind == "category" and not how:
        return np.zeros((len(column.values), 1))
    if column.kind == "category":
        places = {value: i for i, value in enumerate(how)}
        codes = np.fromiter((places.get(v, -1) for v in column.values), np.int64)
        return np.asarray(codes[:, None] == np.arange(len(how))[None, :], np.float64)
    centre, spread, flagged = how
    missing = column.missing
    values = np.clip((column.values - float(centre)) / float(spread), -_FARTHEST, _FARTHEST)
    values[missing] = 0.0
    return np.column_stack([values, missing.astype(np.float64)]) if flagged else values[:, None]
