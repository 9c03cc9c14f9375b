"""What noisy moments say: means and covariances of the classes, a view of the records, a reader."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rdpkit.mechanisms.parts.moments.rounds import Array, Moments, RoundView, bulk, spectrum
from rdpkit.mechanisms.parts.noise import NoiseSource

# Eigenvalues of covariances are at least these shares of the largest one of their noise: where
# records are whitened, where classes share a covariance, and for one class.
_FLOOR_WHITENED = 0.1
_FLOOR_SHARED = 0.25
_FLOOR_OF_CLASS = 0.3
# No direction of a class is thinner than this share of its widest one.
_THINNEST = 0.02
# Weight of the shared covariance in that of a class.
_SHRINKAGE = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """Means of the classes, shape (classes, d), and the variance of their noise, shape (d,)."""

    values: Array
    variances: Array


def proportions(counts: Sequence[int]) -> Array:
    """Shares of the classes."""
    found = np.maximum(np.asarray(counts, dtype=np.float64), 1.0)
    return np.asarray(found / found.sum())


def means_of(moments: Moments, counts: Sequence[int], before: Means | None) -> Means:
    """Means of a round, together with those of the rounds before it, in the view of this one.

    Parameters
    ----------
    moments : Moments
        The round.
    counts : sequence of int
        Public or noisy numbers of records by class.
    before : Means, optional
        What :func:`whitened` has moved into this view.
    """
    sizes = np.maximum(np.asarray(counts, dtype=np.float64), 1.0)
    values = moments.sums / sizes[:, None]
    variances = np.full(values.shape[1], (moments.noise[0] / sizes.mean()) ** 2)
    if before is None:
        return Means(values=values, variances=variances)
    share = before.variances / (before.variances + variances)
    return Means(values=share * values + (1.0 - share) * before.values, variances=share * variances)


def within(moments: Moments, means: Means, counts: Sequence[int]) -> Array:
    """Noisy covariance that the classes share."""
    shares = proportions(counts)
    total = max(1.0, float(np.sum(counts)))
    found: Array = moments.pooled / total - (means.values.T * shares) @ means.values
    return found


def whitened(moments: Moments, means: Means, counts: Sequence[int]) -> tuple[RoundView, Means]:
    """A view in which classes vary about equally in all directions, and the means in it.

    The view has the radius 1, and so have the means: both are to be divided by the next radius.
    Directions in which classes varied most come first.
    """
    shares, total = proportions(counts), max(1.0, float(np.sum(counts)))
    noise = bulk(len(moments.pooled), moments.noise[1]) / total
    values, vectors = spectrum(within(moments, means, counts), noise, _FLOOR_WHITENED)
    # Eigenvectors have no sign of their own.
    turn = vectors * np.where(vectors.sum(axis=0) < 0.0, -1.0, 1.0) / np.sqrt(values)
    centre = shares @ means.values
    old = moments.view
    if old.matrix.ndim == 1:
        matrix = (old.matrix / old.radius)[:, None] * turn
        offset = old.offset + centre * old.radius / old.matrix
    else:
        matrix = old.matrix @ turn / old.radius
        offset = old.offset + np.linalg.solve(old.matrix.T, centre * old.radius)
    moved = Means(
        values=(means.values - centre) @ turn,
        variances=np.square(turn).T @ means.variances,
    )
    return RoundView(offset=offset, matrix=matrix, radius=1.0), moved


def at_radius(
    view: RoundView, means: Means | None, radius: float
) -> tuple[RoundView, Means | None]:
    """The same view with a radius, and the means in it."""
    found = RoundView(offset=view.offset, matrix=view.matrix, radius=radius)
    if means is None:
        return found, None
    return found, Means(values=means.values / radius, variances=means.variances / radius**2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Discriminant:
    """A normal law for each class, with a covariance that is mostly shared.

    In the first b coordinates the covariance of a class is half its own and half the shared one; in
    the others it is the shared one.

    Parameters
    ----------
    means : array of shape (classes, d)
    shared : array of shape (d, d)
        Positive definite.
    common : array of shape (b, b)
        The shared covariance in the first b coordinates alone, which are known better.
    by_class : array of shape (classes, b, b)
        Positive definite; b may be 0.
    logarithms : array of shape (classes,)
        Of the shares of the classes.
    """

    means: Array
    shared: Array
    common: Array
    by_class: Array
    logarithms: Array

    def scores(self, rows: Array) -> Array:
        """Logarithms of the classes' densities at each row, shape (n, classes), up to a constant.

        A shared part is a linear function, and that of the first coordinates is exchanged for the
        class's own.
        """
        linear = np.linalg.solve(self.shared, self.means.T)
        found: Array = rows @ linear - 0.5 * np.einsum("kd,dk->k", self.means, linear)
        found += self.logarithms
        block = self.by_class.shape[1]
        if not block:
            return found
        common = _Quadratic.of(self.common)
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


def discriminant(moments: Moments, means: Means, counts: Sequence[int]) -> Discriminant:
    """The laws that noisy moments of the last round are nearest to, with floors from the noise."""
    total = max(1.0, float(np.sum(counts)))
    noise = bulk(len(moments.pooled), moments.noise[1]) / total
    covariance = within(moments, means, counts)
    shared = _floored(covariance, noise, _FLOOR_SHARED)
    block = moments.by_class.shape[1]
    common = _floored(covariance[:block, :block], noise, _FLOOR_SHARED)
    own = np.empty_like(moments.by_class)
    for label, (size, products) in enumerate(zip(counts, moments.by_class, strict=True)):
        mean = means.values[label, :block]
        number = max(1.0, float(size))
        covariance = products / number - np.outer(mean, mean)
        mixed = _SHRINKAGE * common + (1.0 - _SHRINKAGE) * covariance
        noise = (1.0 - _SHRINKAGE) * bulk(block, moments.noise[2]) / number if block else 0.0
        widest = float(np.linalg.eigvalsh(mixed)[-1]) if block else 0.0
        own[label] = _floored(
            mixed, max(noise, _THINNEST / _FLOOR_OF_CLASS * widest), _FLOOR_OF_CLASS
        )
    return Discriminant(
        means=means.values,
        shared=shared,
        common=common,
        by_class=own,
        logarithms=np.log(proportions(counts)),
    )


def _floored(matrix: Array, noise: float, floor: float) -> Array:
    if not len(matrix):
        return matrix
    values, vectors = spectrum(matrix, noise, floor)
    # Without any noise, a singular covariance still gets an inverse.
    values = np.maximum(values, 1e-12 * max(float(values[0]), 1e-12))
    found: Array = (vectors * values) @ vectors.T
    return found


__all__ = [
    "Discriminant",
    "Means",
    "at_radius",
    "discriminant",
    "means_of",
    "proportions",
    "whitened",
    "within",
]
