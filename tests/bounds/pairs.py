"""Exact divergences of explicit pairs of neighbours: no sound bound may be below them."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import logsumexp


def mixtures_on_a_line(order: float, z: float, q: float, first: float, second: float) -> float:
    """D_order((1-q) N(0) + q N(first) || (1-q) N(0) + q N(second)), variances z^2, on a line."""
    reach = 12.0 * z + 2.0 * order
    step = min(z / 4.0, z * z / 2.0)
    x = np.arange(-reach, reach + step, step)
    base = -(x**2) / (2.0 * z * z) - math.log(z * math.sqrt(2.0 * math.pi) / step)

    def ratio(mean: float) -> np.ndarray:
        exponent = (2.0 * x * mean - mean * mean) / (2.0 * z * z)
        return np.logaddexp(math.log1p(-q), math.log(q) + exponent)

    logs = base + order * ratio(first) + (1.0 - order) * ratio(second)
    return float(logsumexp(logs)) / (order - 1.0)


def mixtures_in_the_plane(order: float, z: float, q: float) -> float:
    """The same for two means that form an equilateral triangle of side 1 with the origin."""
    reach = 12.0 * z + order
    step = min(z / 3.0, z * z / 2.0)
    axis = np.arange(-reach, reach + step, step)
    x, y = axis[:, None], axis[None, :]
    base = -(x**2 + y**2) / (2.0 * z * z) - 2.0 * math.log(z * math.sqrt(2.0 * math.pi) / step)

    def ratio(side: float) -> np.ndarray:
        along = math.sqrt(0.75) * x + side * 0.5 * y
        exponent = (2.0 * along - 1.0) / (2.0 * z * z)
        return np.logaddexp(math.log1p(-q), math.log(q) + exponent)

    logs = base + order * ratio(1.0) + (1.0 - order) * ratio(-1.0)
    return float(logsumexp(logs)) / (order - 1.0)
