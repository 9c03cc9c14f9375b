"""Exact divergences of explicit pairs of neighbours: no sound bound may be below them."""

import math

import numpy as np
from scipy.special import logsumexp

from rdpkit.numerics.sampled_gaussian import log_likelihood_ratio

# Places of a record and of what replaces it, not more than 1 from each other and from all others.
GEOMETRIES = {
    "add": ((1.0, 0.0), (0.0, 0.0)),
    "remove": ((0.0, 0.0), (1.0, 0.0)),
    "equilateral": ((1.0, 0.0), (0.5, math.sqrt(3.0) / 2.0)),
    "collinear": ((0.5, 0.0), (-0.5, 0.0)),
    "same side": ((0.4, 0.0), (1.0, 0.0)),
    "oblique": ((0.9, 0.3), (0.2, -0.3)),
}


def exact_divergence(order, z, q, v, w):
    """D_order((1-q) N(0) + q N(v) || (1-q) N(0) + q N(w)) in the plane, variances z^2.

    In floats, by the trapezoid rule, good to about 1e-15 z/q relative.
    """
    corners = np.array([(0, 0), v, w, np.multiply(order, v)])
    corners = np.vstack([corners, np.multiply(order, v) + np.multiply(1 - order, w)])
    low, high = corners.min(axis=0) - 10 * z, corners.max(axis=0) + 10 * z
    step = min(z / 2.5, z * z / 2.5)
    axes = [np.arange(a, b + step, step) for a, b in zip(low, high, strict=True)]
    x, y = np.meshgrid(*axes, indexing="ij")
    # The logarithm of N(0, z^2 I) times the step.
    weights = -(x * x + y * y) / (2 * z * z) + 2 * math.log(step / (z * math.sqrt(2 * math.pi)))
    # log_likelihood_ratio is for (2 t - 1) / (2 z^2): turn the ratio of densities into that t.
    first, second = (
        log_likelihood_ratio(x * a + y * b - (a * a + b * b) / 2 + 0.5, z, q) for a, b in (v, w)
    )
    power = order * first + (1 - order) * second
    with np.errstate(over="ignore", invalid="ignore"):
        bracket = np.expm1(power) - order * np.expm1(first) - (1 - order) * np.expm1(second)
        moderate = float((np.where(power < 200, bracket, 0.0) * np.exp(weights)).sum())
    if (power < 200).all():
        return math.log1p(moderate) / (order - 1)
    huge = float(logsumexp((power + weights)[power >= 200]))
    return float(np.logaddexp(math.log1p(max(moderate, 0.0)), huge)) / (order - 1)
