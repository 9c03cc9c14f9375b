"""Data sets as targets get them, made of plain values."""

from __future__ import annotations

import copy
from typing import Any, Dict, List, Optional

import numpy as np


class ExaminedData:
    """Records, as ``features`` and ``labels``, as a table, and as a frame."""

    def __init__(self, columns: Dict[str, List[Any]], numbers: List[str]) -> None:
        self.table = copy.deepcopy(columns)
        self._numbers = numbers  # The columns that are the features

    def __len__(self) -> int:
        return len(next(iter(self.table.values()), []))

    def first(self, count: int, then: Optional[ExaminedData] = None) -> ExaminedData:
        """The first records, and those at further places of another data set, if there is one."""
        rest = {} if then is None else then.table
        columns = {
            name: values[:count] + rest.get(name, [])[count:] for name, values in self.table.items()
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
            for name, values in self.table.items()
            if name in self._numbers
        ]
        return np.array(found, dtype=float).reshape(len(found), len(self)).T.copy()

    @property
    def labels(self) -> np.ndarray:
        """The column ``label``, or zeros."""
        values = self.table.get("label", [0] * len(self))
        return np.array(values, dtype=None if values else int)

    @property
    def frame(self) -> Any:
        """The table as a pandas data frame."""
        import pandas  # noqa: PLC0415 - only targets that ask for a frame need it

        return pandas.DataFrame(self.table)
