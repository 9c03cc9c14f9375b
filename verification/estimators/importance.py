"""Checked densities, and proposals to draw from, for estimators with known densities."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rdpkit import _validate
from rdpkit.verification.estimators.base import Array, Density, check_outputs


def density_values(name: str, density: Density, points: Array) -> Array:
    """Log-densities at points of shape (n, d), shape (n,); -inf is a density of 0.

    Raises ArithmeticError if one is NaN or +inf. Raises ValueError if they are not of shape (n,).
    """
    found = np.asarray(density.log_density(points), dtype=np.float64)
    if found.shape != (len(points),):
        raise ValueError(
            f"Expected {name}.log_density to return shape ({len(points)},), got {found.shape}."
        )
    if np.isnan(found).any() or np.isposinf(found).any():
        raise ArithmeticError(
            f"Expected the log-density of {name} to be below inf, got nan or inf."
        )
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A distribution to draw from, with a bound on its importance weights."""

    density: Density  # t, normalised. It should cover p^a q^(1-a), the tilted density.
    log_bound: float = math.inf
    """At least log(p(x)^a q(x)^(1-a) / t(x)) at every x; inf if no bound is known. If it is too
    small the interval is wrong; an error is raised if a drawn point shows that.
    """

    def __post_init__(self) -> None:
        if math.isnan(self.log_bound):
            raise _validate.fail("log_bound", "to be a real number or inf", self.log_bound)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GaussianDensity:
    """A Gaussian with equal standard deviation in every direction.

    Examples
    --------
    >>> import numpy as np
    >>> found = GaussianDensity(mean=[0.0], std=1.0).log_density(np.zeros((1, 1)))
    >>> round(float(found[0]), 6)
    -0.918939
    """

    mean: Array  # The mean
    std: float  # > 0

    def __init__(self, *, mean: ArrayLike, std: float) -> None:
        checked = _validate.real_array("mean", mean, "to be finite numbers of shape (d,)")
        if checked.ndim != 1 or checked.size == 0 or not np.isfinite(checked).all():
            raise _validate.fail("mean", "to be finite numbers of shape (d,), d >= 1", mean)
        object.__setattr__(self, "mean", checked)
        object.__setattr__(self, "std", _validate.positive("std", std))

    def sample(self, rng: np.random.Generator, n: int) -> Array:
        """Points, shape (n, d)."""
        return np.asarray(rng.normal(self.mean, self.std, (n, self.mean.size)))

    def log_density(self, x: Array) -> Array:
        """Log-densities at points of shape (n, d), shape (n,)."""
        points = check_outputs("x", x)
        if points.shape[1] != self.mean.size:
            raise _validate.fail("x", f"to be of shape (n, {self.mean.size})", x)
        unit = (points - self.mean) / self.std
        normaliser = self.mean.size * (0.5 * math.log(2.0 * math.pi) + math.log(self.std))
        return np.asarray(-0.5 * np.einsum("ij,ij->i", unit, unit) - normaliser)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MixtureDensity:
    """A mixture of distributions."""

    parts: tuple[Density, ...]  # At least one
    weights: Array  # Each > 0; they are divided by their sum; shape (k,)

    def __init__(self, *, parts: tuple[Density, ...], weights: ArrayLike) -> None:
        checked = _validate.real_array("weights", weights, "to be positive, of shape (k,)")
        if checked.shape != (len(parts),) or checked.size == 0 or not (checked > 0.0).all():
            raise _validate.fail("weights", f"to be positive, of shape ({len(parts)},)", weights)
        if not np.isfinite(checked).all():
            raise _validate.fail("weights", "to be finite", weights)
        object.__setattr__(self, "parts", tuple(parts))
        object.__setattr__(self, "weights", checked / checked.sum())

    def sample(self, rng: np.random.Generator, n: int) -> Array:
        """Independent points, shape (n, d), in random order."""
        which = rng.choice(len(self.parts), size=n, p=self.weights)
        points: Array | None = None
        for index, part in enumerate(self.parts):
            chosen = which == index
            size = int(chosen.sum())
            if size == 0:
                continue
            drawn = check_outputs(f"points of part {index}", part.sample(rng, size), minimum=size)
            if points is None:
                points = np.empty((n, drawn.shape[1]))
            points[chosen] = drawn
        assert points is not None
        return points

    def log_density(self, x: Array) -> Array:
        """Log-densities at points of shape (n, d), shape (n,)."""
        terms = np.stack(
            [
                math.log(weight) + density_values(f"part {index}", part, x)
                for index, (part, weight) in enumerate(zip(self.parts, self.weights, strict=True))
            ]
        )
        return np.asarray(np.logaddexp.reduce(terms, axis=0))
