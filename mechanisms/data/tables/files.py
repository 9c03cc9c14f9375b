"""Tables from files and data frames: CSV, Parquet, Arrow, pandas, polars. Nothing runs code.

No record is a reason to refuse a table, and no error quotes one: errors say what is wrong with the
file, without names of its columns, because the first record may stand where names should be.
"""

from __future__ import annotations

import codecs
import csv as python_csv
import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv, feather, parquet

from rdpkit.formats.files import whole_file
from rdpkit.formats.numbers import how_many
from rdpkit.formats.records import did_you_mean, shown
from rdpkit.mechanisms.data.tables.schema import Schema

FORMATS: Mapping[str, str] = {
    ".csv": "csv",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
}
"""Formats of tables by the endings of files."""


_ANY_LINE = r"[^\r\n]*+(?:\r\n?|\n|\Z)"
_LINE = re.compile(r"[^\r\n]*+")
_DELIMITERS = (",", ";", "\t", "|")
_MISSING = pa.array(["NA", "N/A", "n/a", "nan", "NaN", "null", "NULL", "None", "-", "?", "."])
_GUESSES = (
    pa.int64(),
    pa.float64(),
    pa.bool_(),
    pa.date32(),
    pa.timestamp("s"),
    pa.timestamp("us"),
    pa.timestamp("us", tz="UTC"),
)


def format_of(path: str | Path) -> str:
    """The format that a file's ending stands for."""
    suffix = Path(path).suffix.lower()
    if suffix not in FORMATS:
        raise ValueError(
            f"Expected {path} to end in {', '.join(FORMATS)}, got {suffix!r}."
            f"{did_you_mean(suffix, FORMATS)}"
        )
    return FORMATS[suffix]


def read(source: Any, *, schema: Schema | None = None) -> pa.Table:
    """A table from a file or a data frame.

    Parameters
    ----------
    source : Path, pyarrow.Table, or data frame
        A file that ends in .csv, .parquet, .arrow or .feather; or anything that gives out Arrow
        data (``__arrow_c_stream__``), such as frames of pandas and polars.
    schema : Schema, optional
        If it is given, cells of a CSV file are read as text, so that no cell can be refused because
        of what its neighbours are: :func:`rdpkit.mechanisms.data.tables.encoding.encode` reads
        them.
        Otherwise their types are guessed.

    Returns
    -------
    pyarrow.Table
        All columns. An empty cell of a CSV file is missing; "" in quotes is an empty text. A line
        of a CSV file with more or fewer cells than the header is left out, and bytes that are no
        UTF-8 become the sign for such. Cells are separated by commas, semicolons, tabs or bars,
        whichever gives the header most cells.

    Raises
    ------
    ValueError
        If it is no such table; the message names the file.
    OSError
        If the file cannot be read.
    """
    if isinstance(source, str | Path):
        found = _from_file(Path(source), as_text=schema is not None)
        where = str(source)
    else:
        found, where = _from_frame(source), "the table"
    twice = len(found.column_names) - len(set(found.column_names))
    if twice:
        raise ValueError(
            f"{where}: expected each column to be named once, and {how_many(twice, 'name')} "
            "came again."
        )
    return found


def _from_file(path: Path, *, as_text: bool) -> pa.Table:
    kind = format_of(path)
    if not path.is_file():
        raise FileNotFoundError(f"{path}: there is no such file.")
    readers: dict[str, Callable[[Path], pa.Table]] = {
        "csv": partial(_from_csv, guessing=not as_text),
        "parquet": lambda path: _without_index(parquet.read_table(path)),
        "arrow": lambda path: _with_plain_texts(feather.read_table(path)),
    }
    found = _table_or_nothing(readers[kind], path)
    if found is None:
        raise ValueError(f"{path}: this is no table in {kind}, or the file is damaged.")
    return found if as_text or kind != "csv" else _with_types(found)


def _table_or_nothing(reader: Callable[[Path], pa.Table], path: Path) -> pa.Table | None:
    """The table; None where Arrow refuses the file in words that may quote what is in it."""
    try:
        return reader(path)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError, pa.ArrowKeyError):
        return None
    except OSError as error:
        # Arrow's own, about the content; those of the system have a number.
        if error.errno is None:
            return None
        raise


