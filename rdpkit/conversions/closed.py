r"""The conversions in closed form: Mironov's, and that of Balle et al., which is never above it.

Guarantee
---------
(a, r)-RDP implies (eps, delta)-DP with eps = r + log(1/delta) / (a - 1), and with
eps = r + log((a-1)/a) - (log delta + log a)/(a-1): upper bounds on epsilon, or on delta.

Source
------
Mironov 2017, Proposition 3 (arXiv 1702.07476v3). Balle, Barthe, Gaboardi, Hsu and Sato, "Hypothesis
testing interpretations and Renyi differential privacy", AISTATS 2020, Theorem 21 (arXiv
1905.09982v2); Canonne, Kamath and Steinke 2020, Proposition 12.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def mironov_epsilon(orders: Array, rdp: Array, delta: float) -> Array:
    """Epsilon at ``delta`` from each order on its own."""
    return np.maximum(rdp - math.log(delta) / (orders - 1.0), 0.0)


def mironov_delta(orders: Array, rdp: Array, epsilon: float) -> Array:
    """Delta at ``epsilon`` from each order on its own, at most 1."""
    return np.asarray(np.exp(np.minimum((orders - 1.0) * (rdp - epsilon), 0.0)))


def balle_epsilon(orders: Array, rdp: Array, delta: float) -> Array:
    """Epsilon at ``delta`` from each order on its own; a negative value means 0."""
    return np.maximum(rdp + balle_gap(orders, delta), 0.0)


def balle_gap(orders: Array, delta: float) -> Array:
    """What the conversion adds to a divergence."""
    return np.asarray(np.log1p(-1.0 / orders) - (math.log(delta) + np.log(orders)) / (orders - 1.0))


def balle_delta(orders: Array, rdp: Array, epsilon: float) -> Array:
    """Delta at ``epsilon`` from each order on its own, at most 1."""
    exponent = (orders - 1.0) * (rdp - epsilon + np.log1p(-1.0 / orders)) - np.log(orders)
    return np.asarray(np.exp(np.minimum(exponent, 0.0)))
