"""Gather and average: means of subsets of records, in blocks, without a copy of the data."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from mechanisms.noise import NoiseSource
from mechanisms.preprocessing import Array
from mechanisms.records import Records
from mechanisms.sampling import Indices, subsets
from rdpkit import _validate

# Bytes of one gathered block of numbers on the processor: it stays in the second-level cache. It
# decides how sums are split, and with that their rounding, so it is the same for all machines.
_BLOCK = 1 << 20
# That of bytes, whose sums are exact: small where a thread is alone. Several threads wait for
# Python's lock after every operation, so theirs have to be long.
_BYTES_ALONE, _BYTES_BESIDE_OTHERS = 1 << 18, 1 << 21
# Bytes of a gathered block on an accelerator, in double precision.
_DEVICE_BLOCK = 1 << 28
# Numbers to gather from which on threads pay.
_WORTH_A_THREAD = 1 << 20
# Bytes of means that one batch of releases holds.
_BATCH = 1 << 24
# 257 * 255 is the largest number of 16 bits, and 257 * 255 * 255 is less than 2^24.
_BYTE_ROWS = 257
# Clipping factors of bytes are rounded to 2^-24; smaller ones than this would lose too much.
_SMALLEST_FACTOR = 2.0**-12
# What the three digits of a factor are worth.
_PLACES = 2.0 ** np.array([-8.0, -16.0, -24.0])


class Mixer:
    """Means of subsets of records, of any number of subsets, without a copy of the data.

    Sums are taken in double precision, or exactly in integers. In single precision the rounding of
    two neighbouring means may differ by more than a record's share that the noise is made for.
    Where records are only scaled and clipped, the mean of the *stored* records is taken, weighted
    with each record's clipping factor, and scaled afterwards: bytes are read as bytes. Factors for
    bytes are rounded down to 24 bits.

    Parameters
    ----------
    records : Records
        The data; may be memory-mapped.
    device : str, optional
        A torch device such as "cuda": the stored records are moved there once, in their own type,
        and means are taken there in double precision. None: numpy on the processor.
    workers : int, optional
        Threads on the processor; by default as many as it has cores.

    Raises
    ------
    ModuleNotFoundError
        If a device is given and torch is not installed.
    """

    __slots__ = (
        "_affine",
        "_bytes",
        "_device",
        "_digits",
        "_factors",
        "_records",
        "_stored",
        "_torch",
        "_workers",
    )

    def __init__(
        self, records: Records, *, device: str | None = None, workers: int | None = None
    ) -> None:
        self._records = records
        self._workers = int(_validate.integer("workers", workers or os.cpu_count() or 1))
        self._affine = records.is_affine()
        self._factors: Any = records.clip_factors() if self._affine else None
        self._device = device
        self._digits: Any = None
        # Whether factors are rounded must not depend on the data: it changes all records a little.
        self._bytes = (
            records.flat.dtype == np.uint8
            and self._affine
            and records.smallest_factor() >= _SMALLEST_FACTOR
        )
        if self._bytes and self._factors is not None:
            # Factors in 24 bits, rounded down so that no record becomes longer than its norm.
            whole = np.minimum(np.floor(self._factors * 2.0**24), 2.0**24 - 1.0)
            self._factors = whole * 2.0**-24
            places = whole.astype(np.uint32)[:, None] >> np.array([16, 8, 0], dtype=np.uint32)
            self._digits = (places & np.uint32(255)).astype(np.float32)
        if device is not None:
            import torch  # noqa: PLC0415 - only where a device is asked for

            self._torch: Any = torch
            if self._affine:
                self._stored: Any = torch.from_numpy(np.ascontiguousarray(records.flat)).to(device)
                if self._factors is not None:
                    self._factors = torch.from_numpy(self._factors).to(device)

    def means(self, chosen: Indices) -> Array:
        """The means of the records whose numbers are in each row.

        Parameters
        ----------
        chosen : ndarray of int64, shape (count, l)
            Numbers of records.

        Returns
        -------
        ndarray of float64, shape (count, d)
            Means of the records as the mechanism sees them.
        """
        if not self._affine:
            return self._in_threads(chosen)
        means = self._on_device(chosen) if self._device is not None else self._in_threads(chosen)
        scaling = self._records.scaling
        means *= scaling.factor
        if self._factors is None:
            means += scaling.shift
        elif scaling.shift.any():
            weights = np.asarray(self._host_factors()[chosen].mean(axis=1))
            means += weights[:, None] * scaling.shift
        return means

    def _host_factors(self) -> Array:
        factors: Any = self._factors
        return np.asarray(factors.cpu().numpy() if self._device is not None else factors)

    def _of_rows(self, chosen: Indices, found: Array) -> None:
        for row, indices in zip(found, chosen, strict=True):
            self._records.rows(indices).mean(axis=0, out=row)

    def _in_threads(self, chosen: Indices) -> Array:
        """Parts of the subsets in threads of their own: numpy lets go of the lock where it works.

        Each mean is computed in one thread, in the same order whatever the number of threads, so
        the result does not depend on it.
        """
        found = np.zeros((len(chosen), self._records.dimension))
        if not self._affine:
            part: Callable[[Indices, Array], None] = self._of_rows
        elif self._bytes:
            part = self._of_bytes
        else:
            part = self._of_numbers
        step = max(1, -(-len(chosen) // self._workers))
        starts = range(0, len(chosen), step)
        if len(starts) == 1 or chosen.size * self._records.dimension < _WORTH_A_THREAD:
            part(chosen, found)
            return found
        with ThreadPoolExecutor(len(starts)) as pool:
            list(pool.map(lambda i: part(chosen[i : i + step], found[i : i + step]), starts))
        return found

    def _of_numbers(self, chosen: Indices, found: Array) -> None:
        """Weighted means of stored numbers, in double precision."""
        flat = self._records.flat
        count, size = chosen.shape
        room = max(1, min(size, _BLOCK // (8 * flat.shape[1])))
        together = max(1, _BLOCK // (8 * flat.shape[1] * size))
        gathered = np.empty((together * room, flat.shape[1]), dtype=flat.dtype)
        double = gathered if flat.dtype == np.float64 else np.empty(gathered.shape)
        even = np.full((together, 1, size), 1.0 / size)
        for first in range(0, count, together):
            rows = chosen[first : first + together]
            weights = (
                even[: len(rows)]
                if self._factors is None
                else (self._factors[rows] / size)[:, None, :]
            )
            for start in range(0, size, room):
                part = rows[:, start : start + room]
                # Without a check of the bounds, which subsets() keeps; the check would copy.
                np.take(flat, part.reshape(-1), axis=0, out=gathered[: part.size], mode="clip")
                if double is not gathered:
                    double[: part.size] = gathered[: part.size]
                block = double[: part.size].reshape(*part.shape, -1)
                own = weights[:, :, start : start + room]
                if len(rows) == 1:  # one product of a vector and a matrix is the faster call
                    found[first] += own[0, 0] @ block[0]
                else:
                    found[first : first + together] += np.matmul(own, block)[:, 0]

    def _of_bytes(self, chosen: Indices, found: Array) -> None:
        """Means of bytes, weighted or not: sums of integers, so they are exact."""
        flat = self._records.flat
        count, size = chosen.shape
        width = flat.shape[1]
        room = min(size, _BYTE_ROWS)
        most = _BYTES_ALONE if self._workers == 1 else _BYTES_BESIDE_OTHERS
        together = max(1, most // ((1 if self._digits is None else 4) * width * size))
        gathered = np.empty((together * room, width), dtype=np.uint8)
        single = np.empty(gathered.shape if self._digits is not None else 0, dtype=np.float32)
        for first in range(0, count, together):
            rows = chosen[first : first + together]
            for start in range(0, size, room):
                part = rows[:, start : start + room]
                np.take(flat, part.reshape(-1), axis=0, out=gathered[: part.size], mode="clip")
                block = gathered[: part.size].reshape(*part.shape, width)
                if self._digits is None:
                    found[first : first + together] += np.add.reduce(block, axis=1, dtype=np.uint16)
                    continue
                # Digits and bytes are whole numbers below 2^8, and 257 products of them add up
                # to less than 2^24: single precision holds every partial sum exactly.
                digits = np.take(self._digits, part, axis=0).swapaxes(1, 2)
                numbers = single[: part.size].reshape(block.shape)
                np.copyto(numbers, block)
                sums = np.matmul(digits, numbers).astype(np.float64)
                found[first : first + together] += np.matmul(_PLACES, sums)
        found /= size

    def _on_device(self, chosen: Indices) -> Array:
        torch = self._torch
        count, size = chosen.shape
        dimension = self._records.dimension
        found = np.empty((count, dimension))
        step = max(1, _DEVICE_BLOCK // (8 * size * dimension))
        for start in range(0, count, step):
            part = torch.from_numpy(chosen[start : start + step]).to(self._device)
            block = self._stored[part.reshape(-1)].reshape(*part.shape, dimension)
            block = block.to(torch.float64)
            if self._factors is None:
                means = block.mean(dim=1)
            else:
                factors: Any = self._factors
                means = torch.einsum("tl,tld->td", factors[part], block) / size
            found[start : start + step] = means.cpu().numpy()
        return found


def mixed(
    mixer: Mixer,
    members: Indices,
    *,
    order_of_mixture: int,
    releases: int,
    noise: NoiseSource,
    dimension: int,
) -> Iterator[tuple[Array, Indices]]:
    """Means of fresh subsets of some records, in batches of bounded memory.

    Parameters
    ----------
    mixer : Mixer
        Takes the means.
    members : ndarray of int64
        Numbers of the records to draw from.
    order_of_mixture : int
        Records drawn without replacement for each mean.
    releases : int
        How many means in all.
    noise : NoiseSource
        Draws the subsets.
    dimension : int
        Number of features.

    Yields
    ------
    means : ndarray of float64, shape (k, d)
        Without noise: not for anybody's eyes yet.
    chosen : ndarray of int64, shape (k, l)
        Who went into each.
    """
    _validate.integer("order_of_mixture", order_of_mixture, maximum=len(members))
    step = max(1, _BATCH // (8 * (dimension + order_of_mixture)))
    for start in range(0, releases, step):
        count = min(step, releases - start)
        chosen = members[subsets(len(members), order_of_mixture, count, noise=noise)]
        yield mixer.means(chosen), chosen


__all__ = ["Mixer", "mixed"]
