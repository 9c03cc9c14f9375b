"""Noisy moments of clipped records, in rounds: each sees the data through the one before it.

First the mean and the squares are released, with little of the budget. Then the records are moved
and stretched by what that gave, and class sums and second moments are released; then once more,
whitened by what these gave. All noise is Gaussian, and each release is a sum over records.

Rounding: rows are clipped to a norm of 1 - 1e-6. Records are mapped one by one, and sums of n
doubles are wrong by less than n^2 1e-16 of the largest, which for 60,000 records is below 1e-6.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rdpkit.mechanisms.parts.labelled_images import Floats, Labels
from rdpkit.mechanisms.parts.moments.sensitivity import (
    location_diameter,
    moments_diameter,
    together,
)
from rdpkit.mechanisms.parts.noise import NoiseSource

Array = NDArray[np.float64]

_MARGIN = 1e-6
_PIECE = 4096
# Squared weights. Of the first round: mean and squares.
_LOCATION = (0.7, 0.3)
# Of a round that is not the last: class sums, pooled moments, moments by class. Of the last one.
_EARLY = (0.3, 0.7, 0.0)
_LAST = (0.3, 0.35, 0.35)
# A variance is at least so many standard deviations of its noise.
_DEVIATIONS = 3.0
# Shares of the budget: mean and squares, the length before each round, and the rounds.
_SHARE_OF_LOCATION = 0.05
_SHARE_OF_LENGTH = 0.005
# Lengths are cut at so many times the one that records of unit variance have.
_LONGEST = 8.0
# The shortest radius, as a share of that.
_SHORTEST = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class MomentShares:
    """How the budget is divided; it depends on nothing but the number of rounds.

    Parameters
    ----------
    rounds : int
        Releases of class sums and second moments; the last one has moments of each class, too.
    location : float
        Share of the first release, of the mean and the squares.
    length : float
        Share of each release of the mean length.
    """

    rounds: int
    location: float = _SHARE_OF_LOCATION
    length: float = _SHARE_OF_LENGTH

    @property
    def share(self) -> float:
        """Share of one round."""
        return (1.0 - self.location) / self.rounds - self.length

    def weights(self, number: int) -> tuple[float, float, float]:
        """Squared weights of round ``number``: class sums, pooled, by class."""
        return _LAST if number == self.rounds - 1 else _EARLY

    def noise(self, number: int, std: float) -> tuple[float, float, float]:
        """Noise of a round on sums, pooled moments and those of a class; 0 for what it has not."""
        sums, pooled, by_class = (
            std / math.sqrt(self.share * weight) if weight else 0.0
            for weight in self.weights(number)
        )
        return sums, pooled, by_class

    def diameter(self) -> float:
        """How far all of it moves under replace-one, where it moves by 1 for a record less."""
        first = location_diameter(*(math.sqrt(weight) for weight in _LOCATION))
        diameters, shares = [first], [self.location]
        for number in range(self.rounds):
            diameters += [1.0, moments_diameter(*self.weights(number))]
            shares += [self.length, self.share]
        return together(diameters, shares)


@dataclass(frozen=True, slots=True, kw_only=True)
class Location:
    """Noisy mean, shape (d,), and mean variance of each group of coordinates, shape (g,)."""

    mean: Array
    variances: Array


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundView:
    """Records as a round sees them: clip((x - offset) @ matrix / radius) to norm 1.

    Parameters
    ----------
    offset : array of shape (d,)
    matrix : array of shape (d, d), or of shape (d,) for a diagonal one
    radius : float
    """

    offset: Array
    matrix: Array
    radius: float

    def apply(self, rows: Floats) -> Array:
        """Rows of shape (n, d), each of a norm of at most 1 - 1e-6."""
        found = self.unclipped(rows)
        found /= self.radius
        return clipped(found)

    def inverted(self, rows: Array) -> Array:
        """Features from rows of the view, shape (n, d), as if none had been clipped."""
        wide: Array = rows * self.radius
        if self.matrix.ndim == 1:
            return wide / self.matrix + self.offset
        return np.asarray(np.linalg.solve(self.matrix.T, wide.T).T + self.offset)

    def unclipped(self, rows: Floats) -> Array:
        """The same without radius and clip."""
        moved = rows - self.offset
        found: Array = moved * self.matrix if self.matrix.ndim == 1 else moved @ self.matrix
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Moments:
    """What a round releases, with noise.

    Parameters
    ----------
    view : RoundView
        What it was measured of.
    sums : array of shape (classes, d)
    pooled : array of shape (d, d)
        Sum of x x' over all records.
    by_class : array of shape (classes, b, b)
        The same for each class, in the first b coordinates; b may be 0.
    noise : tuple of float
        Standard deviation of the noise on an entry of a sum, on a diagonal entry of the pooled
        moments, and on one of the moments of a class.
    """

    view: RoundView
    sums: Array
    pooled: Array
    by_class: Array
    noise: tuple[float, float, float]


def clipped(rows: Array) -> Array:
    """Rows with norms of at most 1 - 1e-6, in place."""
    bound = 1.0 - _MARGIN
    # Rows that overflow have no direction, and become zeros.
    rows[~np.isfinite(rows).all(axis=1)] = 0.0
    np.clip(rows, -1e100, 1e100, out=rows)
    norms = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    rows *= (bound / np.maximum(norms, bound))[:, None]
    return rows


def noisy_location(
    rows: Floats, groups: NDArray[np.int64], *, records: int, plan: MomentShares, std: float,
    noise: NoiseSource,
) -> Location:  # fmt: skip
    """Mean of all records, and variances of groups of coordinates.

    Parameters
    ----------
    rows : float32 array of shape (n, d)
        Features; clipped to norm 1.
    groups : int array of shape (d,)
        Public.
    records : int
        A public or noisy number to divide by.
    plan : MomentShares
        Share of this release.
    std : float
        Standard deviation of the noise of a release that has the whole budget.
    noise : NoiseSource
    """
    dimension, sizes = rows.shape[1], np.bincount(groups)
    total, squares = np.zeros(dimension), np.zeros(dimension)
    for start in range(0, len(rows), _PIECE):
        part = clipped(rows[start : start + _PIECE].astype(np.float64))
        total += part.sum(axis=0)
        squares += np.einsum("ij,ij->j", part, part)
    of_groups = np.bincount(groups, weights=squares).astype(np.float64)
    own, other = (std / math.sqrt(plan.location * weight) for weight in _LOCATION)
    drawn = noise.normal(dimension + len(of_groups))
    total += own * drawn[:dimension]
    of_groups += other * drawn[dimension:]
    mean = total / records
    # The square of a noisy mean is too large by the variance of its noise.
    of_mean = np.bincount(groups, weights=np.square(mean) - (own / records) ** 2)
    variances = (of_groups / records - of_mean) / sizes
    least = _DEVIATIONS * other / records / sizes
    return Location(mean=mean, variances=np.maximum(variances, least))


def noisy_radius(
    rows: Floats, view: RoundView, *, factor: float, records: int, plan: MomentShares, std: float,
    noise: NoiseSource,
) -> float:  # fmt: skip
    """``factor`` times the mean length of records in a view; see :func:`noisy_location`."""
    unit = math.sqrt(rows.shape[1])
    most = _LONGEST * unit
    total = np.zeros(1)
    for start in range(0, len(rows), _PIECE):
        found = view.unclipped(rows[start : start + _PIECE])
        lengths = np.sqrt(np.einsum("ij,ij->i", found, found))
        total += np.minimum(np.nan_to_num(lengths / most, nan=0.0), 1.0 - _MARGIN).sum()
    noise.add_normal(total, std=std / math.sqrt(plan.length))
    return max(factor * most * float(total[0]) / records, _SHORTEST * unit)


def noisy_moments(
    rows: Floats, labels: Labels, view: RoundView, *, classes: int, block: int,
    plan: MomentShares, number: int, std: float, noise: NoiseSource,
) -> Moments:  # fmt: skip
    """Class sums and second moments of the records in a view.

    Parameters
    ----------
    rows, labels : arrays
        Features and classes.
    view : RoundView
        Depends on public numbers and on earlier releases alone.
    classes : int
        Number of classes.
    block : int
        Coordinates of which moments of each class are released in the last round.
    plan, number, std, noise
        The shares, which round it is, and its noise; see :func:`noisy_location`.
    """
    dimension = rows.shape[1]
    stds = plan.noise(number, std)
    block = block if stds[2] else 0
    sums = np.zeros((classes, dimension))
    pooled = np.zeros((dimension, dimension))
    by_class = np.zeros((classes, block, block))
    for part, of_part in _pieces(rows, labels):
        found = view.apply(part)
        chosen = np.eye(classes)[of_part]
        sums += chosen.T @ found
        pooled += found.T @ found
        for label in range(classes) if block else ():
            own = np.ascontiguousarray(found[of_part == label, :block])
            by_class[label] += own.T @ own
    upper, inner = dimension * (dimension + 1) // 2, block * (block + 1) // 2
    drawn = noise.normal(sums.size + upper + classes * inner)
    of_pooled, of_classes = drawn[sums.size : sums.size + upper], drawn[sums.size + upper :]
    sums += stds[0] * drawn[: sums.size].reshape(sums.shape)
    add_symmetric(pooled, stds[1] * of_pooled)
    for label in range(classes):
        add_symmetric(by_class[label], stds[2] * of_classes[label * inner : (label + 1) * inner])
    return Moments(view=view, sums=sums, pooled=pooled, by_class=by_class, noise=stds)


def add_symmetric(matrix: Array, drawn: Array) -> None:
    """Add noise to a symmetric matrix: as drawn on the diagonal, half the variance beside it.

    With the entries beside the diagonal times sqrt 2, and each pair of them once, this is the same
    noise on every number that is released.

    Parameters
    ----------
    matrix : array of shape (d, d)
        Changed in place.
    drawn : array of shape (d (d + 1) / 2,)
        Independent normal numbers, for the diagonal first.
    """
    size = len(matrix)
    noise = np.zeros_like(matrix)
    noise[np.triu_indices(size, 1)] = drawn[size:] / math.sqrt(2.0)
    matrix += noise + noise.T
    matrix[np.diag_indices(size)] += drawn[:size]


def _pieces(rows: Floats, labels: Labels) -> Iterator[tuple[Floats, Labels]]:
    for start in range(0, len(rows), _PIECE):
        yield rows[start : start + _PIECE], labels[start : start + _PIECE]


def spectrum(matrix: Array, noise_bulk: float, floor: float) -> tuple[Array, Array]:
    """Eigenvalues of a noisy covariance, none below a share of the noise, and eigenvectors.

    The largest first.

    Parameters
    ----------
    matrix : array of shape (d, d)
    noise_bulk : float
        The largest eigenvalue of the noise alone; see :func:`bulk`.
    floor : float
        Share of it below which an eigenvalue says nothing.
    """
    values, vectors = np.linalg.eigh(matrix)
    return np.maximum(values, floor * noise_bulk)[::-1], vectors[:, ::-1]


def bulk(size: int, std: float) -> float:
    """The largest eigenvalue of the noise that :func:`add_symmetric` adds, nearly."""
    return math.sqrt(2.0 * size) * std


__all__ = [
    "Location",
    "MomentShares",
    "Moments",
    "RoundView",
    "add_symmetric",
    "bulk",
    "clipped",
    "noisy_location",
    "noisy_moments",
    "noisy_radius",
    "spectrum",
]
