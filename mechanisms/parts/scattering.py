"""Scattering of images: fixed wavelets and moduli, a description that needs no data.

A picture is filtered with wavelets of a few widths and directions, the absolute values are taken,
and all of it is smoothed and made smaller. Nothing is learned, so features can be made of private
images, one by one, without a cost: what is released afterwards is what counts.

Source
------
Bruna and Mallat 2013, Invariant scattering convolution networks (arXiv 1203.1513v2), with the
Morlet wavelets and the reflected border of kymatio 0.3.0 (arXiv 1812.11214v3).
"""

from __future__ import annotations

import hashlib
import math
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from rdpkit import _validate

SCALES = 2
ANGLES = 8

# Images that are filtered at once: their arrays fit into the cache of a core. The last batch is
# filled up, so that every image is computed in a batch of the same size.
_BATCH = 16
# Width of the narrowest wavelet in pixels, its frequency, and how much longer than wide it is.
_WIDTH = 0.8
_FREQUENCY = 0.75 * math.pi  # Of the finest wave, in radians a pixel
# Copies of a filter on either side that are added, because pictures are continued periodically.
_COPIES = range(-2, 3)

Floats = NDArray[np.float32]
Filters = tuple[tuple[torch.Tensor, ...], ...]


class KeptFeatures:
    """Features of the last images, found again by a hash of these and of the settings.

    The runs of an experiment share their images, and scattering takes most of their time. Two are
    kept: those of the training records and those of the test records.
    """

    def __init__(self) -> None:
        self._found: OrderedDict[tuple[Any, ...], Floats] = OrderedDict()

    def rows(self, images: Floats, settings: Hashable, make: Callable[[], Floats]) -> Floats:
        """What ``make`` returns, computed once; not to be changed in place."""
        digest = hashlib.sha256(np.ascontiguousarray(images).data).hexdigest()
        key = (settings, images.shape, digest)
        if key not in self._found:
            while len(self._found) >= 2:
                self._found.popitem(last=False)
            self._found[key] = make()
        self._found.move_to_end(key)
        return self._found[key]


def scattering_channels(*, scales: int = SCALES, angles: int = ANGLES) -> int:
    """Number of features at each place: 1 + J L + J (J - 1) / 2 L^2, which is 81 by default."""
    return 1 + scales * angles + scales * (scales - 1) // 2 * angles**2


def scattering(
    # Grey images, in any unit: the result is proportional to them; shape (n, height, width)
    images: NDArray[Any],
    *,
    # J: wavelets have the widths 0.8 * 2^j pixels for j = 0, ..., J - 1, and the result has one
    # place for each 2^J x 2^J pixels; >= 1.
    scales: int = SCALES,
    angles: int = ANGLES,  # L: number of directions of a wavelet; >= 1
) -> NDArray[np.float32]:
    """Scattering of orders 0, 1 and 2.

    The result of an image depends on that image alone. Of 28 x 28 pixels come 81 x 7 x 7 = 3969
    numbers, at about 2,000 images a second on one core. Channel 0 is the smoothed image.
    Then come the smoothed |x * psi| for each width and direction, and the smoothed ||x * psi| *
    psi'| for each of these and each wider psi'.
    """
    _validate.integer("scales", scales)
    _validate.integer("angles", angles)
    condition = f"to be images of shape (n, height, width), with sides above {1 << scales} pixels"
    array = np.asarray(images)
    if array.ndim != 3 or min(array.shape[1:]) <= 1 << scales or array.dtype.kind not in "fiub":
        raise _validate.fail("images", condition, (array.shape, array.dtype))
    plan = _plan(array.shape[1], array.shape[2], scales, angles)
    found = np.empty((len(array), *plan.shape), dtype=np.float32)
    batch = torch.zeros((_BATCH, 1, *array.shape[1:]))
    for start in range(0, len(array), _BATCH):
        part = array[start : start + _BATCH]
        batch[: len(part), 0] = torch.from_numpy(part.astype(np.float32))
        found[start : start + _BATCH] = plan.apply(batch).numpy()[: len(part)]
    return found


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Plan:
    """Filters for images of one size."""

    padding: Sequence[int]
    """Pixels by which images are continued, mirrored: left, right, above and below."""
    # J and L.
    scales: int
    angles: int
    shape: tuple[int, int, int]  # Of the result: channels, height and width
    waves: Filters
    """Fourier transforms of the wavelets of width j for images at resolution r, [r][j - r], shape
    (angles, height, 2 * width): each number twice, for the real and the imaginary part.
    """
    lowpass: Filters
    """Matrices that smooth and shrink the columns and the rows of images at resolution r."""

    def apply(self, images: torch.Tensor) -> torch.Tensor:
        """Scattering of images, shape (n, 1, height, width)."""
        padded = torch.nn.functional.pad(images, list(self.padding), mode="reflect")
        first: list[torch.Tensor] = []
        second: list[torch.Tensor] = []
        spectrum = torch.fft.fft2(padded)
        for j, wave in enumerate(self.waves[0]):
            # Shape (n, angles, height, width), at resolution j.
            moduli = _moduli(spectrum, wave, j)[:, 0]
            first.append(self._smooth(moduli, j))
            if j + 1 < self.scales:
                second.append(self._second_order(moduli, j))
        return torch.cat([self._smooth(padded, 0), *first, *second], dim=1)

    def _second_order(self, moduli: torch.Tensor, resolution: int) -> torch.Tensor:
        spectrum = torch.fft.fft2(moduli)
        found = [
            self._smooth(_moduli(spectrum, wave, 1 + step), resolution + 1 + step)
            for step, wave in enumerate(self.waves[resolution][1:])
        ]
        # First by the direction of the first wavelet, then by the width of the second.
        return torch.stack(found, dim=2).flatten(1, 3)

    def _smooth(self, images: torch.Tensor, resolution: int) -> torch.Tensor:
        columns, rows = self.lowpass[resolution]
        return columns @ images @ rows.T