def _from_csv(path: Path, *, guessing: bool) -> pa.Table:
    """All cells as text. Each line is read by itself: none decides how another one is read."""
    content = path.read_bytes()
    if content[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        raise ValueError(f"{path}: expected text in UTF-8, got UTF-16.")
    text = content.decode("utf-8-sig", errors="replace").lstrip("\r\n")
    header = _LINE.match(text)[0]  # type: ignore[index]  # it matches every text
    delimiter = _delimiter(header)
    content = _well_formed(text, delimiter).encode()
    # Texts may hold line breaks, and in a table of one column an empty line is a missing value.
    ragged: list[int] = []

    def skipped(row: Any) -> str:
        ragged.append(1)
        return "skip"

    parsing = csv.ParseOptions(
        newlines_in_values=True,
        delimiter=delimiter,
        invalid_row_handler=skipped,
    )
    empty = csv.read_csv(pa.BufferReader(header.encode() + b"\n"), parse_options=parsing)
    names = empty.column_names
    if len(set(names)) < len(names):
        return empty
    parsing.ignore_empty_lines = len(names) > 1
    options = csv.ConvertOptions(
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
        null_values=[""],
        column_types={name: pa.string() for name in names},
    )
    # A record may be as long as the file.
    size = csv.ReadOptions(block_size=max(1 << 20, min(len(content) + 1, 2**31 - 1)))
    found = csv.read_csv(
        pa.BufferReader(content), read_options=size, parse_options=parsing, convert_options=options
    )
    if guessing and len(ragged) > found.num_rows:
        raise ValueError(
            f"{path}: expected a header that names the columns; most lines have more or fewer "
            "cells than the first one."
        )
    return found


def _delimiter(header: str) -> str:
    """What separates the cells of the header: the sign that makes most of them."""
    return max(_DELIMITERS, key=lambda sign: len(next(python_csv.reader([header], delimiter=sign))))


def _well_formed(text: str, delimiter: str) -> str:
    """The text without lines in which a quote opens that does not close before a cell ends.

    Such a line would take all lines up to the next quote for a part of its cell.
    """
    if '"' not in text:
        return text
    plain = rf'[^"\r\n{re.escape(delimiter)}][^\r\n{re.escape(delimiter)}]*+'
    cell = rf'(?>"[^"]*+(?:""[^"]*+)*+"|{plain}|)'
    records = re.compile(rf"({cell}(?:{re.escape(delimiter)}{cell})*+(?:\r\n?|\n|\Z))|{_ANY_LINE}")
    return "".join(found[1] for found in records.finditer(text) if found[1] is not None)


def _with_types(table: pa.Table) -> pa.Table:
    """Columns of texts with the first type that all their cells have."""
    for index, name in enumerate(table.column_names):
        texts = table.column(index)
        if not pa.types.is_string(texts.type):
            continue
        # Digits behind a zero are those of a code, and signs for what is missing are no category.
        if pc.any(pc.match_substring_regex(texts, "^0[0-9]")).as_py():
            continue
        known = pc.if_else(pc.is_in(texts, value_set=_MISSING), pa.scalar(None, pa.string()), texts)
        for kind in _GUESSES:
            try:
                # A cast that fails is slow, and most fail at once.
                known.slice(0, 100).cast(kind)
                column = known.cast(kind)
            except pa.ArrowInvalid:
                continue
            if column.null_count < len(column):
                table = table.set_column(index, name, column)
            break
    return table


def _from_frame(source: Any) -> pa.Table:
    if isinstance(source, pa.Table):
        return _with_plain_texts(source)
    if isinstance(source, pa.RecordBatch):
        return _with_plain_texts(pa.Table.from_batches([source]))
    if hasattr(source, "__arrow_c_stream__"):
        found = pa.table(source)
    elif type(source).__module__.split(".")[0] == "pandas":
        found = pa.Table.from_pandas(source, preserve_index=False)
    else:
        raise ValueError(
            "Expected source to be a file, a pyarrow.Table, or a data frame that gives out Arrow "
            f"data, got {shown(source)}."
        )
    return _without_index(found)


def _without_index(table: pa.Table) -> pa.Table:
    """The columns alone: an index of pandas without a name is none of them."""
    metadata = table.schema.pandas_metadata or {}
    index = [one for one in metadata.get("index_columns", []) if isinstance(one, str)]
    unnamed = [one for one in index if one.startswith("__index_level_")]
    found = table.drop_columns([one for one in unnamed if one in table.column_names])
    return _with_plain_texts(found.replace_schema_metadata(None))


def _with_plain_texts(table: pa.Table) -> pa.Table:
    """The same values, where texts of polars (views) are texts as all formats have them."""
    for index, field in enumerate(table.schema):
        if pa.types.is_string_view(field.type):
            plain = table[field.name].cast(pa.string())
        elif pa.types.is_dictionary(field.type) and pa.types.is_string_view(field.type.value_type):
            kind = pa.dictionary(field.type.index_type, pa.string(), ordered=field.type.ordered)
            chunks = [
                pa.DictionaryArray.from_arrays(
                    chunk.indices, chunk.dictionary.cast(pa.string()), ordered=field.type.ordered
                )
                for chunk in table[field.name].chunks
            ]
            plain = pa.chunked_array(chunks, type=kind)
        else:
            continue
        table = table.set_column(index, pa.field(field.name, plain.type), plain)
    return table


# Tables to files: CSV, Parquet or Arrow by the ending, there as a whole or not at all.


def write(table: pa.Table, path: str | Path) -> None:
    """Write a table under a temporary name and move it.

    In CSV all texts stand in quotes, so that an empty text is told from a missing value, and
    :func:`rdpkit.mechanisms.data.tables.files.read` gets the same values again.

    Parameters
    ----------
    table : pyarrow.Table
        The table.
    path : str or Path
        Its ending says the format: .csv, .parquet, .arrow or .feather.

    Raises
    ------
    ValueError
        If the ending is another one.
    OSError
        If the file cannot be written.
    """
    target = Path(path)
    kind = format_of(target)
    with whole_file(target) as temporary:
        if kind == "csv":
            csv.write_csv(_without_dictionaries(table), temporary)
        elif kind == "parquet":
            parquet.write_table(table, temporary)
        else:
            feather.write_feather(table, str(temporary), compression="uncompressed")


def _without_dictionaries(table: pa.Table) -> pa.Table:
    """The same values, as CSV has no dictionaries."""
    plain = [
        pa.field(field.name, field.type.value_type) if pa.types.is_dictionary(field.type) else field
        for field in table.schema
    ]
    return table.cast(pa.schema(plain))
