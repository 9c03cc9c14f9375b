"""Noisy moments of clipped records: where they are, and then how they vary.

First the mean and the mean square are released, with little of the budget. Then the records are
moved and scaled by what that gave, and class sums, second moments and class counts are released.
All noise is Gaussian, and each release is a sum over records. What they say is a normal law for
each class, by which records are read and drawn.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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


# No direction is thinner than this share of the mean one.
_THINNEST = 0.25
# Weight of a class's own covariance beside the shared one.
_OWN = 0.5
# Class sizes are taken to differ by about this share of their mean, if noise hides how much.
_SPREAD = 0.1
# The least size of a class, as a share of the mean.
_SMALLEST = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Discriminant:
    """A normal law for each class, with a covariance that is mostly shared."""

    means: Array  # Shape (classes, d)
    shared: Array  # Positive definite; shape (d, d)
    by_class: Array
    """In the first b coordinates each class has a covariance of its own, positive definite; b may
    be 0; shape (classes, b, b).
    """
    logarithms: Array  # Of the shares of the classes; shape (classes,)
    squares: Array  # Of the means' lengths, in units of the shared covariance; shape (classes,)

    def scores(self, rows: Array) -> Array:
        """Logarithms of the classes' densities at each row, shape (n, classes), up to a constant.

        A shared part is a linear function, and that of the first coordinates is exchanged for the
        class's own.
        """
        linear = np.linalg.solve(self.shared, self.means.T)
        found: Array = rows @ linear - 0.5 * self.squares + self.logarithms
        block = self.by_class.shape[1]
        common = np.linalg.eigh(self.shared[:block, :block])
        for label, covariance in enumerate(self.by_class if block else ()):
            moved = rows[:, :block] - self.means[label, :block]
            own = np.linalg.eigh(covariance)
            found[:, label] += _log_density(moved, *own) - _log_density(moved, *common)
        return found

    def sample(self, label: int, count: int, noise: NoiseSource) -> Array:
        """Draws from the law of a class, shape (count, d)."""
        block = self.by_class.shape[1]
        covariance = self.shared.copy()
        if block:
            covariance[:block, block:] = covariance[block:, :block] = 0.0
            covariance[:block, :block] = self.by_class[label]
        values, vectors = np.linalg.eigh(covariance)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        found: Array = noise.normal((count, len(covariance))) @ root.T + self.means[label]
        return found


def _log_density(rows: Array, values: Array, vectors: Array) -> Array:
    """That of the normal law with the mean 0 and a covariance of these eigenvalues and vectors."""
    found = rows @ (vectors / np.sqrt(values))
    return np.asarray(
        -0.5 * float(np.log(values).sum()) - 0.5 * np.einsum("ij,ij->i", found, found)
    )


def discriminant(
    moments: Moments,
    records: int,  # A public or noisy number of all records
) -> Discriminant:
    """The laws that noisy moments tell of, in so far as they stand out of the noise.

    The shared covariance is a multiple of the unit matrix, but for the directions whose variance
    differs by more than noise makes it differ.
    """
    of_sums, of_pooled, of_own, of_counts = moments.noise
    total, dimension, block = max(1, records), len(moments.pooled), moments.by_class.shape[1]
    sizes = class_sizes(moments.counts, of_counts, total)
    shares, means = sizes / sizes.sum(), moments.sums / sizes[:, None]
    between = (means.T * shares) @ means
    noise = dimension * float((shares * (of_sums / sizes) ** 2).sum())
    seen = max(0.0, 1.0 - noise / max(float(np.trace(between)), 1e-300))
    within = moments.pooled / total - seen * between
    mean = max(float(np.trace(within)) / dimension, 0.1 / dimension)
    least, unit = _THINNEST * mean, mean * np.eye(dimension)
    shared = _floored(unit + _denoised(within - unit, of_pooled / total), least)
    common, own = shared[:block, :block], np.empty_like(moments.by_class)
    for label, (size, products) in enumerate(zip(sizes, moments.by_class, strict=True)):
        centre = means[label, :block]
        apart = products / size - np.outer(centre, centre) - common
        own[label] = _floored(common + _OWN * _denoised(apart, of_own / size), least)
    return Discriminant(
        means=means, shared=shared, by_class=own, logarithms=np.log(shares),
        squares=squares(means, shared, of_sums / sizes),
    )  # fmt: skip


def squares(means: Array, shared: Array, stds: Array) -> Array:
    """Squared lengths of noisy means: the more noise they have, the nearer to equal ones.

    The square of mu + std z, in units of the covariance S, has the variance
    4 std^2 |S^-1 mu|^2 + 2 std^4 tr S^-2.
    """
    seen = np.linalg.solve(shared, means.T)
    found = np.einsum("kd,dk->k", means, seen)
    trace, variances = float(np.square(np.linalg.inv(shared)).sum()), np.square(stds)
    true_ones = np.maximum(np.square(seen).sum(axis=0) - variances * trace, 0.0)
    noise = float(np.mean(4.0 * variances * true_ones + 2.0 * np.square(variances) * trace))
    spread = float(found.var(ddof=1)) if len(found) > 1 else 0.0
    share = max(0.0, 1.0 - noise / max(spread, 1e-300))
    return np.asarray(found.mean() + share * (found - found.mean()))


def class_sizes(counts: Array, std: float, records: int) -> Array:
    """Sizes of classes from noisy ones: the more noise they have, the nearer to equal ones."""
    equal = records / len(counts)
    true = max(float(counts.var()) - std**2, 0.0) + (_SPREAD * equal) ** 2
    found = equal + (counts - counts.mean()) * true / (true + std**2)
    return np.asarray(np.maximum(found, _SMALLEST * equal))


def _denoised(matrix: Array, std: float) -> Array:
    """A symmetric matrix less the noise of :func:`add_symmetric`.

    Eigenvalues that the noise alone could have are 0; the others are as far out as they were
    before the noise (Donoho, Gavish and Johnstone 2018, arXiv 1311.0851, for this noise).
    """
    values, vectors = np.linalg.eigh(matrix)
    bulk = math.sqrt(2.0 * len(matrix)) * std
    kept = np.sign(values) * np.sqrt(np.maximum(np.square(values) - bulk**2, 0.0))
    found: Array = (vectors * kept) @ vectors.T
    return found


def _floored(matrix: Array, least: float) -> Array:
    values, vectors = np.linalg.eigh(matrix)
    found: Array = (vectors * np.maximum(values, least)) @ vectors.T
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What was released of the records."""

    view: CentredView
    moments: Moments

    def arrays(self) -> dict[str, Array]:
        """Everything by names, from which :func:`discriminant_of` makes the reader again."""
        return {
            "offset": self.view.offset,
            "radius": np.array([self.view.radius]),
            "class_sums": self.moments.sums,
            "moments": self.moments.pooled,
            "class_moments": self.moments.by_class,
            "class_counts": self.moments.counts,
        }

    def numbers(self) -> Array:
        """All noisy numbers of the release in one row, those of a matrix once."""
        upper = np.triu_indices(len(self.moments.pooled))
        block = np.triu_indices(self.moments.by_class.shape[1])
        found = [self.view.offset, np.array([self.view.radius]), self.moments.sums.reshape(-1)]
        found += [self.moments.pooled[upper], *(own[block] for own in self.moments.by_class)]
        return np.concatenate([*found, self.moments.counts])


