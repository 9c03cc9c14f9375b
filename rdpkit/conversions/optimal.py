r"""The best conversion that a single order allows.

Guarantee
---------
Let p and q be the probabilities of one event under two neighbours. By data processing, (a, r)-RDP
allows only pairs (p, q) in the convex region

    p^a q^(1-a) + (1-p)^a (1-q)^(1-a) <= e^((a-1) r)

and, because neighbouring is symmetric, only pairs for which (q, p) is in it, too. So (eps,
delta)-DP holds with delta = max {p - e^eps q} over both regions, and with eps = max {log (p -
delta)/q}. A mechanism with two outputs attains the maximum, so no conversion from one order alone
gives less. The value returned is an upper bound: a search brackets the maximum on the region's
boundary, and the corners of the bracket bound it. If the bracket is at the end of the search, or
floats do not resolve the boundary, Balle et al.'s conversion is used instead.

The boundary q(p) of the first constraint is found by Newton's method on log q, in which the
constraint is convex and decreasing. The method starts from a q that is too small, and the
constraint is loosened by what rounding may have lost. The result is a lower bound on q, and errs
towards a larger epsilon. If p + q > 1, the constraint with p and q swapped is the stricter one; its
boundary is the reflection (1 - q(p), 1 - p) of the part with p + q <= 1.

Source
------
Asoodeh, Liao, Calmon, Kosut and Sankar, "Three variants of differential privacy: lossless
conversion and applications", IEEE JSAIT 2021, Theorem 2 (arXiv 2008.06529v2), with both directions
of the curve.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rdpkit.conversions import closed
from rdpkit.numerics.special import expit, log_expit

Array = NDArray[np.float64]

_POINTS = 33
_ROUNDS = 14
_NEWTON_STEPS = 80
# Below this divergence p and q are too close for floats to locate the boundary.
_SMALLEST_RDP = 1e-13
# exp of anything lower is not a normal float.
_LOWEST = -690.0
_ULP = 2.3e-16


class _Bracket(NamedTuple):
    """An interval of the boundary with the maximum, and a bound on the values in it.

    ``resolved`` says whether floats have located the maximum inside of the search.
    """

    low: Array
    high: Array
    value: Array
    resolved: NDArray[np.bool_]


def epsilon(orders: Array, rdp: Array, delta: float) -> Array:
    """Epsilon at ``delta`` from each order on its own."""
    fallback = closed.balle_epsilon(orders, rdp, delta)
    near, far = _both_sides(orders, rdp, delta)
    found = np.maximum(near.value, far.value)
    resolved = near.resolved & far.resolved & (rdp > _SMALLEST_RDP) & np.isfinite(rdp)
    found = np.where(resolved, np.minimum(np.maximum(found, 0.0), fallback), fallback)
    return np.where(rdp == 0.0, 0.0, found)


def _both_sides(orders: Array, rdp: Array, delta: float) -> tuple[_Bracket, _Bracket]:
    def direct(low: Array, high: Array, log_q: Array) -> Array:
        # p = delta + (1 - delta) expit(w): p - delta keeps its digits.
        gain = math.log1p(-delta) + log_expit(high)
        inside = delta + (1.0 - delta) * expit(low) + np.exp(log_q) <= 1.0
        return np.where(inside, gain - log_q, -np.inf)

    def reflected(low: Array, high: Array, log_q: Array) -> Array:
        # The pair (1 - q, 1 - p): its first probability must exceed delta.
        kept = 1.0 - np.exp(log_q) - delta
        inside = (expit(low) + np.exp(log_q) <= 1.0) & (kept > 0.0)
        return np.where(inside, np.log(np.where(kept > 0.0, kept, 1.0)) - log_expit(-high), -np.inf)

    with np.errstate(divide="ignore"):
        start = math.log(delta) + np.log(np.minimum(orders - 1.0, 1.0)) - 40.0
    near = _bracket(orders, rdp, start, lambda w: delta + (1.0 - delta) * expit(w), direct)
    far = _bracket(orders, rdp, np.full(orders.shape, -60.0), expit, reflected)
    return near, far


def best_point(order: float, rdp: float, delta: float) -> tuple[float, float, bool]:
    """A pair near the maximum at one order: p, log q, and whether to take its reflection.

    The pair is only a proposal, which :mod:`rdpkit.conversions.balls` checks.
    """
    a, r = np.array([order]), np.array([rdp])
    near, far = _both_sides(a, r, delta)
    is_far = bool(far.value[0] > near.value[0])
    w = 0.5 * (far.low + far.high) if is_far else 0.5 * (near.low + near.high)
    p = expit(w) if is_far else delta + (1.0 - delta) * expit(w)
    with np.errstate(all="ignore"):
        log_q = _log_boundary(a, r, p)
    return float(p[0]), float(log_q[0]), is_far


def delta(orders: Array, rdp: Array, epsilon: float) -> Array:
    """Delta at ``epsilon`` from each order on its own, at most 1."""
    fallback = closed.balle_delta(orders, rdp, epsilon)
    if epsilon > -_LOWEST:
        return fallback
    growth = math.exp(epsilon)

    def direct(low: Array, high: Array, log_q: Array) -> Array:
        inside = expit(low) + np.exp(log_q) <= 1.0
        return np.where(inside, expit(high) - np.exp(epsilon + log_q), -np.inf)

    def reflected(low: Array, high: Array, log_q: Array) -> Array:
        inside = expit(low) + np.exp(log_q) <= 1.0
        return np.where(inside, -np.expm1(log_q) - growth * expit(-high), -np.inf)

    with np.errstate(divide="ignore"):
        start = np.minimum(np.log(fallback), 0.0) - 60.0
    near = _bracket(orders, rdp, start, expit, direct)
    far = _bracket(orders, rdp, np.full(orders.shape, -60.0), expit, reflected)
    found = np.maximum(near.value, far.value)
    resolved = near.resolved & far.resolved & (rdp > _SMALLEST_RDP) & np.isfinite(rdp)
    found = np.where(resolved & (found > 0.0), np.minimum(found, fallback), fallback)
    return np.where(rdp == 0.0, 0.0, found)


def _bracket(
    orders: Array,
    rdp: Array,
    start: Array,
    probability: Callable[[Array], Array],
    bound: Callable[[Array, Array, Array], Array],
) -> _Bracket:
    """Narrow down the maximum over w, where p is ``probability(w)``, and bound it.

    ``bound`` maps the ends of an interval of w, and log q at the lower end, to a bound on the
    quantity to maximise in that interval. For an interval of one point it is the quantity itself.
    """
    low = np.minimum(start, -60.0)
    high = np.full(orders.shape, 40.0)
    resolved = low > _LOWEST
    low = np.maximum(low, _LOWEST)
    first, last = low, high
    rows = np.arange(orders.size)
    with np.errstate(all="ignore"):
        for _ in range(_ROUNDS):
            w = low[:, None] + (high - low)[:, None] * np.linspace(0.0, 1.0, _POINTS)[None, :]
            log_q = _log_boundary(orders[:, None], rdp[:, None], probability(w))
            values = bound(w, w, log_q)
            pick = np.where(np.isnan(values), -np.inf, values).argmax(axis=1)
            low = w[rows, np.maximum(pick - 1, 0)]
            high = w[rows, np.minimum(pick + 1, _POINTS - 1)]
        value = bound(low, high, _log_boundary(orders, rdp, probability(low)))
    # A maximum at an end of the search may really lie beyond it. If the value is -inf, the
    # constraint p + q <= 1 has cut off the whole boundary.
    resolved &= (low > first) | np.isneginf(value)
    resolved &= ~np.isnan(value) & ((high < last) | np.isneginf(value))
    return _Bracket(low=low, high=high, value=np.asarray(value), resolved=resolved)


def _log_boundary(a: Array, r: Array, p: Array) -> Array:
    """A lower bound on log q(p), made tight by Newton's method."""
    a, r, p = np.broadcast_arrays(a, r, p)
    target = (a - 1.0) * r
    log_p = np.log(p)
    log_rest = np.log1p(-p)
    # The boundary without the second summand, which can only raise q.
    u = a / (a - 1.0) * log_p - r
    u = u - 4.0 * _ULP * np.abs(u)
    for _ in range(_NEWTON_STEPS):
        q = np.exp(u)
        log_other = np.log1p(-q)
        one = a * log_p + (1.0 - a) * u
        two = a * log_rest + (1.0 - a) * log_other
        value = np.logaddexp(one, two)
        weight = np.exp(one - value)
        # How much the two exponents and their sum may have lost to rounding.
        lost = (
            1.0
            + weight * a * (np.abs(log_p) + np.abs(u))
            + a * (np.abs(log_rest) + np.abs(log_other))
        )
        slope = (1.0 - a) * (weight - (1.0 - weight) * q / (1.0 - q))
        step = (target + 4.0 * _ULP * lost - value) / slope
        # Rounding may take a converged q past the diagonal, where the slope changes its sign.
        step = np.where((step > 0.0) & np.isfinite(step), step, 0.0)
        u = np.minimum(u + step, log_p)
        if not (step > 1e-15 * np.maximum(1.0, np.abs(u))).any():
            break
    return np.asarray(u)
