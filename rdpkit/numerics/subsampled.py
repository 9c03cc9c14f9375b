"""Sums of Wang, Balle and Kasiviswanathan over the terms j = 2 .. order, in logarithms.

Both theorems bound the divergence r' of order a by
e^{(a-1) r'} <= 1 + sum_{j=2}^a C(a, j) gamma^j w_j, where gamma is the sampling fraction and the
weights w_j > 0 do not depend on a. All terms are positive, so nothing cancels.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from rdpkit.numerics.pearson_vajda import log_even_moments
from rdpkit.numerics.sampled_gaussian import log_expm1, log_sums_of_binomials

Array = NDArray[np.float64]


def log_weights_theorem9(highest: int, z: float) -> Array:
    """Log w_j for j = 2 .. highest of Theorem 9 for a Gaussian (r(inf) = inf, inner minimum 2)."""
    j = np.arange(2.0, highest + 1.0)
    with np.errstate(over="ignore"):
        weights = math.log(2.0) + j * (j - 1.0) / 2.0 / z / z
    weights[0] = _log_first(z)
    return weights


def log_weights_theorem27(highest: int, z: float, even: Array) -> Array:
    """Log w_j for j = 2 .. highest of Theorem 27, with ``even`` = log B(0), log B(2), ...."""
    j = np.arange(2, highest + 1)
    weights = math.log(4.0) + 0.5 * (even[j // 2] + even[(j + 1) // 2])
    weights[0] = _log_first(z)
    return np.asarray(weights)


def log_weights_minimum(highest: int, z: float) -> Array:
    """Log w_j for j = 2 .. highest, the smaller one of the two theorems for each j."""
    even = log_even_moments(highest + highest % 2, z)
    return np.minimum(log_weights_theorem9(highest, z), log_weights_theorem27(highest, z, even))


def _log_first(z: float) -> float:
    """Log min{4 (e^{r(2)} - 1), 2 e^{r(2)}} with r(2) = 1/z^2: the j = 2 term of both theorems."""
    r2 = 1.0 / z / z
    four = math.log(4.0) + float(log_expm1(np.array([r2]))[0])
    return min(four, math.log(2.0) + r2)


def log_excess_at_integers(orders: Array, gamma: float, weights: Array) -> Array:
    """Log sum_{j=2}^a C(a,j) gamma^j w_j for each integer order a; needs 0 < gamma <= 1."""
    j = np.arange(2.0, 2.0 + weights.size)
    return log_sums_of_binomials(orders, weights + j * math.log(gamma))


def rdp_by_interpolation(
    orders: Array,  # Orders > 1; shape (k,)
    # Maps integer orders (sorted, unique) to the logarithm of e^{(a-1) r'} - 1.
    excess_at: Callable[[Array], Array],
) -> Array:
    """Divergence at every order from the bound at integers, by Corollary 10.

    With D_a the divergence, (a - 1) D_a is convex in a and 0 at a = 1, so between integers it is at
    most the chord. Below 2, the chord from 1 to 2 gives the divergence at 2.
    """
    below = np.floor(orders)
    above = np.ceil(orders)
    needed = np.unique(np.concatenate([below, above]))
    needed = needed[needed >= 2.0]
    scaled = np.logaddexp(0.0, excess_at(needed))
    fraction = orders - below

    def at(points: Array) -> Array:
        index = np.searchsorted(needed, points).clip(0, needed.size - 1)
        return np.where(points < 2.0, 0.0, scaled[index])

    chord = (1.0 - fraction) * at(below) + np.where(fraction > 0.0, fraction * at(above), 0.0)
    # Below order 2 the chord starts at 0 and order - 1 is the fraction, which cancels.
    return np.asarray(np.where(orders < 2.0, at(above), chord / (orders - 1.0)))
