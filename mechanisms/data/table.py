"""Tables in CSV files; the user states ranges and classes, because the data's own are private."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rdpkit import _validate
from rdpkit.formats.numbers import how_many
from rdpkit.mechanisms.data.dataset import Dataset

Range = tuple[float, float]


def load_table(
    # The files; both have the same header.
    train: str | Path,
    test: str | Path,
    *,
    label: str,  # The column of labels
    classes: Sequence[str],  # Every label there can be, as the files spell them
    ranges: Range | Mapping[str, Range],  # Publicly known ranges of all columns, or of each
    # Channels, height and width, if the columns are pixels.
    image_shape: tuple[int, int, int] | None = None,
) -> Dataset:
    """A data set from two CSV files with a header: one column of labels, numbers in all others.

    Numbers are scaled to [0, 1] by ``ranges`` and clipped there. Ranges and classes are arguments
    because the smallest and the largest value that occur, or the labels that occur, are private.
    """
    names = tuple(str(name) for name in classes)
    if len(names) < 2 or len(set(names)) != len(names):
        raise _validate.fail("classes", "to be at least two different labels", classes)
    header, train_values, train_labels = _read(Path(train), label, names)
    other, test_values, test_labels = _read(Path(test), label, names)
    if other != header:
        raise ValueError(f"{test}: expected the header of {train}, got another one.")
    low, high = _ends(header, ranges)
    return Dataset(
        name=Path(train).stem,
        train_features=np.clip((train_values - low) / (high - low), 0.0, 1.0),
        train_labels=train_labels,
        test_features=np.clip((test_values - low) / (high - low), 0.0, 1.0),
        test_labels=test_labels,
        classes=names,
        value_range=(0.0, 1.0),
        image_shape=image_shape,
    )


def _ends(
    header: list[str], ranges: Range | Mapping[str, Range]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    if isinstance(ranges, Mapping):
        if set(ranges) != set(header):
            missing = sorted(set(header) ^ set(ranges))
            raise _validate.fail("ranges", "to have exactly the columns of the table", missing)
        pairs = [ranges[column] for column in header]
    else:
        pairs = [ranges] * len(header)
    for column, pair in zip(header, pairs, strict=True):
        bad = not isinstance(pair, (tuple, list)) or len(pair) != 2
        if bad or not all(math.isfinite(float(end)) for end in pair) or not pair[0] < pair[1]:
            raise _validate.fail(f"ranges of {column!r}", "to be (low, high), low < high", pair)
    ends = np.array(pairs, np.float64)
    return ends[:, 0], ends[:, 1]


def _read(
    path: Path, label: str, classes: tuple[str, ...]
) -> tuple[list[str], NDArray[np.float64], NDArray[np.int64]]:
    values: list[list[float]] = []
    labels: list[int] = []
    with path.open(newline="", encoding="utf-8") as file:
        rows = csv.reader(file, strict=True)
        try:
            header = next(rows, [])
            if label not in header or len(set(header)) != len(header):
                raise ValueError(
                    f"{path}: expected a header of different names with a column {label!r}, "
                    f"got {how_many(len(header), 'name')}."
                )
            column = header.index(label)
            names = [*header[:column], *header[column + 1 :]]
            for row in filter(None, rows):
                where = f"{path}: line {rows.line_num}"
                if len(row) != len(header):
                    raise ValueError(f"{where}: expected {len(header)} values, got {len(row)}.")
                told = row.pop(column)
                if told not in classes:
                    accepted = ", ".join(repr(name) for name in classes[:20])
                    raise ValueError(f"{where}: expected {label} to be one of {accepted}.")
                labels.append(classes.index(told))
                values.append([_number(where, *cell) for cell in zip(names, row, strict=True)])
        except csv.Error as error:
            raise ValueError(f"{path}: line {rows.line_num}: {error}.") from None
    if not values:
        raise ValueError(f"{path}: expected at least one record, got none.")
    return names, np.array(values), np.array(labels)


def _number(where: str, name: str, text: str) -> float:
    try:
        if math.isfinite(found := float(text)):
            return found
    except ValueError:
        pass
    raise ValueError(f"{where}: expected {name} to be a finite number.")
