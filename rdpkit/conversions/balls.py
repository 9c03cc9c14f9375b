r"""Conversions from RDP to epsilon and delta, certified in ball arithmetic.

The optimal conversion maximises over the convex region F(p, q) <= K = e^((a-1) r), where
F = p^a q^(1-a) + (1-p)^a (1-q)^(1-a). The maximisation need not be trusted. At *any* point (p0,
q0), with F0 the value of F and F_p and F_q its derivatives there, convexity gives F(p, q) >= F0 +
F_p (p - p0) + F_q (q - q0). With e^eps = -F_q / F_p, every pair of the region has

    p - e^eps q <= p0 - e^eps q0 + (K - F0) / F_p.

A float search proposes the point, and the inequality is checked in balls. At the corner p + q = 1
both constraints are used: lambda F(p, q) + (1 - lambda) F(q, p) takes the place of F, with the
lambda that gives the wanted slope.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from flint import arb, ctx

from rdpkit.conversions import optimal
from rdpkit.conversions.largest_rdp import optimal_epsilon
from rdpkit.numerics.balls import float_above, float_below

_PRECISION = 200
# The proposed point is moved along the boundary by these relative steps until the check succeeds.
_SHIFTS = (0.0, 1e-14, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3)


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """Floats below and above the exact number."""

    lower: float
    upper: float


def epsilon(conversion: str, order: float, rdp: Interval, delta: float) -> Interval:
    """Enclose the epsilon that ``conversion`` gives at ``delta`` from a divergence in ``rdp``."""
    with ctx.workprec(_PRECISION):
        if conversion == "optimal":
            upper = _optimal_epsilon_above(order, rdp.upper, delta)
            return Interval(lower=_optimal_epsilon_below(order, rdp.lower, delta), upper=upper)
        ends = [
            _closed_form_epsilon(conversion, order, value, delta)
            for value in (rdp.lower, rdp.upper)
        ]
    return Interval(lower=max(float_below(ends[0]), 0.0), upper=max(float_above(ends[1]), 0.0))


def delta(conversion: str, order: float, rdp: Interval, epsilon_: float) -> Interval:
    """Enclose the delta that ``conversion`` gives at ``epsilon_`` from a divergence in ``rdp``."""
    with ctx.workprec(_PRECISION):
        if conversion == "optimal":
            return Interval(
                lower=_optimal_delta_below(order, rdp.lower, epsilon_),
                upper=_optimal_delta_above(order, rdp.upper, epsilon_),
            )
        ends = [
            _closed_form_delta(conversion, order, value, epsilon_)
            for value in (rdp.lower, rdp.upper)
        ]
    return Interval(
        lower=max(min(float_below(ends[0]), 1.0), 0.0), upper=min(float_above(ends[1]), 1.0)
    )


def _closed_form_epsilon(conversion: str, order: float, rdp: float, delta: float) -> arb:
    a = arb(order)
    value = arb(rdp) - arb(delta).log() / (a - 1)
    if conversion == "balle2020":
        value += (1 - 1 / a).log() - a.log() / (a - 1)
    return value


def _closed_form_delta(conversion: str, order: float, rdp: float, epsilon_: float) -> arb:
    a = arb(order)
    exponent = (a - 1) * (arb(rdp) - arb(epsilon_))
    if conversion == "balle2020":
        exponent += (a - 1) * (1 - 1 / a).log() - a.log()
    return exponent.exp()


def _constraint(a: arb, p: arb, q: arb) -> tuple[arb, arb, arb]:
    """F and its derivatives with respect to p and q."""
    ratio, rest = p / q, (1 - p) / (1 - q)
    left, right = ratio ** (a - 1), rest ** (a - 1)
    value = p * left + (1 - p) * right
    by_p = a * (left - right)
    by_q = (1 - a) * (ratio * left - rest * right)
    return value, by_p, by_q


def _supporting_line(
    a: arb, limit: arb, p: arb, q: arb, *, reflected: bool
) -> tuple[arb, arb] | None:
    """(e^eps, delta) such that no pair of the region has p - e^eps q above delta.

    None if the derivatives do not certainly have the signs that the argument needs.
    """
    if reflected:
        # F(1 - q, 1 - p) <= K is the constraint with p and q exchanged.
        value, by_x, by_y = _constraint(a, 1 - q, 1 - p)
        slope_p, slope_q = -by_y, -by_x
    else:
        value, slope_p, slope_q = _constraint(a, p, q)
    if not (slope_p > 0 and slope_q < 0):
        return None
    growth = -slope_q / slope_p
    return growth, p - growth * q + (limit - value) / slope_p


def _corner_line(a: arb, limit: arb, q: arb, growth: float) -> tuple[arb, arb] | None:
    """:func:`_supporting_line` at the corner (1 - q, q), with e^eps near ``growth``.

    It uses both constraints. At the corner F(p, q) = F(q, p). If A and B are the derivatives of
    F(p, q) by p and by q, those of F(q, p) are -B and -A, because F(x, y) = F(1 - x, 1 - y).
    """
    value, by_p, by_q = _constraint(a, 1 - q, q)
    share = (-growth * by_q - by_p) / ((-by_q - by_p) * (1 + growth))
    if not share.is_finite():
        return None
    share = share.mid()
    if not 0 <= share <= 1:
        return None
    slope_p = share * by_p - (1 - share) * by_q
    slope_q = share * by_q - (1 - share) * by_p
    if not (slope_p > 0 and slope_q < 0):
        return None
    exact = -slope_q / slope_p
    return exact, 1 - q - exact * q + (limit - value) / slope_p


def _optimal_epsilon_above(order: float, rdp: float, delta: float) -> float:
    if rdp == 0.0:
        return 0.0
    if math.isinf(rdp):
        return math.inf
    a, target = arb(order), arb(delta)
    limit = ((a - 1) * arb(rdp)).exp()
    best = max(float_above(_closed_form_epsilon("balle2020", order, rdp, delta)), 0.0)
    epsilon_, point = optimal_epsilon(order, rdp, delta)
    found = (
        _above_at_corner(a, limit, point.q, math.exp(epsilon_), target)
        if point.corner
        else _above_at(a, arb(rdp), target, (point.p, math.log(point.q)), reflected=False)
    )
    if found is not None:
        return max(min(best, found), 0.0)
    p, log_q, reflected = optimal.best_point(order, rdp, delta)
    found = _above_at(a, arb(rdp), target, (p, log_q), reflected=reflected)
    return best if found is None else max(min(best, found), 0.0)


def _above_at(
    a: arb, rdp: arb, target: arb, proposed: tuple[float, float], *, reflected: bool
) -> float | None:
    """An epsilon that a line near the proposed (p, log q) certifies; None if no line does."""
    limit = ((a - 1) * rdp).exp()
    p, log_q = proposed
    for shift in _SHIFTS:
        for sign in (-1.0, 1.0):
            point = _moved(a, rdp, p, log_q, sign * shift, reflected=reflected)
            if point is None:
                continue
            line = _supporting_line(a, limit, *point, reflected=reflected)
            if line is None:
                continue
            growth, found = line
            if found <= target:
                return float_above(growth.log())
    return None


def _above_at_corner(a: arb, limit: arb, q: float, growth: float, target: arb) -> float | None:
    """:func:`_above_at` at the corner, where the slope is raised until the line suffices."""
    for shift in _SHIFTS:
        line = _corner_line(a, limit, arb(q), growth * (1.0 + shift))
        if line is not None and line[1] <= target:
            return float_above(line[0].log())
    return None


def _moved(
    a: arb, rdp: arb, p: float, log_q: float, shift: float, *, reflected: bool
) -> tuple[arb, arb] | None:
    """A point of the boundary near (p, q), made accurate by Newton's method in balls."""
    ball_p = arb(p) * (1 + arb(shift))
    u = arb(log_q)
    target = (a - 1) * rdp
    for _ in range(4):
        q = u.exp()
        one = (a * ball_p.log() + (1 - a) * u).exp()
        two = (a * (1 - ball_p).log() + (1 - a) * (1 - q).log()).exp()
        value = (one + two).log()
        slope = (1 - a) * (one - two * q / (1 - q)) / (one + two)
        step = (target - value) / slope
        if not step.is_finite():
            return None
        u = (u + step).mid()
    q = u.exp().mid()
    if not (0 < q < 1 and 0 < ball_p < 1):
        return None
    ball_p = ball_p.mid()
    return (1 - q, 1 - ball_p) if reflected else (ball_p, q)


