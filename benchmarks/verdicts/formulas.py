"""Exact formulas for the privacy of textbook mechanisms, written anew so that nothing is shared.

The package under examination has most of them too. A mistake in its formulas must not be able to
hide itself here.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import log_ndtr
from scipy.stats import norm


def gaussian_delta(epsilon: float, noise: float) -> float:
    """The smallest delta of Gaussian noise at sensitivity 1 (Balle and Wang 2018, Theorem 8)."""
    upper = norm.cdf(0.5 / noise - epsilon * noise)
    lower = math.exp(epsilon + float(log_ndtr(-0.5 / noise - epsilon * noise)))
    return float(upper - lower)


@functools.cache
def gaussian_noise(epsilon: float, delta: float) -> float:
    """The smallest noise at sensitivity 1 that is (epsilon, delta)-DP, rounded up by 1e-9."""
    found = brentq(lambda noise: gaussian_delta(epsilon, noise) - delta, 1e-2, 1e3, xtol=1e-13)
    return float(found) * (1.0 + 1e-9)


def gaussian_epsilon(delta: float, noise: float) -> float:
    """The smallest epsilon of Gaussian noise at sensitivity 1; infinite where it exceeds 300."""
    return smallest_epsilon(lambda epsilon: gaussian_delta(epsilon, noise), delta)


def smallest_epsilon(profile: Callable[[float], float], delta: float) -> float:
    """Where a privacy profile falls to delta; infinite beyond 300."""
    if profile(0.0) <= delta:
        return 0.0
    if profile(300.0) > delta:
        return math.inf
    return float(brentq(lambda epsilon: profile(epsilon) - delta, 0.0, 300.0, xtol=1e-10))


def discrete_delta(epsilon: float, p: NDArray[np.float64], q: NDArray[np.float64]) -> float:
    """The smallest delta of two distributions on the same finite set, in both directions."""
    factor = math.exp(epsilon)
    there = np.maximum(p - factor * q, 0.0).sum()
    back = np.maximum(q - factor * p, 0.0).sum()
    return float(max(there, back))


def density_delta(
    epsilon: float,
    p: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    q: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    *,
    reach: float,
) -> float:
    """The smallest delta of two densities on [-reach, reach], by a fine midpoint rule."""
    edges = np.linspace(-reach, reach, 40_001)
    centres, width = 0.5 * (edges[1:] + edges[:-1]), edges[1] - edges[0]
    return discrete_delta(epsilon, p(centres) * width, q(centres) * width)


def sampled_gaussian_delta(epsilon: float, noise: float, probability: float) -> float:
    """Poisson sampling, add or remove one, where exp(epsilon) (1 - probability) >= 1.

    Then only the direction that removes a record leaks at this epsilon, and
    ``(1-q) Q + q P - e Q = q (P - (1 + (e-1)/q) Q)`` reduces it to the noise alone.
    """
    if math.exp(epsilon) * (1.0 - probability) < 1.0:
        raise ValueError(f"Expected exp(epsilon) (1 - probability) >= 1, got epsilon={epsilon}.")
    inner = math.log1p(math.expm1(epsilon) / probability)
    return probability * gaussian_delta(inner, noise)
