r"""Balle et al.'s conversion: eps = r + log((a-1)/a) - (log delta + log a)/(a-1).

Guarantee
---------
(a, r)-RDP implies (eps, delta)-DP: an upper bound on epsilon, or on delta, never above Mironov's.

Source
------
Balle, Barthe, Gaboardi, Hsu and Sato, "Hypothesis testing interpretations and Renyi differential
privacy", AISTATS 2020, Theorem 21 (arXiv 1905.09982v2); Canonne, Kamath and Steinke 2020,
Proposition 12.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def epsilon(orders: Array, rdp: Array, delta: float) -> Array:
    """Epsilon at ``delta`` from each order on its own; a negative value means 0."""
    return np.maximum(rdp + gap(orders, delta), 0.0)


def gap(orders: Array, delta: float) -> Array:
    """What the conversion adds to a divergence."""
    return np.asarray(np.log1p(-1.0 / orders) - (math.log(delta) + np.log(orders)) / (orders - 1.0))


def delta(orders: Array, rdp: Array, epsilon: float) -> Array:
    """Delta at ``epsilon`` from each order on its own, at most 1."""
    exponent = (orders - 1.0) * (rdp - epsilon + np.log1p(-1.0 / orders)) - np.log(orders)
    return np.asarray(np.exp(np.minimum(exponent, 0.0)))
