r"""Mironov's conversion: eps = r + log(1/delta) / (a - 1).

Guarantee
---------
(a, r)-RDP implies (eps, delta)-DP: an upper bound on epsilon, or on delta.

Source
------
Mironov 2017, Proposition 3 (arXiv 1702.07476v3).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def epsilon(orders: Array, rdp: Array, delta: float) -> Array:
    """Epsilon at ``delta`` from each order on its own."""
    return np.maximum(rdp - math.log(delta) / (orders - 1.0), 0.0)


def delta(orders: Array, rdp: Array, epsilon: float) -> Array:
    """Delta at ``epsilon`` from each order on its own, at most 1."""
    return np.asarray(np.exp(np.minimum((orders - 1.0) * (rdp - epsilon), 0.0)))
