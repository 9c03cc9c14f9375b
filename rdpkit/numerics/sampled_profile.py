"""The moment of a sampled Gaussian profile, in floats and in balls: an integral on a half-line.

The profile h of the mechanism is h(log(1 + gamma (e^eps - 1))) = gamma delta(eps), where gamma is
the sampling probability and delta is the profile of the Gaussian mechanism with noise multiplier z.
Let s = 1/z, eps = v s and L = 1 + gamma (e^eps - 1), and let phi be the standard normal density. At
any real order a > 1 the moment A is (theory page "Profile sampling")

    A = 1 + Integral_0^inf phi(v + s/2) (L^a - 1) (1 - L^(1-a)) dv.

The integrand is not negative, and its factors lose no digits.

In balls, Arb's rigorous integrator computes it up to a finite end. The derivative of log L in v is
at most s, so beyond the end phi(v + s/2) L^a falls at least as fast as a Gaussian around
(a - 1/2) s. The rest of the integral is therefore at most the value at the end over the distance of
the end from (a - 1/2) s.
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import pairwise

import numpy as np
from flint import acb, arb
from numpy.typing import NDArray

from rdpkit.numerics.balls import to_relative_accuracy
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

# The tail and the error of the integrator are to be this many bits smaller than the accuracy
# wanted.
_TAIL_BITS = 16
_GOAL_BITS = 6
# Below this noise multiplier epsilon exceeds 1e9: a wide ball is returned and nothing integrated.
_LEAST_NOISE = 1e-5
# Bits for the roundings, in addition to the bits lost to large exponents and small factors.
_SPARE = 24


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


def excess(
    # Renyi order > 1 and noise multiplier > 0, taken as exact numbers.
    order: float,
    z: float,
    gamma: arb,  # Sampling probability in (0, 1]
    *,
    # About how many accurate bits of A - 1 are wanted; the radius of the ball is always valid.
    bits: int,
) -> arb:
    """A ball around A - 1 at the working precision in force."""
    a, s = arb(order), 1 / arb(z)
    log_gamma, odds = gamma.log(), (1 - gamma) / gamma
    peak, height = (a - arb(0.5)) * s, a * (a - 1) * s * s / 2

    def before(v: acb, analytic: bool) -> acb:
        log_l = (1 + gamma * (v * s).expm1()).log(analytic)
        u = v + s / 2
        return (a * log_l).expm1() * -((1 - a) * log_l).expm1() * (-u * u / 2).exp()

    def beyond(v: acb, analytic: bool) -> acb:
        # The factor e^(vs) is taken out of the logarithm, because its branch cuts would otherwise
        # run along the path. It goes into the Gaussian, whose centre it shifts. That way no
        # enclosure is a product of a very large and a very small factor, which would be wide.
        grown = log_gamma + (1 + odds * (-v * s).exp()).log(analytic)
        log_l, w = grown + v * s, v - peak
        gaussian = (height + a * grown - w * w / 2).exp()
        return gaussian * (-a * log_l).expm1() * ((1 - a) * log_l).expm1()

    share = float(gamma.mid())
    log_size = float(log_excess(np.array([order]), z, share)[0])
    end = _last(order, z, share, (bits + _TAIL_BITS) * math.log(2.0), log_size)
    goal = arb(2) ** -(bits + _GOAL_BITS)
    absolute = arb(log_size).exp() * goal
    bend = z * math.log1p(1.0 / share)
    total = arb(0)
    for left, right in pairwise([0.0, *_cuts(order, z, bend, end), end]):
        part = beyond if left >= bend else before
        total += acb.integral(part, arb(left), arb(right), rel_tol=goal, abs_tol=absolute).real
    last = arb(end)
    u = last + s / 2
    log_l = (1 + gamma * (last * s).expm1()).log()
    tail = (a * log_l - u * u / 2).exp() / (u - a * s)
    return (total + tail.union(arb(0))) / (2 * arb.pi()).sqrt()


def _last(order: float, z: float, gamma: float, wanted: float, log_size: float) -> float:
    """The end beyond which the tail is about e^-wanted of A - 1."""
    peak = (order - 0.5) / z
    epsilon = peak / z
    if epsilon < 30.0:
        log_l = math.log1p(gamma * math.expm1(epsilon))
    else:
        rest = math.log1p(-gamma) if gamma < 1.0 else -math.inf
        log_l = float(np.logaddexp(math.log(gamma) + epsilon, rest))
    highest = order * log_l - (order / z) ** 2 / 2.0
    return peak + math.sqrt(2.0 * (wanted + 4.0 + max(0.0, highest - log_size)))


def _cuts(order: float, z: float, bend: float, end: float) -> list[float]:
    """Points at and around the peaks and the bend of the integrand, where to divide the path."""
    points = {p + shift for p in (1.5 / z, (order - 0.5) / z) for shift in (-6.0, 0.0, 6.0)}
    points |= {bend + shift * z for shift in (-4.0, 0.0, 6.0)}
    least = 1e-3 * min(z, 1.0)
    return sorted(p for p in points if least < p < end - least)


def rdp_ball(
    # Renyi order > 1 and noise multiplier > 0, taken as exact numbers.
    order: float,
    z: float,
    gamma: arb,  # Sampling probability in (0, 1]
    *,
    # The relative accuracy wanted is 2^-bits; it is not reached below a noise multiplier of 1e-5.
    bits: int = 60,
) -> arb:
    """A ball that contains the profile bound's divergence, log(A) / (order - 1).

    With a noise multiplier below 1e-5 the ball is wide. Its upper end is the divergence without
    amplification. Its lower end is from A > gamma^a e^(a(a-1)/(2 z^2))/2 - 1, which holds because
    the integrand is at least L^a - L - 1, L is at least gamma e^eps, and the means of L and 1 are
    at most 1. Raises ArithmeticError if the accuracy is not reached.
    """
    if z < _LEAST_NOISE:
        a, variance = arb(order), arb(z) * arb(z)
        least = (a * gamma.log() + a * (a - 1) / (2 * variance)).exp() / 2 - 1
        lowest = least.log() / (a - 1) if least > 1 else arb(0)
        return lowest.union(a / (2 * variance))
    small = math.log2(max(z, 1.0)) - math.log2(float(gamma.mid()))
    large = math.log2(1.0 + (order / z) ** 2)
    return to_relative_accuracy(
        lambda: excess(order, z, gamma, bits=bits).log1p() / (arb(order) - 1),
        bits=bits,
        start=bits + _SPARE + math.ceil(max(small, 0.0) + large),
    )
