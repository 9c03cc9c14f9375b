"""Random images that anybody can draw, and the directions in which they differ as classes do.

A random shape stands for a class; turned, stretched, moved and bent a little it gives the records
of the class. How features vary between shapes and within them is known without any private record:
few private records then need to say no more than where their classes are.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.linalg import eigh
from scipy.ndimage import map_coordinates

from rdpkit.mechanisms.parts.labelled_images import Floats, Labels
from rdpkit.mechanisms.parts.moments.basis import Array, Basis, Shape

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
