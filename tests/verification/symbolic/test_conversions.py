"""From a divergence to (epsilon, delta): where the formulas come from."""

import math

import numpy as np
import pytest
import sympy as sp

from rdpkit.conversions import balle2020, mironov2017, optimal

A = sp.Symbol("a", positive=True)
X, E, R, D = sp.symbols("x e r d", positive=True)


@pytest.mark.thorough
def test_balle_is_the_best_line_under_a_power():
    # max(x - e, 0) <= c x^a for all x > 0, e = e^eps: the least c is where they touch.
    touching = E * A / (A - 1)
    constant = (touching - E) / touching**A
    assert sp.simplify(sp.diff((X - E) / X**A, X).subs(X, touching)) == 0
    # delta <= c E_Q[(P/Q)^a] = c exp((a-1) r), as the code has it.
    code = sp.exp((A - 1) * (R - sp.log(E) + sp.log(1 - 1 / A)) - sp.log(A))
    ratio = sp.simplify(sp.log(constant * sp.exp((A - 1) * R)) - sp.log(code))
    for order in (sp.Rational(3, 2), 4, 17):
        value = ratio.subs({A: order, E: 3, R: sp.Rational(2, 7)})
        assert abs(sp.N(value, 40)) < 1e-35


def test_epsilon_and_delta_are_inverse():
    epsilon = R + sp.log((A - 1) / A) - (sp.log(D) + sp.log(A)) / (A - 1)
    log_delta = (A - 1) * (R - epsilon + sp.log(1 - 1 / A)) - sp.log(A)
    back = sp.expand_log(sp.simplify(log_delta - sp.log(D)), force=True)
    for order in (sp.Rational(3, 2), 4):
        assert abs(sp.N(back.subs({A: order, D: sp.Rational(1, 1000)}), 40)) < 1e-35


def test_balle_is_below_mironov():
    # The difference, (a-1) log((a-1)/a) - log a over a - 1, is negative for a > 1.
    gap = sp.log((A - 1) / A) - sp.log(A) / (A - 1)
    assert all(sp.N(gap.subs(A, order)) < 0 for order in (1.001, 1.5, 2, 100, 1e6))
    assert sp.limit(gap, A, sp.oo) == 0


@pytest.mark.parametrize(("order", "rdp", "delta"), [(1.5, 0.2, 1e-3), (8.0, 1.0, 1e-6)])
def test_the_code_computes_them(order, rdp, delta):
    values = {A: sp.Rational(order), R: sp.Rational(rdp), D: sp.Rational(delta)}
    orders, curve = np.array([order]), np.array([rdp])
    balle = R + sp.log((A - 1) / A) - (sp.log(D) + sp.log(A)) / (A - 1)
    mironov = R - sp.log(D) / (A - 1)
    for module, formula in ((balle2020, balle), (mironov2017, mironov)):
        exact = float(sp.N(formula.subs(values), 30))
        # A handful of roundings of numbers of size ten.
        assert float(module.epsilon(orders, curve, delta)[0]) == pytest.approx(exact, rel=1e-14)


def test_the_optimal_conversion_is_attained_by_two_outputs():
    # At order 2 the region p^2/q + (1-p)^2/(1-q) <= e^r is a quadratic: its boundary is explicit.
    p, q = sp.symbols("p q", positive=True)
    surplus = p**2 / q + (1 - p) ** 2 / (1 - q) - 1
    assert sp.simplify(surplus - (p - q) ** 2 / (q * (1 - q))) == 0
    rdp, epsilon = 0.5, 0.3
    height = math.expm1(rdp)
    qs = np.linspace(1e-6, 1.0 - 1e-6, 200_001)
    ps = np.minimum(qs + np.sqrt(height * qs * (1.0 - qs)), 1.0)
    # The swapped constraint: (p - q)^2 <= height p (1 - p).
    swapped = (
        (2.0 * qs + height) + np.sqrt((2.0 * qs + height) ** 2 - 4.0 * (1.0 + height) * qs**2)
    ) / (2.0 * (1.0 + height))
    best = float((np.minimum(ps, swapped) - math.exp(epsilon) * qs).max())
    found = float(optimal.delta(np.array([2.0]), np.array([rdp]), epsilon)[0])
    # An upper bound by a bracket; the grid of 2e5 points is below the maximum by 1e-9.
    assert best - 1e-12 <= found <= best + 1e-8