def _moduli(spectrum: torch.Tensor, wave: torch.Tensor, halvings: int) -> torch.Tensor:
    """|x * psi| at every 2^halvings-th pixel, shape (n, channels, angles, height, width)."""
    n, channels, height, width = spectrum.shape
    parts = torch.view_as_real(spectrum).reshape(n, channels, 1, height, 2 * width)
    # Leaving out pixels adds up the frequencies that cannot be told apart any more.
    h, w = height >> halvings, 2 * width >> halvings
    total: torch.Tensor | None = None
    for top in range(0, height, h):
        for left in range(0, 2 * width, w):
            block = parts[..., top : top + h, left : left + w]
            filters = wave[:, top : top + h, left : left + w]
            total = block * filters if total is None else total.addcmul_(block, filters)
    assert total is not None
    folded = torch.view_as_complex(total.reshape(*total.shape[:-1], w // 2, 2))
    filtered = torch.fft.ifft2(folded)
    # Twice as fast as abs(); nothing here comes near to overflow.
    real, imaginary = filtered.real, filtered.imag
    return torch.addcmul(real * real, imaginary, imaginary).sqrt_().mul_(0.25**halvings)


@lru_cache(maxsize=8)
def _plan(height: int, width: int, scales: int, angles: int) -> _Plan:
    step = 1 << scales
    # At least half a step on each side, so that one place beyond each border can be left out.
    tall, wide = ((size // step + 2) * step for size in (height, width))
    above, left = (tall - height) // 2, (wide - width) // 2
    waves = []
    for resolution in range(scales):
        found = []
        for j in range(resolution, scales):
            turned = [_wave(tall, wide, j, angle, angles) for angle in range(angles)]
            filters = np.stack([_at_resolution(one, resolution) for one in turned])
            found.append(torch.from_numpy(np.repeat(filters, 2, axis=2).astype(np.float32)))
        waves.append(tuple(found))
    lowpass = [
        tuple(_lowpass(size, resolution, scales) for size in (tall, wide))
        for resolution in range(scales)
    ]
    channels = scattering_channels(scales=scales, angles=angles)
    return _Plan(
        padding=(left, wide - width - left, above, tall - height - above),
        scales=scales,
        angles=angles,
        shape=(channels, tall // step - 2, wide // step - 2),
        waves=tuple(waves),
        lowpass=tuple(lowpass),
    )


def _wave(height: int, width: int, j: int, angle: int, angles: int) -> NDArray[np.float64]:
    """Fourier transform, which is real, of the Morlet wavelet of width 0.8 * 2^j.

    A wave under a normal curve, less a multiple of the curve that makes its sum 0.
    """
    theta = (angles // 2 - 1 - angle) * math.pi / angles
    deviation, slant = _WIDTH * 2**j, 4 / angles
    wave = np.zeros((height, width), dtype=np.complex128)
    curve = np.zeros((height, width))
    for down in _COPIES:
        for across in _COPIES:
            y = np.arange(height)[:, None] + down * height
            x = np.arange(width)[None, :] + across * width
            along = math.cos(theta) * y + math.sin(theta) * x
            aside = math.cos(theta) * x - math.sin(theta) * y
            one = np.exp(-(along**2 + (slant * aside) ** 2) / (2 * deviation**2))
            curve += one
            wave += one * np.exp(1j * _FREQUENCY / 2**j * along)
    scale = slant / (2 * math.pi * deviation**2)
    wave -= curve * (wave.sum() / curve.sum())
    spectrum: NDArray[np.float64] = scale * np.fft.fft2(wave).real
    return spectrum


def _at_resolution(filters: NDArray[np.float64], resolution: int) -> NDArray[np.float64]:
    """A filter for images of which every 2^resolution-th pixel is left, along all axes.

    Frequencies that such images do not have are left out of it first.
    """
    for axis, size in enumerate(filters.shape):
        frequency = np.fft.fftfreq(size) * 2**resolution
        kept = (frequency >= -0.5) & (frequency < 0.5)
        moved = np.moveaxis(filters, axis, 0)
        masked = moved * kept.reshape(-1, *([1] * (filters.ndim - 1)))
        small = masked.reshape(1 << resolution, size >> resolution, *moved.shape[1:]).sum(axis=0)
        filters = np.moveaxis(small, 0, axis)
    return filters


def _lowpass(size: int, resolution: int, scales: int) -> torch.Tensor:
    """The matrix that smooths a line of pixels, keeps one for each place and drops the border."""
    deviation = _WIDTH * 2 ** (scales - 1)
    pixels = np.arange(size)
    curve = sum(np.exp(-((pixels + copy * size) ** 2) / (2 * deviation**2)) for copy in _COPIES)
    spectrum = np.fft.fft(curve).real / (math.sqrt(2 * math.pi) * deviation)
    kernel = np.fft.ifft(_at_resolution(spectrum, resolution)).real
    length, step = size >> resolution, 1 << (scales - resolution)
    places = (np.arange(size // (1 << scales) - 2) + 1) * step
    rows = kernel[(places[:, None] - np.arange(length)[None, :]) % length]
    return torch.from_numpy(rows.astype(np.float32))
