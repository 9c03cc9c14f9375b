"""Public features of records: nothing in them depends on another record.

Most rows have norms of at most 1; the rounds clip what is longer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.fft import dctn, idctn
from scipy.linalg import eigh
from scipy.ndimage import map_coordinates

from rdpkit import _validate
from rdpkit.mechanisms.parts.labelled_images import Floats, Labels
from rdpkit.mechanisms.parts.scattering import (
    ANGLES,
    SCALES,
    KeptFeatures,
    scattering,
    scattering_channels,
)

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
_KEPT = KeptFeatures()


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
        make = self._scattering if self.name == "scattering" else self._centred
        for start in range(0, len(images), _PIECE):
            part = images[start : start + _PIECE]
            found[start : start + _PIECE] = make(part).reshape(len(part), -1)
        return found

    def kept_rows(self, images: Floats) -> Floats:
        """:meth:`rows`, computed once for the last images; not to be changed in place."""
        return _KEPT.rows(images, self, lambda: self.rows(images))

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

    def _centred(self, images: Floats) -> NDArray[Any]:
        """Pixels or columns, or of pixels the low cosine frequencies."""
        found: NDArray[Any] = images.astype(np.float64) - _CENTRE[self.name]
        if self.name == "cosines":
            k = self.frequencies
            found = dctn(found, axes=(2, 3), norm="ortho")[..., :k, :k]
        return found / self._longest()


# Random images that anybody can draw, and the directions in which they differ as classes do.
#
# A random shape stands for a class; turned, stretched, moved and bent a little it gives the records
# of the class. How features vary between shapes and within them is known without private records,
# few of which then need to say no more than where their classes are.

SHAPES, VARIANTS = 400, 8
_SEED = 0
# How steeply frequencies fall off in a shape and in a bend, and how far a bend goes.
_SHAPE_FALL, _BEND_FALL, _BEND = 4.0, 5.0, 0.05
# Deviations of the entries of a linear map, and of a shift, where an image goes from -1 to 1.
_TURN, _SHIFT = 0.1, 0.08
# The part of the mean variance within classes that every direction has at least.
_RIDGE = 0.05


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PublicView:
    """Public coordinates of features, and public records in them."""

    mean: Array  # Of the public features; shape (d,)
    directions: Array
    """Public classes vary by the same in all columns, and differ most in the first ones; shape (d,
    d).
    """
    # Public records in these coordinates, and their classes; shape (n, d) and (n,).
    rows: Array
    labels: Labels

    def first(self, count: int, *, longest: float) -> tuple[Array, Array]:
        """The mean and the first directions, in which ``longest`` mean lengths become 1."""
        length = np.sqrt(np.square(self.rows[:, :count]).sum(axis=1).mean())
        return self.mean, self.directions[:, :count] / (longest * length)


def random_images(shape: Shape, *, shapes: int = SHAPES, variants: int = VARIANTS) -> Floats:
    """Images of random shapes, shape (shapes * variants, channels, height, width), in [0, 1].

    Shapes are strokes and areas in turn: the lines and the insides of level sets of smooth noise.
    """
    channels, height, width = shape
    rng = np.random.default_rng(_SEED)
    side = 2 * max(height, width)
    top, left = (side - height) // 2, (side - width) // 2
    fields = _smooth(rng, (shapes, side, side), _SHAPE_FALL)
    fields = fields[:, top : top + height, left : left + width]
    grid = np.stack(np.meshgrid(*(np.linspace(-1, 1, n) for n in (height, width)), indexing="ij"))
    found = np.empty((shapes, variants, channels, height, width), dtype=np.float32)
    for number, field in enumerate(fields):
        inks = rng.random((2, channels, 1, 1)) if channels > 1 else np.array([1.0, 0.0])
        for variant in range(variants):
            turn = np.eye(2) + rng.normal(0.0, _TURN, (2, 2))
            bend = _BEND * _smooth(rng, (2, height, width), _BEND_FALL)
            where = np.tensordot(turn, grid, 1) + rng.normal(0.0, _SHIFT, (2, 1, 1)) + bend
            pixels = (where + 1) / 2 * (np.array([height, width]) - 1)[:, None, None]
            level = map_coordinates(field - np.median(field), pixels, order=1, mode="nearest")
            width_of_line = rng.uniform(0.8, 1.2)
            stroke = 1.5 - 4.0 * np.abs(level) / width_of_line
            drawn = np.clip(stroke if number % 2 else 0.5 + 1.5 * width_of_line * level, 0.0, 1.0)
            drawn *= np.clip(3.0 - 3.0 / 1.1 * np.sqrt(np.square(where).sum(axis=0)), 0.0, 1.0)
            found[number, variant] = inks[0] * drawn + inks[1] * (1.0 - drawn)
    return found.reshape(-1, *shape)


@lru_cache(maxsize=4)
def public_view(basis: Basis) -> PublicView:
    """Directions in which random shapes differ most for how much each of them varies.

    They need not be computed to the same digits everywhere: a release has those it was made with.

    Source
    ------
    Fisher's linear discriminants. Learning features from noise-like images is Baradad et al. 2021,
    Learning to see by looking at noise (arXiv 2106.05963); here they give no more than a metric.
    """
    rows = basis.rows(random_images(basis.shape)).astype(np.float64)
    labels = np.repeat(np.arange(SHAPES), VARIANTS)
    mean = rows.mean(axis=0)
    rows -= mean
    centres = rows.reshape(SHAPES, VARIANTS, -1).mean(axis=1)
    apart = rows - centres[labels]
    within = apart.T @ apart / (len(rows) - SHAPES)
    within[np.diag_indices(len(within))] += _RIDGE * np.trace(within) / len(within)
    directions = eigh(centres.T @ centres / SHAPES, within)[1][:, ::-1]
    return PublicView(mean=mean, directions=directions, rows=rows @ directions, labels=labels)


def _smooth(rng: np.random.Generator, shape: tuple[int, int, int], fall: float) -> Array:
    """Random fields whose amplitudes fall off with the frequency, of unit variance."""
    _, height, width = shape
    down, across = np.fft.fftfreq(height)[:, None] * height, np.fft.rfftfreq(width) * width
    amplitudes = (1.0 + down**2 + across**2) ** (-fall / 2)
    found = np.fft.irfft2(np.fft.rfft2(rng.normal(size=shape)) * amplitudes, s=shape[1:])
    return np.asarray(found / found.std(axis=(1, 2), keepdims=True))
