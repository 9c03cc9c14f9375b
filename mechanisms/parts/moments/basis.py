"""Public features of records: nothing in them depends on another record.

Most rows have norms of at most 1; the rounds clip what is longer.
"""

from __future__ import annotations

import hashlib
import math
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.fft import dctn, idctn

from rdpkit import _validate
from rdpkit.mechanisms.parts.labelled_images import Floats
from rdpkit.mechanisms.parts.scattering import ANGLES, SCALES, scattering, scattering_channels

Array = NDArray[np.float64]
Shape = tuple[int, int, int]

BASES = ("scattering", "cosines", "columns")
# Images whose features are computed at once.
_PIECE = 1024
# Added to the root mean square by which an order of scattering is divided.
_LEAST = 1e-3
# The value from which numbers are measured, so that dark and bright records are both short.
_CENTRE = {"cosines": 0.2, "columns": 0.5}
# The norm that becomes 1, over the root of the number of pixels or columns.
_LONGEST = {"cosines": 0.25, "columns": 0.5}
_CHANNELS = ANGLES * SCALES + 1
# Features of training records and of test records.
_MOST_KEPT = 2
_KEPT: OrderedDict[tuple[Any, ...], Floats] = OrderedDict()


def most_of(name: str, shape: Shape) -> int:
    """How many frequencies there are in each direction for records of a shape."""
    side = min(shape[1:])
    return side >> SCALES if name == "scattering" else side


@dataclass(frozen=True, slots=True, kw_only=True)
class Basis:
    """A public map from images to rows."""

    name: str
    """"scattering": the square root of the scattering transform, each order divided by its norm,
    and of each channel the low cosine frequencies over the places. "cosines": the low cosine
    frequencies of the pixels. "columns": the numbers themselves, as a table has them; one of
    {"scattering", "cosines", "columns"}.
    """
    frequencies: int  # Frequencies that are kept in each direction; ignored for "columns"
    shape: Shape  # Channels, height and width of a record

    def __post_init__(self) -> None:
        _validate.choice("basis", self.name, BASES)
        most = most_of(self.name, self.shape)
        _validate.integer("frequencies", self.frequencies)
        if self.name != "columns" and self.frequencies > most:
            condition = f"to be at most {most} for records of shape {self.shape}"
            raise _validate.fail("frequencies", condition, self.frequencies)

    @property
    def dimension(self) -> int:
        """Length of a row."""
        channels, height, width = self.shape
        if self.name == "columns":
            return channels * height * width
        maps = scattering_channels() if self.name == "scattering" else 1
        return channels * maps * self.frequencies**2

    @property
    def invertible(self) -> bool:
        """Whether rows can be turned into records again."""
        return self.name != "scattering"

    def rows(
        self,
        images: Floats,  # Pixels in [0, 1]; shape (n, channels, height, width)
    ) -> Floats:  # Shape (n, dimension)
        """Features of each image."""
        found = np.empty((len(images), self.dimension), dtype=np.float32)
        make: dict[str, Callable[[Floats], NDArray[Any]]] = {
            "scattering": self._scattering,
            "cosines": self._cosines,
            "columns": self._columns,
        }
        for start in range(0, len(images), _PIECE):
            part = images[start : start + _PIECE]
            found[start : start + _PIECE] = make[self.name](part).reshape(len(part), -1)
        return found

    def kept_rows(self, images: Floats) -> Floats:
        """:meth:`rows`, computed once for the last arrays of images; not to be changed in place.

        The runs of an experiment share their images, and scattering takes most of their time.
        """
        digest = hashlib.sha256(np.ascontiguousarray(images).data).hexdigest()
        key = (self, images.shape, digest)
        if key not in _KEPT:
            while len(_KEPT) >= _MOST_KEPT:
                _KEPT.popitem(last=False)
            _KEPT[key] = self.rows(images)
        _KEPT.move_to_end(key)
        return _KEPT[key]

    def images(self, rows: Array) -> Array:  # Shape (n, channels, height, width)
        """Records of an invertible basis from rows; the frequencies that rows lack are 0."""
        channels, height, width = self.shape
        if self.name == "columns":
            return rows.reshape(-1, *self.shape) * self._longest() + _CENTRE[self.name]
        k = self.frequencies
        whole = np.zeros((len(rows), channels, height, width))
        whole[:, :, :k, :k] = rows.reshape(-1, channels, k, k) * self._longest()
        found: Array = idctn(whole, axes=(2, 3), norm="ortho") + _CENTRE[self.name]
        return found

    def _longest(self) -> float:
        """The norm of a record that becomes 1."""
        return _LONGEST[self.name] * math.sqrt(math.prod(self.shape))

    def _scattering(self, images: Floats) -> NDArray[Any]:
        n, channels, height, width = images.shape
        found = scattering(images.reshape(n * channels, height, width))
        found = np.sqrt(np.maximum(found, 0.0)).reshape(n, channels, -1, *found.shape[2:])
        for order in (slice(0, 1), slice(1, _CHANNELS), slice(_CHANNELS, None)):
            part = found[:, :, order]
            squares = np.square(part).mean(axis=(1, 2, 3, 4), keepdims=True)
            count = part[0].size if n else 1
            part /= (np.sqrt(squares) + np.float32(_LEAST)) * np.float32(math.sqrt(3 * count))
        k = self.frequencies
        low: NDArray[Any] = dctn(found, axes=(3, 4), norm="ortho")[..., :k, :k]
        return low

    def _cosines(self, images: Floats) -> NDArray[Any]:
        k = self.frequencies
        centred = images.astype(np.float64) - _CENTRE[self.name]
        low: NDArray[Any] = dctn(centred, axes=(2, 3), norm="ortho")[..., :k, :k]
        return low / self._longest()

    def _columns(self, images: Floats) -> NDArray[Any]:
        return (images.astype(np.float64) - _CENTRE[self.name]) / self._longest()
