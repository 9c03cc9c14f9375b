r"""The moment of a sampled Gaussian profile in floats: an integral of powers over a half-line.

The profile h of the mechanism is h(log(1 + gamma (e^eps - 1))) = gamma delta(eps), where gamma is
the sampling probability and delta is the profile of the Gaussian mechanism with noise multiplier z.
Let s = 1/z, eps = v s and L = 1 + gamma (e^eps - 1), and let phi be the standard normal density. At
any real order a > 1 the moment A is (theory page "Profile sampling")

    A = 1 + Integral_0^inf phi(v + s/2) (L^a - 1) (1 - L^(1-a)) dv.

The integrand is not negative, and its factors lose no digits.
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
# All orders share their panels if no more than this many cover the whole range.
_FEW_PANELS = 150
_REACH = 13.0
# Above this order/z the exponents reach 1e18 and amplification is negligible: nothing is
# integrated.
_MOST_STEEP = 1e9
# At eps this far beyond the bend, every power in use of 1 + (1-gamma)/gamma e^-eps is 1 in doubles.
_FLAT = 60.0


def log_excess(
    orders: Array,  # Renyi orders > 1
    z: float,  # Noise multiplier > 0
    gamma: float,  # Sampling probability in (0, 1]
) -> Array:
    r"""log(A - 1) at any orders.

    The integrand is analytic except at the zeros of L, at \|Im eps\| = pi and
    Re eps = log(1/gamma - 1). This real part is called the bend. Panels with 16 Gauss-Legendre
    nodes are at most 1.5 wide in v, and at most 0.64 times as wide as their distance from the
    zeros, which makes the integral exact to double precision.

    The derivative in v of the integrand's logarithm is at most (a + 2/(1-e^-eps)) s - (v + s/2), so
    beyond (max(a, 2) - 1/2) s + 13 the integrand is below e^-72 of its peak. From 60 in eps beyond
    the bend on it is, to the last digit, that of a Gaussian around (a - 1/2) s; the part from there
    to 13 before that peak is left out. Above order/z = 1e9 the value returned is the larger one
    without amplification.
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

    Near the bend v = bend + pi z sinh(x), and steps of 0.64 in x are steps in v of 0.64 times the
    distance to the zeros bend +- i pi z. Where such a step would be wider than 1.5, v takes equal
    steps instead.
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
    """The logarithm of the integral over panels that begin at ``left`` and are ``width`` wide."""
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
        # The two factors: a y + log(1 - e^(-a y)) + log(1 - e^(-(a-1) y)) with y = log L.
        with np.errstate(divide="ignore"):
            logs = np.log(np.expm1(-a * grown) * np.expm1((1.0 - a) * grown))
        terms = a * grown + logs + rest
        result[start : start + rows] = log_row_sums(terms)
    return result