def _attained(
    order: float, rdp: float, p: float, log_q: float, *, reflected: bool
) -> tuple[arb, arb] | None:
    """A point near the proposed one that certainly satisfies both constraints."""
    a = arb(order)
    limit = ((a - 1) * arb(rdp)).exp()
    for loosened in (1e-14, 1e-12, 1e-10, 1e-8, 1e-6):
        ball_p, q = arb(p), (arb(log_q) + arb(loosened)).exp()
        if reflected:
            ball_p, q = 1 - q, 1 - ball_p
        if not (0 < q < ball_p < 1):
            continue
        if _constraint(a, ball_p, q)[0] <= limit and _constraint(a, 1 - q, 1 - ball_p)[0] <= limit:
            return ball_p, q
    return None


def _optimal_epsilon_below(order: float, rdp: float, delta: float) -> float:
    if rdp <= 0.0 or math.isinf(rdp):
        return 0.0 if rdp <= 0.0 else math.inf
    touched = optimal_epsilon(order, rdp, delta)[1]
    point = _attained(order, rdp, touched.p, math.log(touched.q), reflected=False)
    if point is None or not point[0] > arb(delta):
        return 0.0
    return max(float_below(((point[0] - arb(delta)) / point[1]).log()), 0.0)


def _optimal_delta_above(order: float, rdp: float, epsilon_: float) -> float:
    """The first delta, slightly above the float estimate, whose certified epsilon is low enough."""
    if rdp == 0.0:
        return 0.0
    if math.isinf(rdp):
        return 1.0
    guess = float(optimal.delta(np.array([order]), np.array([rdp]), epsilon_)[0])
    best = min(float_above(_closed_form_delta("balle2020", order, rdp, epsilon_)), 1.0)
    for widened in (1e-12, 1e-10, 1e-8, 1e-6, 1e-4, 1e-2):
        candidate = guess * (1.0 + widened)
        if 0.0 < candidate < min(best, 1.0) and (
            _optimal_epsilon_above(order, rdp, candidate) <= epsilon_
        ):
            return candidate
    return best


def _optimal_delta_below(order: float, rdp: float, epsilon_: float) -> float:
    if rdp <= 0.0 or math.isinf(rdp):
        return 0.0 if rdp <= 0.0 else 1.0
    guess = float(optimal.delta(np.array([order]), np.array([rdp]), epsilon_)[0])
    if not 0.0 < guess < 1.0:
        return 0.0
    p, log_q, reflected = optimal.best_point(order, rdp, guess)
    point = _attained(order, rdp, p, log_q, reflected=reflected)
    if point is None:
        return 0.0
    return max(float_below(point[0] - arb(epsilon_).exp() * point[1]), 0.0)
