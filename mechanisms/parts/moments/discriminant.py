"""What noisy moments say: a normal law for each class, by which records are read and drawn."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rdpkit.mechanisms.parts.labelled_images import Floats, Labels
from rdpkit.mechanisms.parts.moments.basis import Array
from rdpkit.mechanisms.parts.moments.noisy import (
    CentredView,
    Moments,
    MomentShares,
    noisy_moments,
    noisy_view,
)
from rdpkit.mechanisms.parts.noise import NoiseSource

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
        if not block:
            return found
        common = _Quadratic.of(self.shared[:block, :block])
        for label, covariance in enumerate(self.by_class):
            moved = rows[:, :block] - self.means[label, :block]
            found[:, label] += _Quadratic.of(covariance)(moved) - common(moved)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Quadratic:
    """The logarithm of a normal density with the mean 0, up to a constant."""

    roots: Array
    constant: float

    @classmethod
    def of(cls, covariance: Array) -> _Quadratic:
        values, vectors = np.linalg.eigh(covariance)
        return cls(roots=vectors / np.sqrt(values), constant=-0.5 * float(np.log(values).sum()))

    def __call__(self, rows: Array) -> NDArray[np.float64]:
        found = rows @ self.roots
        return np.asarray(self.constant - 0.5 * np.einsum("ij,ij->i", found, found))


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


# All that one release asks of the records, and the reader that it amounts to.


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
