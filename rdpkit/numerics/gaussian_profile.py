r"""The privacy profile (hockey-stick divergence) of a Gaussian pair, and normal tails in balls.

For N(1, z^2) against N(0, z^2), with t = eps z - 1/(2z) and s = 1/z,

    delta(eps) = Phi(-t) - e^eps Phi(-t - s) = phi(t) [M(t) - M(t + s)],

where phi and Phi are the standard normal density and distribution function, and M is the Mills
ratio. In the tail the first form loses its digits by cancellation, and the second keeps them.
"""

from __future__ import annotations

import math

import numpy as np
from flint import arb
from numpy.typing import NDArray

from rdpkit.numerics.balls import upper_tail
from rdpkit.numerics.special import log_ndtr, mills_ratio

Array = NDArray[np.float64]


def log_delta(epsilon: Array, z: float) -> Array:
    """Log delta(eps) for eps >= 0."""
    t = epsilon * z - 0.5 / z
    s = 1.0 / z
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        tail = (
            np.log(mills_ratio(t) - mills_ratio(t + s))
            - 0.5 * t * t
            - 0.5 * math.log(2.0 * math.pi)
        )
        # Far left of the peak both probabilities are of order one and nothing cancels.
        first = log_ndtr(-t)
        left = first + np.log1p(-np.exp(epsilon + log_ndtr(-t - s) - first))
    return np.asarray(np.where(t > -5.0, tail, left))


def tail_quantile(
    # A probability in (0, 1) and 1 - p. Both are given, because one of the two may be tiny.
    p: arb,
    rest: arb,
) -> arb:
    """The x with P(N(0, 1) > x) = p."""
    root = arb(2).sqrt()
    return root * (2 * p).erfcinv() if p < rest else -root * (2 * rest).erfcinv()


def gaussian_delta(epsilon: arb, mu: arb) -> arb:
    """The delta of N(mu, 1) against N(0, 1) at an epsilon."""
    x = epsilon / mu - mu / 2
    return upper_tail(x) - epsilon.exp() * upper_tail(x + mu)
