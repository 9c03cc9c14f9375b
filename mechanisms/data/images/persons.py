"""Whose each image is: by a column, by the names of files, or by a list of files."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Whose = Callable[[str], str | None]


def numbers_of_persons(names: Iterable[Any]) -> NDArray[np.int64]:
    """A number for each name, the same for the same one; -1 where there is none."""
    known: dict[str, int] = {}
    found = []
    for name in names:
        text = "" if name is None or name != name else str(name).strip()  # noqa: PLR0124 (NaN)
        found.append(known.setdefault(text, len(known)) if text else -1)
    return np.array(found, dtype=np.int64)


def rule_of_files(rule: str) -> Whose:
    """Whose a file is, by its path inside of the folder of all classes.

    Parameters
    ----------
    rule : str
        A CSV file with the columns file and person, or a regular expression with one group, which
        is looked for in the path.

    Raises
    ------
    ValueError
        If it is neither. What the list says is not quoted.
    OSError
        If the list cannot be read.
    """
    if rule.lower().endswith(".csv"):
        return _listed(Path(rule)).get
    try:
        pattern = re.compile(rule)
    except re.error as error:
        raise ValueError(f"Expected person to be a regular expression, got {error}.") from None
    if pattern.groups != 1:
        raise ValueError(
            "Expected person to be a CSV file, or a regular expression with one group in "
            f"parentheses, got {rule!r}."
        )

    def whose(path: str) -> str | None:
        found = pattern.search(path)
        return None if found is None else found[1]

    return whose


def _listed(path: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    with path.open(newline="", encoding="utf-8-sig", errors="replace") as file:
        try:
            rows = list(csv.reader(file))
        except csv.Error:
            raise ValueError(f"{path}: expected lines of a file and a person.") from None
    if not rows or [name.strip() for name in rows[0]] != ["file", "person"]:
        raise ValueError(f"{path}: expected the first line to be file,person.")
    for number, row in enumerate(rows[1:], 2):
        if len(row) != len(rows[0]):
            raise ValueError(f"{path}: expected a file and a person in row {number}.")
        if found.setdefault(row[0].strip(), row[1]) != row[1]:
            raise ValueError(f"{path}: expected each file once, and not again in row {number}.")
    return found
