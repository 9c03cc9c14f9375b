"""The weak triangle inequality's orders, and the leading term of sampling under replace-one."""

import numpy as np
import pytest
import sympy as sp

import rdpkit
from rdpkit.bounds.sampled import birrell2024

A, P = sp.symbols("a p", positive=True)


def test_the_orders_come_from_hoelders_inequality():
    # P^a Q^(1-a) = (P^a R^(1/p - a)) (R^(a - 1/p) Q^(1-a)); to the powers p and p/(p-1).
    first = (A * P, 1 - A * P)
    assert sp.simplify(P * A - first[0]) == 0
    assert sp.simplify(P * (1 / P - A) - first[1]) == 0
    dual = P / (P - 1)
    order = (P * A - 1) / (P - 1)
    assert sp.simplify(dual * (A - 1 / P) - order) == 0
    assert sp.simplify(dual * (1 - A) - (1 - order)) == 0
    # Dividing the logarithms by a - 1: the factors of the two divergences.
    assert sp.simplify((first[0] - 1) / P / (A - 1) - (A - 1 / P) / (A - 1)) == 0
    assert sp.simplify((order - 1) / dual / (A - 1) - 1) == 0


def test_three_points_on_a_line_lose_nothing():
    one, two = sp.symbols("x y", positive=True)
    through = (A - 1 / P) / (A - 1) * A * P * one**2 / 2 + (P * A - 1) / (P - 1) * two**2 / 2
    best = (two * (A - 1) / (A * one) + 1).subs({})
    # A stationary point, where the value is that of the whole distance.
    slope = sp.diff(through, P)
    values = {A: sp.Rational(5, 2), one: sp.Rational(2, 3), two: sp.Rational(4, 5)}
    exact = (A / 2 * (one + two) ** 2).subs(values)
    candidates = sp.solve(sp.together(slope.subs(values)), P)
    inside = [root for root in candidates if root.is_real and root > 1]
    assert min(through.subs({**values, P: root}) for root in inside) == exact
    assert any(sp.simplify(root - best.subs(values)) == 0 for root in inside)
    found = rdpkit.weak_triangle(
        [2.5],
        first=lambda orders: orders * (2.0 / 3.0) ** 2 / 2.0,
        second=lambda orders: orders * 0.8**2 / 2.0,
    )
    # The search leaves an error of second order in its last bracket.
    assert float(found[0]) == pytest.approx(float(exact), rel=1e-12)


def test_the_leading_term_is_at_the_equilateral_triangle():
    # Second order in q of E_Q[(P/Q)^a], both (1-q) R + q (..): a(a-1)/2 E_R[(P1/R - Q1/R)^2].
    q, one, two = sp.symbols("q y w")
    power = (1 + q * (one - 1)) ** A * (1 + q * (two - 1)) ** (1 - A)
    second = sp.series(power, q, 0, 3).removeO().coeff(q, 2)
    # The terms of first order have no expectation, and E_R[y] = E_R[w] = 1.
    rest = sp.expand(sp.simplify(second - A * (A - 1) / 2 * (one - two) ** 2))
    assert rest == 0
    # E_R[y w] = e^{s u.v}: with |u| = |v| = |u - v| = 1 the product is 1/2.
    s, cosine = sp.symbols("s c", real=True)
    square = 2 * sp.exp(s) - 2 * sp.exp(s * cosine)
    assert sp.diff(square, cosine).subs({s: 1, cosine: sp.Rational(1, 2)}) < 0
    leading = A * (A - 1) / 2 * square.subs(cosine, sp.Rational(1, 2))
    assert sp.simplify(leading - A * (A - 1) * (sp.exp(s) - sp.exp(s / 2))) == 0
    z, order, size, population = 2.0, 3.0, 1, 10**6
    found = float(birrell2024.log_excess(np.array([order]), z, size, population).min())
    exact = sp.log(leading.subs({A: 3, s: sp.Rational(1, 4)}) / sp.Integer(population) ** 2)
    # What follows is smaller by a few q = 1e-6.
    assert found == pytest.approx(float(exact), abs=1e-4)


def test_two_records_of_a_line_are_nearer_than_a_triangle():
    # u = -v is ruled out by the diameter; x against -x with |x| = 1/2 has E = e^{s/4} and e^{-s/4}.
    s = sp.Symbol("s", positive=True)
    opposed = 2 * sp.exp(s / 4) - 2 * sp.exp(-s / 4)
    triangle = 2 * sp.exp(s) - 2 * sp.exp(s / 2)
    series = sp.series(opposed - triangle, s, 0, 3).removeO()
    # Both begin with s: to first order every geometry of diameter 1 leaks the same.
    assert sp.simplify(series.coeff(s, 1)) == 0
    assert series.coeff(s, 2) < 0
