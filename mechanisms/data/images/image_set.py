"""Labelled images as bytes, and what was taken to be public knowledge about them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdpkit import _validate
from rdpkit.mechanisms.data.dataset import Source

Shape = tuple[int, int, int]
CLASSES, SIZE, CHANNELS = PUBLIC = ("class names", "size", "channels")
"""What is taken as public knowledge of images."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ImageSet:
    """Labelled images of one size."""

    name: str  #: Name of the file, the folder or the kind of object that they came from
    features: NDArray[np.uint8]  #: Images, flat, channel by channel, row by row; shape (n, d)
    labels: NDArray[np.int64]  #: Numbers of classes; shape (n,)
    classes: tuple[str, ...]  #: Every class that there can be: public knowledge
    image_shape: Shape  #: Channels, height and width: public knowledge
    assumed: tuple[str, ...] = ()
    """What nobody stated to be public, so that it was read from the data: "class names", "size",
    "channels". A release that is made with it is not private.
    """
    persons: NDArray[np.int64] | None = None
    """Whose each image is, as numbers that name nobody; -1 where it is nobody's; shape (n,)."""
    most_per_person: int | None = None  #: How many images of each person a release uses

    def __post_init__(self) -> None:
        width = int(np.prod(self.image_shape))
        features, labels = self.features, self.labels
        if features.dtype != np.uint8 or features.ndim != 2 or features.shape[1] != width:
            shown = f"{features.dtype} of shape {features.shape}"
            raise _validate.fail("features", f"to be bytes of shape (n, {width})", shown)
        if labels.shape != (len(features),) or labels.dtype.kind not in "iu":
            shown = f"{labels.dtype} of shape {labels.shape}"
            raise _validate.fail("labels", f"to be {len(features)} integers", shown)
        if self.persons is not None and self.persons.shape != labels.shape:
            raise _validate.fail("persons", f"to be {len(features)} integers", "others")
        if len(set(self.classes)) != len(self.classes) or not self.classes:
            raise _validate.fail("classes", "to be different names, at least one", self.classes)
        if len(labels) and not 0 <= int(labels.min()) <= int(labels.max()) < len(self.classes):
            wrong = int(((labels < 0) | (labels >= len(self.classes))).sum())
            raise ValueError(
                f"Expected labels to be in [0, {len(self.classes) - 1}], as there are "
                f"{len(self.classes)} classes, and {wrong} of {len(labels)} are not."
            )
        object.__setattr__(self, "labels", labels.astype(np.int64))

    @property
    def public(self) -> dict[str, Source]:
        """How classes, size and channels became known."""
        return {name: "read" if name in self.assumed else "stated" for name in PUBLIC}

    def __len__(self) -> int:
        return len(self.features)


def class_names(classes: Any) -> tuple[str, ...] | None:
    """Names of classes from what a user states: names, a number of classes, or nothing."""
    if classes is None:
        return None
    if isinstance(classes, (int, np.integer)) and not isinstance(classes, bool):
        return tuple(str(i) for i in range(int(_validate.integer("classes", classes, minimum=1))))
    names = () if isinstance(classes, str) else tuple(str(name) for name in classes)
    if not names or len(set(names)) != len(names):
        raise _validate.fail("classes", "to be a number, or different names", classes)
    return names
