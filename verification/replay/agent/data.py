"""Data sets as targets get them, made of plain values."""

from __future__ import annotations

import copy
from typing import Any, Dict, List, Optional

import numpy as np


class ExaminedData:
    """Records, as ``features`` and ``labels``, as a table, and as a frame.

    Parameters
    ----------
    columns : dict of list
        The values of every column, all of the same length. Columns of numbers are the features;
        a column ``label`` holds the labels.
    numbers : list of str
        The columns of numbers.
    """

    def __init__(self, columns: Dict[str, List[Any]], numbers: List[str]) -> None:
        self._columns = copy.deepcopy(columns)
        self._numbers = numbers
        self.table = self._columns

    def __len__(self) -> int:
        return len(next(iter(self._columns.values()), []))

    def first(self, count: int, then: Optional[ExaminedData] = None) -> ExaminedData:
        """The first records, and those at further places of another data set, if there is one."""
        rest = {} if then is None else then.table
        columns = {
            name: values[:count] + rest.get(name, [])[count:]
            for name, values in self._columns.items()
        }
        return ExaminedData(columns, self._numbers)

    @property
    def dimension(self) -> int:
        """How many features a record has."""
        return int(self.features.shape[1])

    @property
    def features(self) -> np.ndarray:
        """The columns of numbers, shape (records, columns); a missing value is NaN."""
        found = [
            [float("nan") if one is None else float(one) for one in values]
            for name, values in self._columns.items()
            if name in self._numbers
        ]
        return np.array(found, dtype=float).reshape(len(found), len(self)).T.copy()

    @property
    def labels(self) -> np.ndarray:
        """The column ``label``, or zeros."""
        values = self._columns.get("label", [0] * len(self))
        return np.array(values, dtype=None if values else int)

    @property
    def frame(self) -> Any:
        """The table as a pandas data frame."""
        import pandas  # noqa: PLC0415 - only targets that ask for a frame need it

        return pandas.DataFrame(self._columns)
