"""The private records as a mechanism sees them: scaled, cut and clipped, without a copy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdpkit import _validate
from rdpkit.mechanisms.parts.preprocessing import (
    Array,
    Scaling,
    clip_factors,
    clip_rows,
    flat_rows,
    pieces,
)

Batch = tuple[NDArray[np.float64], NDArray[Any]]
"""Released features of shape (k, d), and labels of shape (k,) or (k, classes)."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Records:
    """Features with the transformation that bounds each record, applied where they are read.

    Each record x becomes s(x), then each coordinate is cut to ``box``, then the record is scaled
    down to an L2 norm of at most ``norm``. Each step changes a record without looking at others, so
    no step needs an account, except for what was released to find the scaling's constants.
    """

    features: NDArray[Any]
    """Numbers of any real type; may be memory-mapped, and is never copied as a whole; shape (n,
    ...).
    """
    labels: NDArray[Any]  # Classes in [0, classes); shape (n,)
    classes: int  # Number of classes, a public number
    scaling: Scaling  # The function s
    box: tuple[float, float] | None = None  # Limits of every coordinate
    norm: float | None = None  # Largest L2 norm
    flat: NDArray[Any] = field(init=False)
    members: tuple[NDArray[np.int64], ...] = field(init=False)

    def __post_init__(self) -> None:
        flat = flat_rows(self.features)
        object.__setattr__(self, "flat", flat)
        _validate.one_of_a_kind("scaling", self.scaling, Scaling)
        for name in ("factor", "shift"):
            if getattr(self.scaling, name).shape not in ((), (flat.shape[1],)):
                raise ValueError(
                    f"Expected the scaling's {name} to be one number or {flat.shape[1]}, as there "
                    f"are features, got {getattr(self.scaling, name).size}."
                )
        classes = int(_validate.integer("classes", self.classes))
        labels = self.labels
        if (
            not isinstance(labels, np.ndarray)
            or labels.dtype.kind not in "iu"
            or labels.shape != (len(flat),)
        ):
            condition = f"to be an array of integers of shape ({len(flat)},)"
            raise _validate.fail("labels", condition, labels)
        if labels.size and (labels.min() < 0 or labels.max() >= classes):
            raise _validate.fail("labels", f"in [0, {classes}), as classes says", labels)
        order = np.argsort(labels, kind="stable").astype(np.int64)
        ends = np.cumsum(np.bincount(labels, minlength=classes))[:-1]
        object.__setattr__(self, "members", tuple(np.split(order, ends)))
        if flat.dtype.kind == "f":
            for part in pieces(flat):
                if not np.isfinite(part).all():
                    raise ValueError("Expected features to be finite, got NaN or an infinity.")

    def __len__(self) -> int:
        return len(self.flat)

    @property
    def dimension(self) -> int:
        """Number of features."""
        return int(self.flat.shape[1])

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one record's features."""
        return tuple(self.features.shape[1:])

    @property
    def class_sizes(self) -> tuple[int, ...]:
        """Records of each class."""
        return tuple(len(indices) for indices in self.members)

    def rows(self, indices: NDArray[np.int64] | slice) -> Array:
        """Records as the mechanism sees them, shape (k, d), in double precision."""
        found = self.scaling.apply(self.flat[indices])
        if self.box is not None:
            np.clip(found, *self.box, out=found)
        return found if self.norm is None else clip_rows(found, self.norm)

    def is_affine(self) -> bool:
        """Whether no coordinate can be cut, so that means may be taken before scaling.

        This is decided by the type of the features and by public numbers, never by the features.
        Otherwise one record would decide how the means of all others are rounded.
        """
        if self.box is None:
            return True
        if self.flat.dtype.kind not in "iu":
            return False
        lower, upper = self.box
        limits = np.iinfo(self.flat.dtype)
        ends = [self.scaling.factor * end + self.scaling.shift for end in (limits.min, limits.max)]
        return bool(min(map(np.min, ends)) >= lower and max(map(np.max, ends)) <= upper)

    def clip_factors(self) -> Array | None:
        """The factor by which each record is clipped, shape (n,); None without a norm."""
        if self.norm is None:
            return None
        parts = []
        for part in pieces(self.flat):
            scaled = self.scaling.apply(part)
            if self.box is not None:
                np.clip(scaled, *self.box, out=scaled)
            parts.append(clip_factors(scaled, self.norm))
        return np.concatenate([np.empty(0), *parts])

    def smallest_factor(self) -> float:
        """A lower bound, from public numbers alone, on the clipping factors of records of bytes."""
        if self.norm is None:
            return 1.0
        ends = np.array([[0.0], [255.0]]) * self.scaling.factor + self.scaling.shift
        farthest = np.broadcast_to(np.abs(ends).max(axis=0), self.dimension)
        return min(1.0, self.norm / max(float(np.linalg.norm(farthest)), 1e-300))


def left_out(records: Records, classes: Sequence[int]) -> Records:
    """The same records as if some classes had none, which is how nothing is released of them."""
    if not classes:
        return records
    found = replace(records)
    none = np.empty(0, dtype=np.int64)
    members = tuple(
        none if label in classes else indices for label, indices in enumerate(records.members)
    )
    object.__setattr__(found, "members", members)
    return found
