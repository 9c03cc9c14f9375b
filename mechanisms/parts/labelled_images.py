"""Images and labels for mechanisms that learn images: checked once, then split by class."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rdpkit import _validate

Floats = NDArray[np.float32]
Labels = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledImages:
    """Images of shape (n, channels, height, width), in [-1, 1], and their classes."""

    images: Floats  # Shape (n, channels, height, width)
    labels: Labels  # Each in 0, ..., classes - 1; shape (n,)
    classes: int  # Number of classes: public, not counted in the labels
    record_shape: tuple[int, ...]
    """Shape in which a record was given, and in which synthetic ones are returned."""

    @property
    def shape(self) -> tuple[int, int, int]:
        """Channels, height and width."""
        _, channels, height, width = self.images.shape
        return channels, height, width

    def of_class(self, label: int) -> Floats:
        """The images of one class, of shape (n_c, channels, height, width)."""
        found: Floats = self.images[self.labels == label]
        return found

    def class_sizes(self) -> tuple[int, ...]:
        """Number of records of each class; a class may have none."""
        sizes = np.bincount(self.labels, minlength=self.classes)
        return tuple(int(size) for size in sizes)

    def as_given(self, synthetic: NDArray[np.floating]) -> Floats:
        """Synthetic images in the shape in which records came, as float32.

        Raises ArithmeticError if a pixel is not finite.
        """
        if not np.isfinite(synthetic).all():
            raise ArithmeticError(
                "Synthetic pixels grew without bound; choose a smaller learning_rate."
            )
        return synthetic.astype(np.float32).reshape(len(synthetic), *self.record_shape)


def labelled_images(
    # Floating-point numbers in [-1, 1], scaled by constants, never by statistics of the data.
    # Pixels outside of [-1, 1] are cut, because a mechanism that refused them would tell a data set
    # that has one from a neighbour that has none. Shape (n, channels, height, width), or (n, d)
    # with ``image_shape``.
    features: ArrayLike,
    labels: ArrayLike,  # Each in 0, ..., classes - 1; shape (n,)
    *,
    classes: int,  # Number of classes
    image_shape: tuple[int, int, int] | None = None,  # Channels, height and width of flat records
) -> LabelledImages:
    """Check images and labels."""
    _validate.integer("classes", classes, minimum=2)
    pixels = np.asarray(features)
    if pixels.dtype.kind not in "fiu" or pixels.ndim < 2 or 0 in pixels.shape[1:]:
        raise _validate.fail(
            "features",
            "to be numbers of shape (n, channels, height, width) or (n, d)",
            f"{pixels.dtype} of shape {pixels.shape}",
        )
    record_shape = pixels.shape[1:]
    if image_shape is not None:
        if not isinstance(image_shape, (tuple, list)) or len(image_shape) != 3:
            raise _validate.fail("image_shape", "to be (channels, height, width)", image_shape)
        channels, height, width = (
            _validate.integer(f"image_shape[{i}]", side) for i, side in enumerate(image_shape)
        )
        shape = (channels, height, width)
    elif pixels.ndim == 4:
        shape = (int(record_shape[0]), int(record_shape[1]), int(record_shape[2]))
    else:
        raise _validate.fail("image_shape", f"for records of shape {record_shape}", image_shape)
    if int(np.prod(record_shape)) != int(np.prod(shape)):
        raise _validate.fail("features", f"to have {int(np.prod(shape))} pixels each", pixels.shape)
    if pixels.dtype.kind != "f":
        condition = "to be floating-point numbers in [-1, 1], scaled by public constants"
        raise _validate.fail("features", condition, pixels.dtype)
    if not bool(np.isfinite(pixels).all()):
        raise ValueError("Expected features to be finite, got NaN or an infinity.")
    images = np.clip(pixels, -1.0, 1.0).astype(np.float32).reshape(len(pixels), *shape)
    chosen = np.asarray(labels)
    if chosen.dtype.kind not in "iu" or chosen.shape != (len(pixels),):
        raise _validate.fail(
            "labels",
            f"to be integers of shape ({len(pixels)},)",
            f"{chosen.dtype} of shape {chosen.shape}",
        )
    if chosen.size and (int(chosen.min()) < 0 or int(chosen.max()) >= classes):
        raise _validate.fail(
            "labels",
            f"in 0, ..., {classes - 1}",
            f"values from {int(chosen.min())} to {int(chosen.max())}",
        )
    return LabelledImages(
        images=images, labels=chosen.astype(np.int64), classes=classes, record_shape=record_shape
    )


def balanced_labels(classes: int, samples_per_class: int) -> Labels:
    """Public labels: class 0 ``samples_per_class`` times, then class 1 as often, and so on."""
    return np.repeat(np.arange(classes, dtype=np.int64), samples_per_class)
