"""A data set: records, labels, and the public constants that say what their values can be.

Of a table in CSV files the user states ranges and classes, because the data's own are private.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rdpkit import _validate
from rdpkit.formats.numbers import how_many

Source = Literal["stated", "confirmed", "paid", "read"]
"""How a public parameter became known: a release with one that was only read is not private."""

Records = NDArray[Any]
Labels = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """Training and test records of one data set, as its files store them."""

    name: str  #: Name of the data set
    train_features: Records
    """Shape (n, d): records, flat, as stored: images are uint8, channel by channel, row by row."""
    train_labels: Labels  #: Shape (n,): labels in [0, number of classes)
    test_features: Records
    """Shape (n, d): records, flat, as stored: images are uint8, channel by channel, row by row."""
    test_labels: Labels  #: Shape (n,): labels in [0, number of classes)
    classes: tuple[str, ...]  #: Names of the labels: public knowledge, not what occurs in the data
    value_range: tuple[float, float]
    """Smallest and largest value that a record can have, by the format and not by the data."""
    image_shape: tuple[int, int, int] | None = None
    """Channels, height and width; None where records are no images."""

    def __post_init__(self) -> None:
        low, high = self.value_range
        if not low < high:
            raise _validate.fail("value_range", "to be (low, high) with low < high", (low, high))
        for part in ("train", "test"):
            features, labels = getattr(self, f"{part}_features"), getattr(self, f"{part}_labels")
            object.__setattr__(self, f"{part}_labels", self._checked(part, features, labels))
        width = self.train_features.shape[1]
        if self.test_features.shape[1] != width:
            shape = self.test_features.shape
            raise _validate.fail("test_features", f"to have {width} columns, as training", shape)
        if self.image_shape is not None and np.prod(self.image_shape) != width:
            raise _validate.fail("image_shape", f"to hold {width} values", self.image_shape)

    def _checked(self, part: str, features: Any, labels: Any) -> Labels:
        low, high = self.value_range
        if features.ndim != 2 or 0 in features.shape:
            condition = "to be a non-empty array of shape (n, d)"
            raise _validate.fail(f"{part}_features", condition, features.shape)
        labels = np.asarray(labels)
        if labels.dtype.kind not in "iu" or labels.shape != features.shape[:1]:
            condition = f"to be integers of shape ({len(features)},), as there are records"
            shown = f"{labels.dtype} of shape {labels.shape}"
            raise _validate.fail(f"{part}_labels", condition, shown)
        if labels.min() < 0 or labels.max() >= len(self.classes):
            bad = labels[(labels < 0) | (labels >= len(self.classes))][0]
            raise _validate.fail(
                f"{part}_labels", f"to be in [0, {len(self.classes) - 1}] ({self.name})", int(bad)
            )
        least, most = float(features.min()), float(features.max())
        if not (low <= least and most <= high):  # also false for NaN
            condition = f"to be in [{low:g}, {high:g}] ({self.name})"
            raise _validate.fail(f"{part}_features", condition, least if least < low else most)
        converted: Labels = labels.astype(np.int64)
        return converted

    def scaled(
        self,
        part: str,  # Which records; one of {"train", "test"}
        *,
        # The values to which the ends of ``value_range`` are mapped.
        low: float = 0.0,
        high: float = 1.0,
    ) -> NDArray[np.float32]:  # Shape (n, d)
        """Records scaled by the public ``value_range`` to [low, high]."""
        _validate.choice("part", part, ("train", "test"))
        if not low < high:
            raise _validate.fail("low", f"to be below high ({high!r})", low)
        features = self.train_features if part == "train" else self.test_features
        least, most = self.value_range
        scaled = features.astype(np.float32)
        scaled -= np.float32(least)
        scaled *= np.float32((high - low) / (most - least))
        scaled += np.float32(low)
        # Rounding may exceed an end by one unit in the last place, and callers rely on the range.
        return np.clip(scaled, np.float32(low), np.float32(high), out=scaled)

    @property
    def class_sizes(self) -> tuple[int, ...]:
        """Number of training records of each class. It is private where the labels are."""
        counts = np.bincount(self.train_labels, minlength=len(self.classes))
        return tuple(int(count) for count in counts)

    @property
    def model_input(self) -> tuple[int, tuple[int, int]]:
        """Channels and size for :func:`rdpkit.mechanisms.models.build_model`."""
        if self.image_shape is None:
            return int(self.train_features.shape[1]), (1, 1)
        return self.image_shape[0], self.image_shape[1:]


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
