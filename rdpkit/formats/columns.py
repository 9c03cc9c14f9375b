"""Columns of results, read from CSV or Parquet files and written to either, or as LaTeX."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from rdpkit.extensions import install_line
from rdpkit.formats.files import write_whole

SUFFIXES = (".csv", ".parquet")

_OF_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{one: "\\" + one for one in "&%$#_{}"},
}

Columns = Mapping[str, Sequence[Any]]


def check_suffix(path: Path) -> str:
    """The file's ending, one of :data:`SUFFIXES`."""
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise ValueError(f"Expected {path} to end in {' or '.join(SUFFIXES)}, got {suffix!r}.")
    if suffix == ".parquet":
        _pyarrow()
    return suffix


def write(path: Path, columns: Columns) -> None:
    """Write columns of equal length; None is an empty cell."""
    if check_suffix(path) == ".csv":
        write_whole(path, as_csv(columns).encode())
        return
    arrow = _pyarrow()
    from pyarrow import parquet  # noqa: PLC0415

    buffer = io.BytesIO()
    parquet.write_table(arrow.table(dict(columns)), buffer)
    write_whole(path, buffer.getvalue())


def as_csv(columns: Columns) -> str:
    """CSV in which every float reads back as itself."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for row in zip(*columns.values(), strict=True):
        writer.writerow(["" if value is None else value for value in row])
    return text.getvalue()


def as_tex(
    columns: Columns,  # The cells, by their headings
    alignment: str,  # A letter a column: l, r or c
) -> str:
    """A ``tabular`` of texts, without packages beyond LaTeX's own."""
    # Braces, because a row that begins with [ or * would be an option of the one before it.
    head, *lines = (
        "{}" + " & ".join(map(_latex, row)) + r" \\"
        for row in (tuple(columns), *zip(*columns.values(), strict=True))
    )
    return "\n".join([
        rf"\begin{{tabular}}{{{alignment}}}", r"\hline", head, r"\hline", *lines, r"\hline",
        r"\end{tabular}", "",
    ])  # fmt: skip


def _latex(text: str) -> str:
    return re.sub(r"[\\~^&%$#_{}]", lambda found: _OF_LATEX[found[0]], text)


def read(path: Path) -> dict[str, list[Any]]:
    """Read columns; cells of a CSV file become integers or numbers where they are."""
    if check_suffix(path) == ".parquet":
        arrow = _pyarrow()
        from pyarrow import parquet  # noqa: PLC0415

        try:
            return {k: list(v) for k, v in parquet.read_table(path).to_pydict().items()}
        except arrow.ArrowException as error:
            raise ValueError(f"{path}: not a Parquet file: {error}") from None
    try:
        with open(path, newline="", encoding="utf-8") as file:
            rows = list(csv.reader(file, strict=True))
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{path}: not a CSV file: {error}") from None
    if not rows:
        raise ValueError(f"{path}: expected a first line with the names of the columns.")
    names = [name.strip() for name in rows[0]]
    if len(set(names)) < len(names):
        raise ValueError(f"{path}: expected each column to be named once, got {names}.")
    filled = [(number, row) for number, row in enumerate(rows[1:], start=2) if row]
    for number, row in filled:
        if len(row) != len(names):
            raise ValueError(f"{path}, line {number}: expected {len(names)} cells, got {len(row)}.")
    return {
        name: [_value(row[column].strip()) for _, row in filled]
        for column, name in enumerate(names)
    }


def _value(cell: str) -> int | float | str | None:
    for kind in (int, float):
        try:
            found = kind(cell)
        except ValueError:
            continue
        if kind is int or not math.isnan(found):
            return found
    return cell or None


def optional_library(
    module: str,
    caller: str,  # What needs it, for the error
    extra: str = "",  # The extra that installs it; empty if none does
) -> Any:
    """A library that only some people need, imported now."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        install = install_line(extra) if extra else f"pip install {module}"
        raise ModuleNotFoundError(f"{caller} needs {module}: {install}", name=module) from None


def _pyarrow() -> Any:
    try:
        import pyarrow  # noqa: PLC0415
    except ImportError:
        raise ValueError(
            f"Parquet needs pyarrow: {install_line('sweeps')}; or name a file that ends in .csv."
        ) from None
    return pyarrow
