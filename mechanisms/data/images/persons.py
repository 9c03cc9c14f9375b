"""Whose each image is: by a column, by the names of files, or by a list of files."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

_NOBODY = ("", "None", "nan")  # What stands where a record is nobody's


def numbers_of_persons(names: Iterable[Any]) -> NDArray[np.int64]:
    """A number for each name, the same for the same one; -1 where there is none."""
    texts = [str(name).strip() for name in names]
    known = {text: number for number, text in enumerate(dict.fromkeys(texts))}
    known |= dict.fromkeys(_NOBODY, -1)
    return np.array([known[text] for text in texts], np.int64)


def rule_of_files(rule: str) -> Callable[[str], str | None]:
    """Whose a file is, by its path inside of the folder of all classes.

    The rule is a CSV file with the columns file and person, or a regular expression with one group,
    which is looked for in the path.
    """
    if rule.lower().endswith(".csv"):
        return _listed(Path(rule)).get
    try:
        pattern = re.compile(rule)
    except re.error as error:
        raise ValueError(f"Expected person to be a regular expression: {error}.") from None
    if pattern.groups != 1:
        raise ValueError(f"Expected person to be a .csv file, or to have one group, got {rule!r}.")
    return lambda path: found[1] if (found := pattern.search(path)) else None


def _listed(path: Path) -> dict[str, str]:
    try:
        with path.open(newline="", encoding="utf-8-sig", errors="replace") as file:
            rows = list(csv.reader(file))
    except csv.Error:
        rows = []
    if not rows or rows[0] != ["file", "person"] or any(len(row) != 2 for row in rows):
        raise ValueError(f"{path}: expected rows of file and person, and first these two words.")
    return {file.strip(): person for file, person in rows}
