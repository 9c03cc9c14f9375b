r"""The moment of a sampled Gaussian profile in floats: an integral of powers over a half-line.

The mechanism's profile is h(log(1 + gamma (e^eps - 1))) = gamma delta(eps), delta that of the
Gaussian with noise multiplier z. With s = 1/z, eps = v s and L = 1 + gamma (e^eps - 1),

    A - 1 = Integral_0^inf phi(v + s/2) (L^a - 1) (1 - L^(1-a)) dv,

phi the standard normal density (theory page "Profile sampling"). No term is negative and no factor
cancels, at any real order a > 1.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from rdpkit.numerics.sampled_gaussian import log_row_sums

Array = NDArray[np.float64]

_BLOCK = 2_000_000
_NODES = 16
_WIDEST = 1.5
# Panels over the whole range up to which all orders share them; beyond, each order has its own.
_FEW_PANELS = 150
_REACH = 13.0
# Above this order/z nothing is integrated: amplification is negligible at exponents of 1e18.
_MOST_STEEP = 1e9
# Where 1 + (1-gamma)/gamma e^-eps is 1 to double precision, even to the power of any order in use.
_FLAT = 60.0


def log_excess(orders: Array, z: float, gamma: float) -> Array:
    r"""log(A - 1) at any orders.

    The integrand is analytic but for the zeros of L, at \|Im eps\| = pi and Re eps = log(1/gamma -
    1), the bend. Panels with 16 Gauss-Legendre nodes are at most 1.5 wide in v, and not wider than
    0.64 times their distance from these points: exact to double precision.

    In v the logarithm of the integrand rises by at most (a + 2/(1-e^-eps)) s and falls by v + s/2;
    beyond (max(a, 2) - 1/2) s + 13 it has fallen by e^-72 from its peak. Where the bend is passed
    by 60 in eps, it is that of a Gaussian around (a - 1/2) s to the last digit: what lies between
    there and 13 before that peak is left out. Above order/z = 1e9 the value is the larger one
    without amplification.

    Parameters
    ----------
    orders : array
        Renyi orders > 1.
    z : float
        Noise multiplier > 0.
    gamma : float
        Sampling probability in (0, 1].
    """
    bend = z * math.log((1.0 - gamma) / gamma) if gamma < 1.0 else -math.inf
    edges = _edges(bend, z, 0.0, _end(float(orders.max()), z), limit=_FEW_PANELS)
    if edges is not None:
        return _integrate(orders, z, gamma, edges[:-1], np.diff(edges))
    result = np.empty_like(orders)
    for i, order in enumerate(orders):
        if order / z > _MOST_STEEP:
            with np.errstate(over="ignore"):
                result[i] = order * (order - 1.0) * (0.5 / z) / z
            continue
        left, width = _panels(float(order), z, bend)
        result[i] = _integrate(orders[i : i + 1], z, gamma, left, width)[0]
    return result


def _end(order: float, z: float) -> float:
    return (max(order, 2.0) - 0.5) / z + _REACH


def _panels(order: float, z: float, bend: float) -> tuple[Array, Array]:
    """Where the panels of one order begin, and how wide they are."""
    flat = max(bend, 0.0) + _FLAT * z
    peak = (order - 0.5) / z
    if flat < peak - _REACH:
        parts = [(0.0, flat), (peak - _REACH, peak + _REACH + 1.0)]
    else:
        parts = [(0.0, _end(order, z))]
    edges = [_edges(bend, z, left, right) for left, right in parts]
    found = [e for e in edges if e is not None]
    return np.concatenate([e[:-1] for e in found]), np.concatenate([np.diff(e) for e in found])


def _edges(
    bend: float, z: float, start: float, end: float, *, limit: float = math.inf
) -> Array | None:
    """Panels from ``start`` to ``end``, graded around the bend; None for more than ``limit``.

    In x with v = bend + pi z sinh(x) steps of 0.64 are 0.64 times the distance of the points
    bend +- i pi z, up to where that is 1.5; beyond, v takes even steps.
    """
    pole = math.pi * z
    grade = 2.0 / math.pi
    farthest = math.acosh(max(_WIDEST / (grade * pole), 1.0))
    reach = pole * math.sinh(farthest)
    near = (max(start, bend - reach), min(end, bend + reach))
    pieces: list[tuple[float, float, bool]] = []
    if near[0] < near[1]:
        pieces = [(start, near[0], False), (*near, True), (near[1], end, False)]
    else:
        pieces = [(start, end, False)]
    edges, count = [np.array([start])], 0
    for left, right, graded in pieces:
        if not left < right:
            continue
        if graded:
            low, high = (math.asinh((v - bend) / pole) for v in (left, right))
            steps = max(1, math.ceil((high - low) / grade))
            inner = bend + pole * np.sinh(np.linspace(low, high, steps + 1))
        else:
            steps = math.ceil((right - left) / _WIDEST)
            if count + steps > limit:
                return None
            inner = np.linspace(left, right, steps + 1)
        inner[-1] = right
        count += steps
        edges.append(inner[1:])
    return np.concatenate(edges) if count <= limit else None


@lru_cache(maxsize=1)
def _gauss_legendre() -> tuple[Array, Array]:
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    return 0.5 * (nodes + 1.0), 0.5 * weights


def _integrate(orders: Array, z: float, gamma: float, left: Array, width: Array) -> Array:
    """The logarithm of the integral over the panels from ``left``, ``width`` wide."""
    nodes, weights = _gauss_legendre()
    v = (left[:, None] + width[:, None] * nodes).ravel()
    log_weights = np.log((width[:, None] * weights).ravel())
    epsilon = v / z
    with np.errstate(over="ignore"):
        grown = np.where(
            epsilon < 30.0,
            np.log1p(gamma * np.expm1(np.minimum(epsilon, 30.0))),
            np.logaddexp(math.log(gamma) + epsilon, math.log1p(-gamma) if gamma < 1.0 else -np.inf),
        )
    shifted = v + 0.5 / z
    rest = log_weights - 0.5 * shifted * shifted - 0.5 * math.log(2.0 * math.pi)
    result = np.empty_like(orders)
    rows = max(1, _BLOCK // v.size)
    for start in range(0, orders.size, rows):
        a = orders[start : start + rows, None]
        # a y + log(1 - e^(-a y)) + log(1 - e^(-(a-1) y)): the two factors, y = log L.
        terms = a * grown + np.log(np.expm1(-a * grown) * np.expm1((1.0 - a) * grown)) + rest
        result[start : start + rows] = log_row_sums(terms)
    return result
