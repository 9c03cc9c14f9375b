r"""The privacy profile (hockey-stick divergence) of a Gaussian pair, and integrals over it.

For N(1, z^2) against N(0, z^2), with t = eps z - 1/(2z) and s = 1/z,

    delta(eps) = Phi(-t) - e^eps Phi(-t - s) = phi(t) [M(t) - M(t + s)],

M the Mills ratio: the second form keeps its digits in the tail, where the first cancels.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, log_ndtr, logsumexp

Array = NDArray[np.float64]

_BLOCK = 2_000_000
_NODES = 16
# Above this many panels for the whole range, each order visits its own three windows only.
_FEW_PANELS = 150


def log_delta(epsilon: Array, z: float) -> Array:
    """Log delta(eps) for eps >= 0."""
    t = epsilon * z - 0.5 / z
    s = 1.0 / z
    root = math.sqrt(0.5)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        mills = math.sqrt(math.pi / 2.0) * (erfcx(t * root) - erfcx((t + s) * root))
        tail = np.log(mills) - 0.5 * t * t - 0.5 * math.log(2.0 * math.pi)
        # Far left of the peak both probabilities are of order one and nothing cancels.
        first = log_ndtr(-t)
        left = first + np.log1p(-np.exp(epsilon + log_ndtr(-t - s) - first))
    return np.asarray(np.where(t > -5.0, tail, left))


@lru_cache(maxsize=8)
def _gauss_legendre(count: int) -> tuple[Array, Array]:
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return nodes, weights


def log_excess_of_sampled_profile(orders: Array, z: float, gamma: float) -> Array:
    r"""log(A - 1) of a mechanism whose profile is h(log(1 + gamma (e^eps - 1))) = gamma delta(eps).

    With x = gamma (e^eps - 1) the hockey-stick integral becomes

        A - 1 = a (a-1) gamma^2 Integral_0^inf [(1+x)^(a-2) + (1+x)^(-a-1)] delta(eps) e^eps d eps,

    a positive integrand at every real a > 1. In t = eps z it varies on the scale min(1, z); panels
    of that width with 16 Gauss-Legendre nodes each are exact to double precision, because the
    nearest singularity of the integrand is at \|Im eps\| = pi. Its logarithm is that of a Gaussian
    around t = 1.5/z where x is small, and around t = (a - 1/2)/z where x is large, with a bend of
    width z where x = 1: 12 to either side of these three points it has fallen by e^-72, and nothing
    else is visited.
    """
    width = min(1.5, 2.0 * z)
    bend = z * math.log1p(1.0 / gamma)
    farthest = (float(orders.max()) - 0.5) / z + 12.0
    if farthest / width < _FEW_PANELS:
        panels = width * np.arange(math.ceil((farthest + 1.5 / z) / width), dtype=np.float64)
        return _integrate(orders, z, gamma, panels, width)
    result = np.empty_like(orders)
    for i, order in enumerate(orders):
        found: set[int] = set()
        for centre in (1.5 / z, bend, (order - 0.5) / z):
            first = math.floor(max(centre - 12.0 - width, 0.0) / width)
            found.update(range(first, math.ceil((centre + 12.0 + width) / width)))
        panels = width * np.array(sorted(found), dtype=np.float64)
        result[i] = _integrate(orders[i : i + 1], z, gamma, panels, width)[0]
    return result


def _integrate(orders: Array, z: float, gamma: float, panels: Array, width: float) -> Array:
    """The logarithm of the integral over the panels that begin at ``panels``, factors included."""
    unit, unit_weights = _gauss_legendre(_NODES)
    t = (panels[:, None] + 0.5 * width * (unit[None, :] + 1.0)).ravel()
    epsilon = t / z
    log_weight = np.log(np.tile(unit_weights, panels.size) * (0.5 * width / z))
    with np.errstate(over="ignore"):
        grown = np.where(
            epsilon < 30.0,
            np.log1p(gamma * np.expm1(np.minimum(epsilon, 30.0))),
            np.logaddexp(math.log(gamma) + epsilon, math.log1p(-gamma) if gamma < 1.0 else -np.inf),
        )
    base = log_weight + log_delta(epsilon, z) + epsilon
    result = np.empty_like(orders)
    rows = max(1, _BLOCK // t.size)
    for start in range(0, orders.size, rows):
        a = orders[start : start + rows, None]
        both = np.logaddexp((a - 2.0) * grown[None, :], -(a + 1.0) * grown[None, :])
        result[start : start + rows] = logsumexp(both + base[None, :], axis=1)
    return result + 2.0 * math.log(gamma) + np.log(orders) + np.log(orders - 1.0)
