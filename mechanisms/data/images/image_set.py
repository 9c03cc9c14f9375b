"""Labelled images of one size, as bytes: what is public about them, and whose each one is."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
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


# Pictures of any kind as rows of bytes of one size.

Bytes = NDArray[np.uint8]
_GREY, _COLOUR = 1, 3


class Frame:
    """The one size and number of channels that all images get.

    What the user did not state is taken from the first image, and a release of it is not private.
    """

    __slots__ = ("channels", "height", "resize", "stated_channels", "width")

    def __init__(
        self,
        # Height and width. Images of another size are resized where this is stated, and are an
        # error where it is not.
        image_size: Any,
        channels: Any,  # Grey or colour; one of {1, 3}
    ) -> None:
        if channels is not None and channels not in (_GREY, _COLOUR):
            raise _validate.fail("channels", "to be 1 (grey) or 3 (colour)", channels)
        self.channels: int | None = channels
        self.stated_channels = channels is not None
        self.resize = image_size is not None
        self.height, self.width = (0, 0)
        if image_size is not None:
            pair = image_size if isinstance(image_size, (tuple, list)) else (image_size, image_size)
            if len(pair) != 2:
                raise _validate.fail("image_size", "to be a side, or height and width", image_size)
            self.height, self.width = (int(_validate.integer("image_size", n)) for n in pair)

    @property
    def shape(self) -> Shape:
        """Channels, height and width."""
        if self.channels is None or not self.height:
            raise ValueError(
                "Expected at least one image, or image_size= and channels=, which say how large "
                "images are where there is none."
            )
        return (self.channels, self.height, self.width)

    def assumed(self) -> tuple[str, ...]:
        """What was taken from the first image."""
        stated = {SIZE: self.resize, CHANNELS: self.stated_channels}
        return tuple(name for name, known in stated.items() if not known)

    def row(self, picture: Any, where: str) -> Bytes:
        """A Pillow image as a flat row."""
        from PIL import Image  # noqa: PLC0415 - only here are images decoded

        if self.channels is None:
            self.channels = _GREY if picture.mode in ("1", "L", "I;16", "LA") else _COLOUR
        if not self.height:
            self.width, self.height = picture.size
        if picture.size != (self.width, self.height):
            if not self.resize:
                self._refuse(where)
            picture = picture.convert("L" if self.channels == _GREY else "RGB")
            picture = picture.resize((self.width, self.height), Image.Resampling.BILINEAR)
        picture = picture.convert("L" if self.channels == _GREY else "RGB")
        values = np.asarray(picture, np.uint8).reshape(self.height, self.width, self.channels)
        flat: Bytes = values.transpose(2, 0, 1).reshape(-1)
        return flat

    def _refuse(self, where: str) -> None:
        raise ValueError(
            f"{where}: expected an image of the size of the first one. State image_size= "
            "(--image-size), and images are resized."
        )

    def rows(self, images: Any, where: str) -> Bytes:
        """Rows of an array of images, of shape (n, h, w), (n, h, w, c) or (n, c, h, w).

        Numbers of a floating-point type are taken to lie in [0, 1] and are cut there.
        """
        values = bytes_of(np.asarray(images), where)
        if values.ndim == 2 and self.height and self.channels:
            values = values.reshape(len(values), self.channels, self.height, self.width)
        values = _channels_first(values, where)
        count, channels, height, width = values.shape
        if not self.resize or (height, width) == (self.height, self.width):
            if not self.height:
                self.height, self.width = height, width
            if (height, width) != (self.height, self.width):
                self._refuse(where)
            if self.channels is None:
                self.channels = channels
            if channels == self.channels:
                return values.reshape(count, -1)
        return self._converted(values, where)

    def _converted(self, values: Bytes, where: str) -> Bytes:
        from PIL import Image  # noqa: PLC0415

        if self.channels is None:
            self.channels = values.shape[1]
        found = np.empty((len(values), int(np.prod(self.shape))), np.uint8)
        for number, value in enumerate(values):
            picture = value[0] if len(value) == _GREY else value.transpose(1, 2, 0)
            found[number] = self.row(Image.fromarray(np.ascontiguousarray(picture)), where)
        return found


def bytes_of(values: NDArray[Any], where: str) -> Bytes:
    """Bytes as they are, and numbers of a floating-point type from [0, 1], cut there."""
    if values.dtype == np.uint8:
        return values
    if values.dtype.kind == "f":
        scaled = np.nan_to_num(values.astype(np.float64), nan=0.0, posinf=1.0, neginf=0.0)
        return np.rint(np.clip(scaled, 0.0, 1.0) * 255.0).astype(np.uint8)
    raise ValueError(
        f"{where}: expected images to be bytes (uint8), or floats in [0, 1], got {values.dtype}."
    )


def _channels_first(values: Bytes, where: str) -> Bytes:
    if values.ndim == 3:
        return values[:, None]
    if values.ndim == 4:
        first, last = values.shape[1] in (_GREY, _COLOUR), values.shape[3] in (_GREY, _COLOUR)
        if first != last:
            return values if first else values.transpose(0, 3, 1, 2)
    raise ValueError(
        f"{where}: expected images of shape (n, height, width), (n, height, width, channels) or "
        f"(n, channels, height, width) with 1 or 3 channels, got {values.shape}. Flat rows of "
        "shape (n, d) need image_size= and channels=."
    )


def decoded(content: bytes | Path, where: str) -> Any:
    """A Pillow image from a file or from the content of one."""
    from PIL import Image, UnidentifiedImageError  # noqa: PLC0415

    try:
        source = io.BytesIO(content if isinstance(content, bytes) else content.read_bytes())
        with Image.open(source) as image:
            image.load()
            return image.copy()
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError, Image.DecompressionBombError):
        pass
    # Outside of the block, because what the library says may name the file.
    raise ValueError(f"{where}: the image is truncated or corrupted.")


# Whose each image is: by a column, by the names of files, or by a list of files.

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
