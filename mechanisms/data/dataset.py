"""A data set: records, labels, and the public constants that say what their values can be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rdpkit import _validate

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
