"""Means of subsets of records, in threads, without a copy of the data."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np

from rdpkit import _validate
from rdpkit.mechanisms.parts.noise import NoiseSource
from rdpkit.mechanisms.parts.records import Array, Records, in_batches
from rdpkit.mechanisms.parts.sampling import Indices, subsets

# Bytes of a gathered block on an accelerator, in double precision.
_DEVICE_BLOCK = 1 << 28
# Bytes of means that are scaled together on the processor: they stay in the second-level cache.
_BLOCK = 1 << 18
# With at least this many numbers to read, several threads are faster than one.
_WORTH_A_THREAD = 1 << 20
# Clipping factors of bytes are rounded to multiples of 2^-24, which is too coarse below this.
_SMALLEST_FACTOR = 2.0**-12
# Types that the compiled sums read directly. Numbers of other types are converted first.
_READ_AS_THEY_ARE = frozenset("bBhHiIlLqQfd")


class Mixer:
    """Means of any number of subsets of records, without a copy of the data.

    Sums are taken in double precision, or exactly in integers. In single precision, the rounding
    errors of two neighbouring means could differ by more than the noise can hide. Where records are
    only scaled and clipped, the *stored* records are averaged, each weighted with its clipping
    factor, and the mean is scaled afterwards. So bytes are read as bytes. Clipping factors of bytes
    are rounded down to 24 bits. Where a coordinate may be cut, records are scaled and cut while
    they are added. Which of these is done depends on the type of the features and on public
    numbers, so that a record changes the means that it is part of and no bit of any other.

    Parameters
    ----------
    records : Records
        The data; may be memory-mapped.
    device : str, optional
        A torch device such as "cuda". The stored records are moved there once, in their own type,
        and means are taken there in double precision. By default, means are taken on the processor.
    workers : int, optional
        Threads on the processor; by default as many as it has cores.

    Raises
    ------
    ModuleNotFoundError
        If numba is not installed, or a device is given and torch is not.
    """

    __slots__ = (
        "_affine",
        "_bytes",
        "_device",
        "_digits",
        "_factors",
        "_records",
        "_row_sums",
        "_stored",
        "_torch",
        "_workers",
    )

    def __init__(
        self, records: Records, *, device: str | None = None, workers: int | None = None
    ) -> None:
        from rdpkit.mechanisms.parts.compiled import row_sums  # noqa: PLC0415 - it imports a compiler, which few users of this module need

        self._row_sums = row_sums
        self._records = records
        self._workers = int(_validate.integer("workers", workers or os.cpu_count() or 1))
        self._affine = records.is_affine()
        self._factors: Any = records.clip_factors()
        self._device = device
        self._digits: Any = None
        # Whether factors are rounded must not depend on the data, because rounding changes every
        # record a little.
        self._bytes = (
            records.flat.dtype == np.uint8
            and self._affine
            and records.smallest_factor() >= _SMALLEST_FACTOR
        )
        if self._bytes and self._factors is not None:
            # Factors are rounded down, so that no clipped record becomes longer than the norm.
            one = 2.0**row_sums.DIGITS
            whole = np.minimum(np.floor(self._factors * one), one - 1.0)
            self._factors = whole / one
            self._digits = row_sums.split(whole.astype(np.uint32))
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

        Raises
        ------
        IndexError
            If there is no record of some number.
        """
        if chosen.size and not 0 <= chosen.min() <= chosen.max() < len(self._records):
            raise IndexError(
                f"Expected numbers of records in [0, {len(self._records)}), got some in "
                f"[{chosen.min()}, {chosen.max()}]."
            )
        if self._affine and self._device is not None:
            means = self._on_device(chosen)
            self._scale(means, chosen)
            return means
        return self._in_threads(chosen)

    def _in_threads(self, chosen: Indices) -> Array:
        """Means in several threads, which the compiled sums allow by releasing Python's lock.

        Each mean is computed in one thread, and always in the same order. So the result does not
        depend on the number of threads.
        """
        shape = (len(chosen), self._records.dimension)
        if self._bytes and self._digits is None:
            part, found = self._of_bytes, np.empty(shape)
        else:
            part, found = (self._of_stored if self._affine else self._of_cut), np.zeros(shape)
        step = max(1, -(-len(chosen) // self._workers))
        starts = range(0, len(chosen), step)
        if len(starts) == 1 or chosen.size * self._records.dimension < _WORTH_A_THREAD:
            part(chosen, found)
            return found
        with ThreadPoolExecutor(len(starts)) as pool:
            list(pool.map(lambda i: part(chosen[i : i + step], found[i : i + step]), starts))
        return found

    def _of_cut(self, chosen: Indices, found: Array) -> None:
        """Means of records that are scaled and cut one by one."""
        records = self._records
        assert records.box is not None
        transformation = np.empty((4, found.shape[1]))
        transformation[0], transformation[1] = records.scaling.factor, records.scaling.shift
        transformation[2], transformation[3] = records.box

        def add(flat: Any, rows: Indices, weights: Any, sums: Array) -> None:
            self._row_sums.cut_numbers(flat, rows, weights, transformation, sums)

        self._add_weighted(chosen, found, add)
        found /= chosen.shape[1]

    def _of_bytes(self, chosen: Indices, found: Array) -> None:
        """Means of bytes that are not clipped, summed exactly and scaled in one pass."""
        scaling, width = self._records.scaling, found.shape[1]
        factor, shift = (
            np.ascontiguousarray(np.broadcast_to(np.asarray(part, np.float64), (width,)))
            for part in (scaling.factor, scaling.shift)
        )
        self._row_sums.mean_bytes(np.asarray(self._records.flat), chosen, factor, shift, found)

    def _of_stored(self, chosen: Indices, found: Array) -> None:
        """Means of the stored records, scaled while they are in the cache."""
        # Numbers are added in double precision.
        add_numbers = partial(self._add_weighted, add=self._row_sums.weighted_numbers)
        add = self._add_bytes if self._bytes else add_numbers
        step = max(1, _BLOCK // (8 * found.shape[1]))
        for start in range(0, len(chosen), step):
            rows, means = chosen[start : start + step], found[start : start + step]
            add(rows, means)
            means /= chosen.shape[1]
            self._scale(means, rows)

    def _add_weighted(self, chosen: Indices, sums: Array, add: Callable[..., None]) -> None:
        """Add weighted rows by a compiled function, which takes rows of the usual types alone."""
        flat, weights = np.asarray(self._records.flat), self._factors
        if weights is None:
            weights = np.broadcast_to(1.0, len(flat))
        if flat.dtype.isnative and flat.dtype.char in _READ_AS_THEY_ARE:
            add(flat, chosen, weights, sums)
            return
        here = np.arange(chosen.shape[1])[None, :]
        for row, indices in zip(sums, chosen, strict=True):
            add(flat[indices].astype(np.float64), here, weights[indices], row[None, :])

    def _add_bytes(self, chosen: Indices, sums: Array) -> None:
        """Exact sums of weighted bytes, which are taken in whole numbers."""
        flat = np.asarray(self._records.flat)
        self._row_sums.weighted_bytes(flat, chosen, self._digits, sums)
        sums *= 2.0**-self._row_sums.DIGITS

    def _scale(self, means: Array, chosen: Indices) -> None:
        """Turn weighted means of stored records into means of scaled ones."""
        scaling = self._records.scaling
        means *= scaling.factor
        if not scaling.shift.any():
            return
        if self._factors is None:
            means += scaling.shift
        else:
            factors: Any = self._factors
            host = factors if self._device is None else factors.cpu().numpy()
            means += host[chosen].mean(axis=1)[:, None] * scaling.shift

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
    mixer: Mixer,  # Takes the means
    members: Indices,  # Numbers of the records to draw from
    *,
    order_of_mixture: int,  # Records drawn without replacement for each mean
    releases: int,  # How many means in all
    # A number of records that does not depend on the data, at least ``order_of_mixture``.
    at_least: int,
    noise: NoiseSource,  # Draws the subsets
    dimension: int,  # Number of features
) -> Iterator[tuple[Array, Indices]]:
    """Means of fresh subsets of some records, in batches of bounded memory.

    If there are fewer records than ``at_least``, zero vectors stand in for those that are missing.
    So no data set is refused, however few records it has. Yields means without noise, which must
    not be released as they are; numbers of the records in each mean; -1 stands for a record that is
    missing.
    """
    _validate.integer("order_of_mixture", order_of_mixture, maximum=at_least)
    missing = max(0, at_least - len(members))
    drawn_from = np.concatenate([members, np.full(missing, -1, dtype=np.int64)])
    for part in in_batches(releases, dimension + order_of_mixture):
        count = part.stop - part.start
        chosen = drawn_from[subsets(len(drawn_from), order_of_mixture, count, noise=noise)]
        yield _means(mixer, chosen, dimension) if missing else mixer.means(chosen), chosen


def _means(mixer: Mixer, chosen: Indices, dimension: int) -> Array:
    """Means of records of which some, numbered -1, are missing and count as zeros."""
    found = np.zeros((len(chosen), dimension))
    for i, numbers in enumerate(chosen):
        there = numbers[numbers >= 0]
        if there.size:
            found[i] = mixer.means(there[None, :])[0] * (there.size / numbers.size)
    return found


def mixed_by_class(
    records: Records,  # The data
    *,
    order_of_mixture: int,  # Records drawn without replacement for each mean
    releases: Sequence[int],  # How many means of each class
    # Numbers of records of each class that do not depend on the data; see :func:`mixed`.
    at_least: Sequence[int],
    noise: NoiseSource,  # Draws the subsets
    device: str | None = None,  # A torch device on which means are taken
) -> Iterator[tuple[int, Array]]:
    """Means of fresh subsets of one class each, class by class.

    Yields the class; means without noise, which must not be released as they are.
    """
    mixer = Mixer(records, device=device)
    for label, count in enumerate(releases):
        for means, _ in mixed(
            mixer,
            records.members[label],
            order_of_mixture=order_of_mixture,
            releases=count,
            at_least=at_least[label],
            noise=noise,
            dimension=records.dimension,
        ):
            yield label, means
