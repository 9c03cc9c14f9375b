r"""Conversions backwards: the largest divergence at an order that still gives (epsilon, delta).

Guarantee
---------
According to a conversion, a mechanism is (epsilon, delta)-DP if at some order a its divergence is
at most R(a). R does not depend on the mechanism, so a search for a mechanism's parameter need not
convert anything; it compares divergences with R.

* "mironov2017" and "balle2020" give epsilon = r + gap(a), hence R(a) = epsilon - gap(a).
* "optimal" gives (epsilon, delta) as long as the region {F(p, q) <= K, F(q, p) <= K} of
  :mod:`rdpkit.conversions.optimal`, K = e^((a-1) r), does not cross the line p = delta + e^eps q.
  The K at which the region first touches the line is the minimum of F(p, q) over the part of the
  line with p + q <= 1. F is convex, and the constraint F(p, q) <= K is the stricter one there.
  Points with p + q > 1 need not be looked at: with (p, q) its reflection (1 - q, 1 - p) is in the
  region, too, and gives a larger delta.

The numbers are floats that propose a parameter; certificates check the proposals elsewhere.

Source
------
Those of the three conversions; the inversion: rdpkit, docs page "Calibration".
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rdpkit.conversions import closed

Array = NDArray[np.float64]

# With smaller deltas some intermediate numbers would not be normal floats.
SMALLEST_DELTA = 1e-280
LARGEST_EPSILON = 690.0
"""Above it e^epsilon overflows, and Balle's conversion is as good as the optimal one."""

_STEPS = 100
_CLOSE = 1e-15
# Above this exponent a sum of exponentials is taken in logarithms.
_LARGE = 600.0
# Numbers whose logarithm is below this are negligible.
_NEGLIGIBLE = -600.0
# Below this argument, differences that would cancel are computed as series.
_SMALL = 0.1
# The relative step in q for a difference quotient, and the relative change of q at which the search
# ends. The minimum is flat, so its value is then exact to double precision.
_NUDGE, _SETTLED = 1e-5, 1e-11
# The factor between two places while none is known at which F falls.
_FARTHER = 1e-3


@dataclass(frozen=True, slots=True)
class Touching:
    """Where the line p = delta + e^eps q first meets the region of the optimal conversion."""

    # The point at which the line meets the region.
    p: float
    q: float
    rdp: float  # The divergence at which the region reaches it
    slope: float  # The derivative of that divergence with respect to epsilon
    corner: bool  # Whether p + q = 1, where both constraints hold with equality


def largest_rdp(
    orders: Array,  # Renyi orders, each > 1; shape (k,)
    *,
    epsilon: float,  # At least 0
    delta: float,  # In (0, 1)
    conversion: str,  # The conversion; one of {"mironov2017", "balle2020", "optimal"}
) -> Array:
    """R(a) for each order; if it is negative, no divergence is small enough."""
    if conversion == "mironov2017":
        return np.asarray(epsilon + math.log(delta) / (orders - 1.0))
    if conversion == "balle2020" or epsilon > LARGEST_EPSILON:
        return np.asarray(epsilon - closed.balle_gap(orders, delta))
    return np.array([touching(float(a), epsilon, delta).rdp for a in orders])


def touching(
    order: float,
    epsilon: float,  # In [0, 690]
    delta: float,  # In (0, 1)
) -> Touching:
    """Where F(p, q) is smallest on the line, and the divergence that corresponds to it."""
    if delta < SMALLEST_DELTA:
        raise ArithmeticError(
            f"The optimal conversion is computed for delta >= {SMALLEST_DELTA:g}, got {delta!r}; "
            "use balle2020."
        )
    rise = math.expm1(epsilon)
    growth = 1.0 + rise
    # The part of the line that matters ends at p + q = 1, where 1 - p = q = end.
    end = (1.0 - delta) / (1.0 + growth)
    found = _stationary(order, rise, delta, end)
    q = end if found is None else found
    p = delta + growth * q
    left = end + growth * (end - q)  # 1 - p, accurate even if p is close to 1
    gap = delta + rise * q  # p - q
    b = order - 1.0
    above = math.log1p(gap / q)
    # log((1-p)/(1-q)), accurate both if p is close to q and if p is close to 1.
    below = math.log1p(-gap / (1.0 - q)) if gap < 0.5 else math.log(left / (1.0 - q))
    if b * above < _LARGE:
        # F - 1 is a sum of positive parts: b times the divergence of order 1, and two excesses.
        if gap > q:
            parts = p * above + left * below
        else:
            # The two terms above nearly cancel here; their parts beyond first order do not.
            parts = gap * gap / (q * (1.0 - q))
            parts -= p * _log_excess(gap / q) + left * _log_excess(-gap / (1.0 - q))
        total = p * _exp_excess(b * above) + left * _exp_excess(b * below) + b * parts
        logarithm = math.log1p(total)
    else:
        low = math.log(left) + b * below
        high = math.log(p) + b * above
        logarithm = high + math.log1p(math.exp(low - high))
    # The derivatives of log F / (a - 1) by p and by q.
    one, two = math.exp(b * above - logarithm), math.exp(b * below - logarithm)
    by_p = order / b * (one - two)
    if found is None:
        by_q = -(p / q * one - left / (1.0 - q) * two)
        # By how much p rises and q falls with epsilon. The square in it might overflow.
        moved = (1.0 - delta) * growth / (1.0 + growth) / (1.0 + growth)
        slope = (by_p - by_q) * moved
    else:
        # F is stationary along the line. With q held fixed, p grows by (p - delta) d eps.
        slope = by_p * (p - delta)
    return Touching(p=p, q=q, rdp=logarithm / b, slope=slope, corner=found is None)


