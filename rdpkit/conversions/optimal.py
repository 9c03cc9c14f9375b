r"""The best conversion that a single order allows.

Guarantee
---------
Let p and q be the probabilities of one event under two neighbours. By data processing (a, r)-RDP
allows only pairs in the convex region

    p^a q^(1-a) + (1-p)^a (1-q)^(1-a) <= e^((a-1) r)

and, since neighbouring is symmetric, its reflection with p and q swapped. So (eps, delta)-DP holds
with delta = max {p - e^eps q} over that region, and with eps = max {log (p - delta)/q}; and a
mechanism with two outputs attains it, so no conversion from one order alone says more. What is
returned is an upper bound: the maximum is bracketed on the region's boundary and bounded by the
bracket's corners.

The boundary q(p) of the first constraint is found by Newton's method on log q, in which the
constraint is convex and decreasing, started on the side of too small q: every iterate is a lower
bound on q, and so errs towards a larger epsilon. Where p + q > 1 the reflected constraint binds,
and its boundary is the reflection (1 - q(p), 1 - p) of the part with p + q <= 1.

Source
------
Asoodeh, Liao, Calmon, Kosut and Sankar, "Three variants of differential privacy: lossless
conversion and applications", IEEE JSAIT 2021, Theorem 2 (arXiv 2008.06529v2), with both directions
of the curve.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from rdpkit.conversions import balle2020

Array = NDArray[np.float64]

_POINTS = 33
_ROUNDS = 12
_NEWTON_STEPS = 80


def epsilon(orders: Array, rdp: Array, delta: float) -> Array:
    """Epsilon at ``delta`` from each order on its own."""

    def point(w: Array) -> tuple[Array, Array, Array]:
        # p = delta + (1 - delta) / (1 + e^-w): p - delta and 1 - p keep their digits.
        gain = (1.0 - delta) / (1.0 + np.exp(-w))
        return delta + gain, gain, (1.0 - delta) / (1.0 + np.exp(w))

    def bound(low: Array, high: Array, log_q_low: Array, log_q_high: Array) -> Array:
        p_low, _, _ = point(low)
        _, gain_high, rest_high = point(high)
        direct = np.log(gain_high) - log_q_low
        reflected = np.log(np.maximum(1.0 - np.exp(log_q_low) - delta, 0.0)) - np.log(rest_high)
        return _on_one_side(direct, reflected, p_low, log_q_low)

    # Where the maximum lies beyond the range of floats its bracket is wide: never above Balle's.
    return np.minimum(
        _maximise(orders, rdp, lambda w: point(w)[0], bound, worst=math.inf),
        balle2020.epsilon(orders, rdp, delta),
    )


def best_point(order: float, rdp: float, delta: float) -> tuple[float, float, bool]:
    """A pair near the maximum at one order: p, log q, and whether its reflection is meant.

    A proposal, for a certificate to check; see :mod:`rdpkit.numerics.conversion_balls`.
    """
    a, r = np.array([order]), np.array([rdp])
    low, high = -60.0, 40.0
    reflected = False
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        for _ in range(_ROUNDS):
            w = np.linspace(low, high, _POINTS)
            gain = (1.0 - delta) / (1.0 + np.exp(-w))
            p = delta + gain
            log_q = _log_boundary(a, r, p)
            inside = p + np.exp(log_q) <= 1.0
            direct = np.where(inside, np.log(gain) - log_q, -np.inf)
            other = np.where(
                inside,
                np.log(np.maximum(1.0 - np.exp(log_q) - delta, 0.0))
                - np.log((1.0 - delta) / (1.0 + np.exp(w))),
                -np.inf,
            )
            values = np.maximum(direct, other)
            pick = int(values.argmax())
            reflected = bool(other[pick] > direct[pick])
            low, high = w[max(pick - 1, 0)], w[min(pick + 1, _POINTS - 1)]
    return float(p[pick]), float(log_q[pick]), reflected


def delta(orders: Array, rdp: Array, epsilon: float) -> Array:
    """Delta at ``epsilon`` from each order on its own, at most 1."""

    def probability(w: Array) -> Array:
        return np.asarray(1.0 / (1.0 + np.exp(-w)))

    def bound(low: Array, high: Array, log_q_low: Array, log_q_high: Array) -> Array:
        p_low = probability(low)
        direct = probability(high) - np.exp(epsilon + log_q_low)
        reflected = -np.expm1(log_q_low) - np.exp(epsilon) / (1.0 + np.exp(high))
        return _on_one_side(direct, reflected, p_low, log_q_low)

    with np.errstate(over="ignore"):
        return np.minimum(
            _maximise(orders, rdp, probability, bound, worst=1.0),
            balle2020.delta(orders, rdp, epsilon),
        )


def _on_one_side(direct: Array, reflected: Array, p: Array, log_q: Array) -> Array:
    """The larger of both, where the point is on the near side of the line p + q = 1."""
    return np.where(p + np.exp(log_q) <= 1.0, np.maximum(direct, reflected), -np.inf)


def _maximise(
    orders: Array,
    rdp: Array,
    probability: Callable[[Array], Array],
    bound: Callable[[Array, Array, Array, Array], Array],
    *,
    worst: float,
) -> Array:
    """Zoom in on the maximum over w, then bound it over the last bracket."""
    result = np.where(rdp == 0.0, 0.0, worst)
    usable = np.isfinite(rdp) & (rdp > 0.0)
    if not usable.any():
        return result
    a, r = orders[usable], rdp[usable]
    low = np.full(a.shape, -60.0)
    high = np.full(a.shape, 40.0)
    rows = np.arange(a.size)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        for _ in range(_ROUNDS):
            w = low[:, None] + (high - low)[:, None] * np.linspace(0.0, 1.0, _POINTS)[None, :]
            log_q = _log_boundary(a[:, None], r[:, None], probability(w))
            values = bound(w, w, log_q, log_q)
            pick = values.argmax(axis=1)
            low = w[rows, np.maximum(pick - 1, 0)]
            high = w[rows, np.minimum(pick + 1, _POINTS - 1)]
        log_q_low = _log_boundary(a, r, probability(low))
        log_q_high = _log_boundary(a, r, probability(high))
        value = bound(low, high, log_q_low, log_q_high)
    if np.isnan(value).any() or np.isneginf(value).any():
        raise ArithmeticError("The optimal conversion could not be computed.")
    result[usable] = np.maximum(value, 0.0)
    return result


def _log_boundary(a: Array, r: Array, p: Array) -> Array:
    """Log q(p): a lower bound on it that Newton's method makes tight."""
    a, r, p = np.broadcast_arrays(a, r, p)
    target = (a - 1.0) * r
    log_p = np.log(p)
    log_rest = np.log1p(-p)
    # With the first summand alone the constraint gives this; the second only raises q.
    u = a / (a - 1.0) * log_p - r
    for _ in range(_NEWTON_STEPS):
        q = np.exp(u)
        log_other = np.log1p(-q)
        one = a * log_p + (1.0 - a) * u
        two = a * log_rest + (1.0 - a) * log_other
        value = np.logaddexp(one, two)
        weight = np.exp(one - value)
        slope = (1.0 - a) * (weight - (1.0 - weight) * q / (1.0 - q))
        step = (target - value) / slope
        # Past the diagonal the slope changes sign; rounding may send a converged step there.
        step = np.where((step > 0.0) & np.isfinite(step), step, 0.0)
        u = np.minimum(u + step, log_p)
        if not (step > 1e-15 * np.maximum(1.0, np.abs(u))).any():
            break
    return np.asarray(u)
