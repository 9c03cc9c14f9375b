"""Noisy moments of clipped records: where they are, and then how they vary.

First the mean and the mean square are released, with little of the budget. Then the records are
moved and scaled by what that gave, and class sums, second moments and class counts are released.
All noise is Gaussian, and each release is a sum over records.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from rdpkit import Adjacency
from rdpkit.events import ClassMoments
from rdpkit.mechanisms.parts.labelled_images import Floats, Labels
from rdpkit.mechanisms.parts.moments.basis import Array
from rdpkit.mechanisms.parts.noise import NoiseSource

# How far one record moves sums of records and of their products.
#
# The proofs are on the pages :doc:`/theory/moments` and :doc:`/theory/moments-rounds`.

# Squared diameters are rounded up by more than the rounding errors of their few operations.
_UP = 1.0 + 1e-14


def moments_diameter(
    # Squares of the weights of the class sums, of the second moments of all records, of those of
    # each class, of which a block of coordinates may be left, and of class counts. They add up to
    # 1.
    sums: float,
    pooled: float,
    by_class: float,
    counts: float = 0.0,
) -> float:
    """How far class sums, moments and counts move under replace-one; see :class:`ClassMoments`."""
    event = ClassMoments(
        noise_std=1.0,
        sum_weight=math.sqrt(sums),
        pooled_weight=math.sqrt(pooled),
        class_weight=math.sqrt(by_class),
        count_weight=math.sqrt(counts),
    )
    # The squares of the roots add up to 1 only nearly.
    return min(2.0, event.sensitivity(Adjacency.REPLACE_ONE) * _UP)


def location_diameter(
    # Weights of the sum of all records, of norms of at most 1, and of the sums of the squares of
    # the coordinates of each group. The squares of the weights add up to 1.
    sums: float,
    squares: float,
) -> float:
    """An upper bound on how far a sum and sums of squares of groups move under replace-one."""
    return min(2.0, _root_up(4.0 * sums * sums + 2.0 * squares * squares))


def together(
    diameters: Sequence[float],  # Of the releases
    shares: Sequence[float],  # Their shares, which add up to 1
) -> float:
    """The diameter of one Gaussian release that is as private as several, one after the other.

    A release that moves by at most d, with noise of standard deviation s / sqrt(share), is a
    Gaussian mechanism with the mean sqrt(share) d / s. Several, each of which may depend on what
    the ones before it gave, are as private as one with the root of the sum of squares of the means.
    """
    return min(2.0, _root_up(math.fsum(s * d * d for s, d in zip(shares, diameters, strict=True))))


def _root_up(square: float) -> float:
    return math.nextafter(math.sqrt(square * _UP), math.inf)


_PIECE = 4096  # Rows that are summed at once
_LEAST_MARGIN = 1e-6  # Of norms, for rounding
# So many times the known number of records may there be.
_MORE_RECORDS = 4
# Squared weights of the first release: mean and mean square.
_LOCATION = (0.7, 0.3)
# A mean square is at least so many standard deviations of its noise.
_DEVIATIONS = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class MomentShares:
    """How the budget is divided."""

    location: float  # Share of the first release, of the mean and the mean square
    # Squared weights of the second release: class sums, second moments of all records, those of
    # each class, and class counts. They add up to 1.
    sums: float
    pooled: float
    by_class: float
    counts: float

    def location_noise(self, std: float) -> tuple[float, float]:
        """Noise of the first release on the mean and on the mean square."""
        mean, square = (std / math.sqrt(self.location * weight) for weight in _LOCATION)
        return mean, square

    def noise(self, std: float) -> tuple[float, float, float, float]:
        """Noise on sums, pooled moments, those of a class, counts; 0 for what is not released."""
        sums, pooled, by_class, counts = (
            std / math.sqrt((1.0 - self.location) * weight) if weight else 0.0
            for weight in (self.sums, self.pooled, self.by_class, self.counts)
        )
        return sums, pooled, by_class, counts

    def diameter(self) -> float:
        """How far all of it moves under replace-one, where it moves by 1 for a record less."""
        first = location_diameter(*(math.sqrt(weight) for weight in _LOCATION))
        second = moments_diameter(self.sums, self.pooled, self.by_class, self.counts)
        return together((first, second), (self.location, 1.0 - self.location))


# Without moments of each class, and with them, where there are many records for the noise.
OF_ALL = MomentShares(location=0.06, sums=0.85, pooled=0.12, by_class=0.0, counts=0.03)
OF_CLASSES = MomentShares(location=0.06, sums=0.3, pooled=0.4, by_class=0.28, counts=0.02)


@dataclass(frozen=True, slots=True, kw_only=True)
class CentredView:
    """Records as the second release sees them: clip((x - offset) / radius) to norm 1."""

    offset: Array  # Shape (d,)
    radius: float

    def apply(self, rows: Floats | Array, margin: float = _LEAST_MARGIN) -> Array:
        """Rows of shape (n, d), each of a norm of at most 1 - ``margin``."""
        return clipped((rows.astype(np.float64) - self.offset) / self.radius, margin)

    def inverted(self, rows: Array) -> Array:
        """Rows from rows of the view, as if none had been clipped."""
        return rows * self.radius + self.offset


@dataclass(frozen=True, slots=True, kw_only=True)
class Moments:
    """What is released of the records in a view, with noise."""

    sums: Array  # Shape (classes, d)
    pooled: Array  # Sum of x x' over all records; shape (d, d)
    by_class: Array
    """The same for each class, in the first b coordinates; b may be 0; shape (classes, b, b)."""
    counts: Array  # Numbers of records; shape (classes,)
    noise: tuple[float, float, float, float]
    """Standard deviation of the noise on an entry of a sum, on a diagonal entry of the pooled
    moments, on one of the moments of a class, and on a count.
    """


def margin_of(records: int) -> float:
    """How much below 1 norms are kept, so that rounding moves no sum beyond its bound.

    A sum of n rows is made of pieces, so that it is wrong by less than (4096 + n / 4096) n u, for
    the unit u of rounding, in the L2 norm of a vector as well. As much again is for what features
    are wrong by, and neighbours are so twice. All that is below 1e-6 for up to 130,000 known
    records, with room for four times as many as are known.
    """
    most = _MORE_RECORDS * records
    wrong = (2 * _PIECE + most / _PIECE) * most * 2.0**-53
    return min(0.5, max(_LEAST_MARGIN, 2.0 * wrong))


def clipped(rows: Array, margin: float) -> Array:
    """Rows with norms of at most 1 - ``margin``, in place."""
    bound = 1.0 - margin
    # Rows that overflow have no direction, and become zeros.
    rows[~np.isfinite(rows).all(axis=1)] = 0.0
    np.clip(rows, -1e100, 1e100, out=rows)
    norms = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    rows *= (bound / np.maximum(norms, bound))[:, None]
    return rows


def noisy_view(
    rows: Floats | Array,  # Features; clipped to norm 1; shape (n, d)
    *,
    records: int,  # A public or noisy number to divide by
    plan: MomentShares,  # Share of this release
    std: float,  # Standard deviation of the noise of a release that has the whole budget
    noise: NoiseSource,
) -> CentredView:
    """Where records are, and their root mean square distance from there."""
    dimension = rows.shape[1]
    found, margin = np.zeros(dimension + 1), margin_of(records)
    for part, _ in _pieces(rows, np.zeros(len(rows), dtype=np.int64)):
        kept = clipped(part.astype(np.float64), margin)
        found[:-1] += kept.sum(axis=0)
        found[-1] += np.einsum("ij,ij->", kept, kept)
    own, other = plan.location_noise(std)
    drawn = noise.normal(dimension + 1)
    mean = (found[:-1] + own * drawn[:-1]) / records
    # The square of a noisy mean is too large by the variance of its noise.
    of_mean = max(0.0, float(np.square(mean).sum()) - dimension * (own / records) ** 2)
    square = (float(found[-1]) + other * float(drawn[-1])) / records - of_mean
    least = min(1.0, _DEVIATIONS * other / records)
    return CentredView(offset=mean, radius=math.sqrt(min(1.0, max(square, least))))


def noisy_moments(
    rows: Floats | Array, labels: Labels, view: CentredView, *, classes: int, block: int,
    records: int, plan: MomentShares, std: float, noise: NoiseSource,
) -> Moments:  # fmt: skip
    """Class sums, second moments and class counts of the records in a view.

    The view depends on public numbers and on an earlier release alone. Moments of each class are
    released of ``block`` coordinates, if the plan has a share for them. For the others see
    :func:`noisy_view`.
    """
    dimension, stds, margin = rows.shape[1], plan.noise(std), margin_of(records)
    block = block if stds[2] else 0
    sums = np.zeros((classes, dimension))
    pooled = np.zeros((dimension, dimension))
    by_class = np.zeros((classes, block, block))
    counts = np.bincount(labels, minlength=classes).astype(np.float64)
    for part, of_part in _pieces(rows, labels):
        found = view.apply(part, margin)
        sums += np.eye(classes)[of_part].T @ found
        pooled += found.T @ found
        for label in range(classes) if block else ():
            own = np.ascontiguousarray(found[of_part == label, :block])
            by_class[label] += own.T @ own
    noise.add_normal(sums, std=stds[0])
    add_symmetric(pooled, stds[1], noise)
    for own in by_class if block else ():
        add_symmetric(own, stds[2], noise)
    noise.add_normal(counts, std=stds[3])
    return Moments(sums=sums, pooled=pooled, by_class=by_class, counts=counts, noise=stds)


def add_symmetric(matrix: Array, std: float, source: NoiseSource) -> None:
    """Add noise to a symmetric matrix, in place: half of the variance beside the diagonal.

    With the entries beside the diagonal times sqrt 2, and each pair of them once, this is the same
    noise on every number that is released.
    """
    size = len(matrix)
    drawn = std * source.normal(size * (size + 1) // 2)
    noise = np.zeros_like(matrix)
    noise[np.triu_indices(size, 1)] = drawn[size:] / math.sqrt(2.0)
    matrix += noise + noise.T
    matrix[np.diag_indices(size)] += drawn[:size]


def _pieces(rows: Floats | Array, labels: Labels) -> Iterator[tuple[Floats | Array, Labels]]:
    for start in range(0, len(rows), _PIECE):
        yield rows[start : start + _PIECE], labels[start : start + _PIECE]