def measure(
    rows: Floats | Array,  # Public features; shape (n, d)
    labels: Labels,  # Shape (n,)
    *,
    classes: int,  # Number of classes
    records: int,  # A public or noisy number of records
    plan: MomentShares,  # How the budget is divided
    block: int,  # Coordinates of which each class has second moments of its own
    std: float,  # Standard deviation of the noise of a release that has the whole budget
    noise: NoiseSource,
) -> Measured:
    """Release moments of the records."""
    known = max(1, records)
    view = noisy_view(rows, records=known, plan=plan, std=std, noise=noise)
    moments = noisy_moments(
        rows, labels, view, classes=classes, block=min(block, rows.shape[1]), records=known,
        plan=plan, std=std, noise=noise,
    )  # fmt: skip
    return Measured(view=view, moments=moments)


def discriminant_of(
    arrays: Mapping[str, NDArray[np.floating]],  # As :meth:`Measured.arrays` names them
    *,
    # As for :func:`measure`.
    records: int,
    plan: MomentShares,
    std: float,
) -> tuple[CentredView, Discriminant]:
    """The view and the reader of a release, from its arrays."""
    exact = {name: np.asarray(array, dtype=np.float64) for name, array in arrays.items()}
    moments = Moments(
        sums=exact["class_sums"],
        pooled=exact["moments"],
        by_class=exact["class_moments"],
        counts=exact["class_counts"],
        noise=plan.noise(std),
    )
    view = CentredView(offset=exact["offset"], radius=float(exact["radius"][0]))
    return view, discriminant(moments, max(1, records))
