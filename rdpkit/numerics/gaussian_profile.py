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
# Above this many panels for the whole range, each order visits those only that matter to it.
_FEW_PANELS = 150
# Above this many, with noise far below any use, the bound is said to be infinite.
_MOST_PANELS = 8_000_000
_VISIBLE = 60.0


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
    nearest singularity of the integrand is at \|Im eps\| = pi. Beyond t = (a - 1/2)/z + 12 it has
    fallen by e^-72 from its peak.

    Where these are many panels, those are left out at whose ends the integrand is below e^-60 of
    the highest such end. Within a panel it rises by less than a factor e above its ends: log delta
    is -t^2/2 plus a convex function of t (a difference of Mills ratios is a Laplace transform), and
    the logarithm of the bracket is convex in log(1+x), with a slope of -3/2 at least, which is
    convex in t with a second derivative of at most 1/(4 z^2).
    """
    width = min(1.5, 2.0 * z)
    farthest = (float(orders.max()) - 0.5) / z + 12.0
    count = math.ceil((farthest + 1.5 / z) / width)
    if count < _FEW_PANELS:
        panels = width * np.arange(count, dtype=np.float64)
        return _integrate(orders, z, gamma, panels, width)
    result = np.empty_like(orders)
    for i, order in enumerate(orders):
        count = math.ceil(((float(order) - 0.5) / z + 12.0 + 1.5 / z) / width)
        if count > _MOST_PANELS:
            result[i] = np.inf
            continue
        height = _log_integrand(orders[i : i + 1], width * np.arange(count + 1.0), z, gamma)[0]
        height = np.maximum(height[:-1], height[1:])
        visible = np.flatnonzero(height > height.max() - _VISIBLE)
        panels = width * visible.astype(np.float64)
        result[i] = _integrate(orders[i : i + 1], z, gamma, panels, width)[0]
    return result


def _log_integrand(orders: Array, t: Array, z: float, gamma: float) -> Array:
    """The logarithm of the integrand but for constants, for orders (rows) and t (columns)."""
    epsilon = t / z
    with np.errstate(over="ignore"):
        grown = np.where(
            epsilon < 30.0,
            np.log1p(gamma * np.expm1(np.minimum(epsilon, 30.0))),
            np.logaddexp(math.log(gamma) + epsilon, math.log1p(-gamma) if gamma < 1.0 else -np.inf),
        )
    a = orders[:, None]
    both = np.logaddexp((a - 2.0) * grown[None, :], -(a + 1.0) * grown[None, :])
    return np.asarray(both + log_delta(epsilon, z) + epsilon)


def _integrate(orders: Array, z: float, gamma: float, panels: Array, width: float) -> Array:
    """The logarithm of the integral over the panels that begin at ``panels``, factors included."""
    unit, unit_weights = _gauss_legendre(_NODES)
    t = (panels[:, None] + 0.5 * width * (unit[None, :] + 1.0)).ravel()
    log_weight = np.log(np.tile(unit_weights, panels.size) * (0.5 * width / z))
    result = np.empty_like(orders)
    rows = max(1, _BLOCK // t.size)
    for start in range(0, orders.size, rows):
        part = orders[start : start + rows]
        terms = _log_integrand(part, t, z, gamma) + log_weight
        result[start : start + rows] = logsumexp(terms, axis=1)
    return result + 2.0 * math.log(gamma) + np.log(orders) + np.log(orders - 1.0)
