"""Pictures of any kind as rows of bytes of one size."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdpkit import _validate
from rdpkit.mechanisms.data.images.image_set import CHANNELS, SIZE, Shape

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
