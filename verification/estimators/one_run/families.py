r"""Families of trade-off curves, by how much they leak.

A lower bound needs a family: it says which of its members are refuted. Each member is given by

    F(x) = f^-1(1 - x):  the least false positive rate of an attack whose true positive rate is x,

where f is the trade-off curve of the member, a lower bound in both orders of two neighbours. F is
increasing and convex, and F(x) <= x.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from scipy.special import ndtr, ndtri

from rdpkit import _validate
from rdpkit.numerics.gaussian_profile import log_delta
from rdpkit.verification.estimators.base import Array

# Relative errors of the two special functions together are far below this.
_SLACK = 1e-12
_STEP = 1e-9
_CELL = 0.125


@runtime_checkable
class LeakFamily(Protocol):
    """Trade-off curves that are ordered by one number, their leak.

    A member with a larger leak has a trade-off curve that is nowhere higher. Every number that a
    family hands out may be rounded, in the direction that makes refuting harder.
    """

    @property
    def name(self) -> str:
        """What the leak is, in words that follow "a leak of"."""
        ...

    def rates(self, leak: float, found: Array) -> Array:
        """F of the member with this leak, or less, at true positive rates in [0, 1]."""
        ...

    def epsilon(self, leak: float, delta: float) -> float:
        """The epsilon at delta that the member with this leak has, or less."""
        ...

    def cells(self) -> Array:
        """Leaks at which the tests may change, ascending from 0; the last is the largest asked."""
        ...


@dataclass(frozen=True, slots=True)
class GaussianFamily:
    """Gaussian differential privacy: the leak is mu.

    Guarantee
    ---------
    A mechanism is mu-GDP if telling two neighbours apart is no easier than telling N(mu, 1) from
    N(0, 1). A bound L says that the mechanism is not mu-GDP for any mu < L.
    """

    @property
    def name(self) -> str:
        """What the leak is."""
        return "mu of Gaussian differential privacy"

    def rates(self, leak: float, found: Array) -> Array:
        """Phi(Phi^-1(x) - mu), rounded down."""
        return np.asarray(ndtr(ndtri(found) - leak) * (1.0 - _SLACK))

    def epsilon(self, leak: float, delta: float) -> float:
        """The epsilon of two Gaussians at the distance ``leak``, rounded down to 1e-9."""
        if leak <= 0.0 or delta <= 0.0:
            return 0.0 if leak <= 0.0 else float("inf")
        wanted = np.log(delta)
        spread = 1.0 / leak

        def is_above(epsilon: float) -> bool:
            return bool(log_delta(np.array([epsilon]), spread)[0] > wanted + _SLACK)

        if not is_above(0.0):
            return 0.0
        low, high = 0.0, 1.0
        while is_above(high):
            low, high = high, 2.0 * high
        while high - low > _STEP * max(1.0, low):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if is_above(middle) else (low, middle)
        return low

    def cells(self) -> Array:
        """Steps of an eighth."""
        return np.arange(0.0, 40.0 + _CELL, _CELL)


GAUSSIAN = GaussianFamily()
"""Gaussian differential privacy, by mu."""


@dataclass(frozen=True, slots=True, eq=False)
class ProfileCurve:
    """The trade-off curve below which (epsilon, delta)-DP at some epsilons keeps every attack."""

    # Points with delta(epsilon) at most the given delta, for both orders of two neighbours.
    epsilons: Array
    deltas: Array

    def __post_init__(self) -> None:
        for name in ("epsilons", "deltas"):
            array = _validate.real_array(name, getattr(self, name), "to be numbers >= 0")
            object.__setattr__(self, name, array)
        if self.epsilons.shape != self.deltas.shape or self.epsilons.ndim != 1:
            raise _validate.fail("deltas", "to be as many as epsilons", self.deltas)
        if not (np.all(self.epsilons >= 0.0) and np.all((self.deltas >= 0.0) & (self.deltas <= 1))):
            raise _validate.fail("deltas", "in [0, 1], at epsilons >= 0", self.deltas)

    def rates(self, found: Array) -> Array:
        """F at true positive rates, rounded down.

        An event with probability x on one data set has at least e^-epsilon (x - delta) on the
        other, and at least 1 - delta - e^epsilon (1 - x).
        """
        x = np.asarray(found, dtype=np.float64)
        least = np.zeros_like(x)
        for epsilon, delta in zip(self.epsilons, self.deltas, strict=True):
            np.maximum(least, np.exp(-epsilon) * (x - delta), out=least)
            if epsilon < _LARGEST_EXPONENT:
                np.maximum(least, 1.0 - delta - np.exp(epsilon) * (1.0 - x), out=least)
        return np.asarray(np.maximum(0.0, least * (1.0 - _SLACK) - _TINY * (least > 0.5)))


_LARGEST_EXPONENT = 700.0
_TINY = 1e-12
