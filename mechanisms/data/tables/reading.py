"""Tables from files and data frames: CSV, Parquet, Arrow, pandas, polars. Nothing runs code."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import csv, feather, parquet

from rdpkit.formats.records import did_you_mean, shown
from rdpkit.mechanisms.data.tables.schema import Schema

FORMATS: Mapping[str, str] = {
    ".csv": "csv",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
}
"""Formats of tables by the endings of files."""


def format_of(path: str | Path) -> str:
    """The format that a file's ending stands for.

    Raises
    ------
    ValueError
        If it is none of :data:`FORMATS`.
    """
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
    source : path, pyarrow.Table, or data frame
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
        All columns. An empty cell of a CSV file is missing; "" in quotes is an empty text.

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
    names = found.column_names
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"{where}: expected each column to be named once, got {twice} twice.")
    return found


def _from_file(path: Path, *, as_text: bool) -> pa.Table:
    kind = format_of(path)
    if not path.is_file():
        raise FileNotFoundError(f"{path}: there is no such file.")
    try:
        if kind == "csv":
            return _from_csv(path, as_text=as_text)
        if kind == "parquet":
            return _without_index(parquet.read_table(path))
        return _with_plain_texts(feather.read_table(path))
    except UnicodeDecodeError:
        raise ValueError(f"{path}: expected text in UTF-8, got bytes that are none.") from None
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        first = str(error).splitlines()[0][:300]
        raise ValueError(f"{path}: not a table in {kind}: {first}") from None


def _from_csv(path: Path, *, as_text: bool) -> pa.Table:
    # Texts may hold line breaks, and in a table of one column an empty line is a missing value.
    parsing = csv.ParseOptions(newlines_in_values=True)
    with csv.open_csv(path, parse_options=parsing) as first:
        names = first.schema.names
    parsing.ignore_empty_lines = len(names) > 1
    types = {name: pa.string() for name in names} if as_text else None
    options = csv.ConvertOptions(
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
        null_values=[""],
        column_types=types,
    )
    return csv.read_csv(path, parse_options=parsing, convert_options=options)


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


__all__ = ["FORMATS", "format_of", "read"]