def optimal_epsilon(
    order: float,
    rdp: float,  # Finite and > 0
    delta: float,  # In (0, 1)
) -> tuple[float, Touching]:
    """The epsilon in [0, 690] whose line touches the region of ``rdp``, and the point.

    It is found by Newton's method within a bracket.
    """
    gap = math.log1p(-1.0 / order) - (math.log(delta) + math.log(order)) / (order - 1.0)
    low, high = 0.0, min(max(rdp + gap, 0.0), LARGEST_EPSILON)
    current = high
    best = touching(order, current, delta)
    for _ in range(_STEPS):
        error = best.rdp - rdp
        if error > 0.0:
            high = current
        else:
            low = current
        new = current - error / best.slope if best.slope > 0.0 else 0.5 * (low + high)
        if not low <= new <= high:
            new = low if low == 0.0 and current == high else 0.5 * (low + high)
        moved = abs(new - current)
        current, best = new, touching(order, new, delta)
        if moved <= _CLOSE * max(1.0, current):
            break
    return current, best


def _log_excess(x: float) -> float:
    """The excess x - log(1 + x) >= 0, accurate near 0."""
    if abs(x) > _SMALL:
        return x - math.log1p(x)
    # log(1 + x) = 2 atanh(s), x = 2 s / (1 - s).
    s = x / (2.0 + x)
    square = s * s
    series = square * (1.0 / 3.0 + square * (0.2 + square * (1.0 / 7.0 + square / 9.0)))
    return x * s - 2.0 * s * series


def _exp_excess(x: float) -> float:
    """The excess e^x - 1 - x >= 0, accurate near 0."""
    if abs(x) > _SMALL:
        return math.expm1(x) - x
    series = 1.0
    for k in range(12, 2, -1):
        series = 1.0 + series * x / k
    return 0.5 * x * x * series


def _stationary(a: float, rise: float, delta: float, end: float) -> float | None:
    """The q at which F(p, q) is smallest on the whole line; None if it is not below ``end``.

    With rho = p/q and s = (1-p)/(1-q) < 1 the derivative along the line vanishes where

        log l + (a-1) log(rho / s) = log(a e^eps - (a-1) s),   l = a e^eps - (a-1) rho > 0.

    The left side minus the right side rises in log l, with a slope of about 1 - l / rho, so that
    Newton's method within a bracket finds the zero. The second summand of F is often so small that
    l is nearly 0 and one step suffices.
    """
    b = a - 1.0
    growth = 1.0 + rise
    steepest = a * growth
    # At the end of the line rho = 1/s = (1 - end) / end.
    limit = growth - b * delta / end
    if limit <= 0.0 or end >= 0.5 or _rising(a, rise, delta, end, end) <= 0.0:
        return None
    low, high = -math.inf, math.log(limit)
    current = min(high, math.log(growth) - b * math.log(steepest / b))
    q = end
    for _ in range(_STEPS):
        left = math.exp(current) if current > _NEGLIGIBLE else 0.0
        q = min(delta * b / (growth - left), end)
        if left == 0.0:
            break
        rho = (steepest - left) / b
        s = (end + growth * (end - q)) / (1.0 - q)
        value = current + b * math.log(rho / s) - math.log(steepest - b * s)
        if value > 0.0:
            high = current
        else:
            low = current
        new = current - value / max(1.0 - left / rho, 1e-3)
        if not low <= new <= high:
            new = 0.5 * (low + high) if low > -math.inf else high - 1.0 - abs(high - current)
        if abs(new - current) <= _CLOSE * max(1.0, abs(current)):
            break
        current = new
    if q == 0.0:
        # The point is closer to the corner than floats can say.
        return None
    if delta / q > _SMALL:
        return q
    return _polished(a, rise, delta, end, q)


def _polished(a: float, rise: float, delta: float, end: float, q: float) -> float:
    """The stationary q if p and q are close, where :func:`_stationary` loses digits.

    The given q may be off by a factor. From there, Newton's method in log q finds the zero of
    :func:`_rising`, which keeps its digits, between a q at which F falls and one at which it rises.
    """
    low, high = 0.0, end
    for _ in range(_STEPS):
        value = _rising(a, rise, delta, end, q)
        if value > 0.0:
            high = q
        else:
            low = q
        slope = (_rising(a, rise, delta, end, q * (1.0 + _NUDGE)) - value) / _NUDGE
        new = q * (1.0 - value / slope) if 0.0 < slope < math.inf else math.nan
        if not low <= new <= high:
            # The zero may be many orders of magnitude away, so that logarithms are halved.
            new = math.sqrt(low * high) if low > 0.0 else _FARTHER * high
        moved, q = abs(new - q), new
        if moved <= _SETTLED * q:
            break
    return q


def _rising(a: float, rise: float, delta: float, end: float, q: float) -> float:
    """A number with the sign of dF/dq along the line, accurate if p is close to q."""
    b = a - 1.0
    growth = 1.0 + rise
    gap = delta + rise * q
    apart = gap / (q * (1.0 - q))  # rho - s
    s = (end + growth * (end - q)) / (1.0 - q)
    second = a * growth - b * s
    if b * apart >= second:
        return -math.inf
    if apart > _SMALL * s:
        rho = (delta + growth * q) / q
        first = a * growth - b * rho
        if first <= 0.0:
            return -math.inf
        return math.log(first) + b * math.log(rho / s) - math.log(second)
    # log of rho^b [a g - b rho] over s^b [a g - b s]; a g - b s - s = a (g - s).
    linear = b * apart * a * (rise + gap / (1.0 - q)) / (s * second)
    return linear - b * _log_excess(apart / s) - _log_excess(-b * apart / second)
