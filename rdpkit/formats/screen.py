"""Tables and paragraphs for a screen of any width, in which no number is ever cut."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections.abc import Collection, Iterable, Sequence

WIDEST = 100
"""Paragraphs in wider windows are no easier to read."""


def screen_width() -> int | None:
    """The width of the window, or what the environment says; None in a pipe, which has none."""
    if sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdecimal():
        return shutil.get_terminal_size().columns
    return None


def entry(name: str, text: str, column: int) -> list[str]:
    """A name, and a text from that column on, wrapped into the screen."""
    width = min(screen_width() or WIDEST, WIDEST) - column
    parts = textwrap.wrap(text, max(width, 20), break_long_words=False, break_on_hyphens=False)
    return [f"{name if i == 0 else '':{column}}{line}" for i, line in enumerate(parts)]


def aligned(
    headings: Sequence[str],  # One a column
    rows: Iterable[Sequence[str]],  # The cells
    *,
    # The headings of columns of text; numbers end where their column does.
    left: Collection[str] = (),
) -> list[str]:
    """A table with aligned columns, or where that is too wide a line for each of its cells."""
    cells = [tuple(headings), *map(tuple, rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    limit = screen_width()
    if limit is not None and sum(widths) + 2 * (len(widths) - 1) > limit:
        longest = max(map(len, headings))
        records = [
            [f"{name:{longest}}  {cell}" for name, cell in zip(headings, row, strict=True) if cell]
            for row in cells[1:]
        ]
        return [line for record in records for line in (*record, "")][:-1]
    return [
        "  ".join(
            cell.ljust(width) if name in left else cell.rjust(width)
            for name, cell, width in zip(headings, row, widths, strict=True)
        ).rstrip()
        for row in cells
    ]
