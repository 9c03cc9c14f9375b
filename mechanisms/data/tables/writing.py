"""Tables to files: CSV, Parquet or Arrow by the ending, there as a whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from pyarrow import csv, feather, parquet

from rdpkit.formats.files import whole_file
from rdpkit.mechanisms.data.tables.reading import format_of


def write(table: pa.Table, path: str | Path) -> None:
    """Write a table under a temporary name and move it.

    In CSV all texts stand in quotes, so that an empty text is told from a missing value, and
    :func:`rdpkit.mechanisms.data.tables.reading.read` gets the same values again.

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
