"""The sampled Gaussian's moments: finite sums, and expansions in little sampling and noise."""

import math

import numpy as np
import pytest
import sympy as sp

from rdpkit.numerics.sampled_gaussian import (
    log_excess_integer,
    log_excess_quadrature,
    log_power_excess,
)

S, Q, Z = sp.symbols("s q z", positive=True)
A, X, Y = sp.symbols("a x y", real=True)


def moment(k) -> sp.Expr:
    """E_Q[(P/Q)^k] with s = 1/z^2."""
    return sp.exp(k * (k - 1) * S / 2)


def excess(order: int) -> sp.Expr:
    """A - 1 at an integer order, by the binomial theorem."""
    expanded = sp.Poly((1 - Q + Q * Y) ** order, Y)
    return sum(c * moment(k) for (k,), c in expanded.terms()) - 1


@pytest.mark.thorough
@pytest.mark.parametrize("k", [0, 1, 2, 5])
def test_moments_of_the_likelihood_ratio(k):
    density = sp.exp(-(X**2) / (2 * Z**2)) / (Z * sp.sqrt(2 * sp.pi))
    ratio = sp.exp(k * (2 * X - 1) / (2 * Z**2))
    exact = sp.integrate(sp.expand_power_exp(density * ratio), (X, -sp.oo, sp.oo))
    assert sp.simplify(exact.rewrite(sp.erf) - moment(k).subs(S, 1 / Z**2)) == 0


@pytest.mark.parametrize("order", [2, 3, 4, 7])
def test_the_sum_of_positive_terms(order):
    positive = sum(
        sp.binomial(order, k) * Q**k * (1 - Q) ** (order - k) * (moment(k) - 1)
        for k in range(2, order + 1)
    )
    assert sp.expand(positive - excess(order)) == 0
    z, q = 0.8, 0.3
    exact = float(sp.N(excess(order).subs({S: 1 / sp.Rational(16, 25), Q: sp.Rational(3, 10)}), 40))
    found = math.exp(float(log_excess_integer(np.array([float(order)]), z, q)[0]))
    # 0.8 and 0.3 are rounded; the largest exponent, k(k-1)/(2 z^2), is 33.
    assert found == pytest.approx(exact, rel=1e-13)


def test_little_sampling_at_any_order():
    # (1 + q y)^a - 1 - a q y to third order in q, y = P/Q - 1 with E[y] = 0.
    expanded = sp.series((1 + Q * Y) ** A - 1 - A * Q * Y, Q, 0, 4).removeO()
    coefficients = sp.Poly(sp.expand(expanded), Q)
    second, third = (coefficients.coeff_monomial(Q**k) for k in (2, 3))
    assert sp.simplify(second - A * (A - 1) / 2 * Y**2) == 0
    moments = [
        sp.expand(sum(c * moment(k) for (k,), c in sp.Poly((Y - 1) ** power, Y).terms()))
        for power in (2, 3)
    ]
    assert sp.expand(moments[0] - (sp.exp(S) - 1)) == 0
    leading = sp.simplify(second.subs(Y, 1)) * moments[0]
    correction = sp.simplify(third.subs(Y, 1)) * moments[1]
    for order in (sp.Rational(3, 2), sp.Rational(7, 3)):
        values = {A: order, S: 1}
        q = 1e-4
        expected = float(sp.N(leading.subs(values), 30)) * q**2
        expected += float(sp.N(correction.subs(values), 30)) * q**3
        found = math.exp(float(log_excess_quadrature(np.array([float(order)]), 1.0, q)[0]))
        # What is left out is of the order q^2 times some tens, E[y^4] = e^6 - 4 e^3 + ....
        assert found == pytest.approx(expected, rel=2e-6)


@pytest.mark.parametrize("order", [2, 3, 5])
def test_much_noise(order):
    # s -> 0: A - 1 = a(a-1)/2 q^2 s + O(s^2).
    series = sp.series(excess(order), S, 0, 2).removeO()
    assert sp.simplify(series - sp.Rational(order * (order - 1), 2) * Q**2 * S) == 0
    z, q = 1e4, 0.3
    found = math.exp(float(log_excess_integer(np.array([float(order)]), z, q)[0]))
    # The next term is smaller by s a^2 = 25e-8 at most.
    assert found == pytest.approx(order * (order - 1) / 2 * q**2 / z**2, rel=3e-7)


@pytest.mark.parametrize("order", [2, 3, 5])
def test_little_noise(order):
    # s -> inf: the last term is all, q^a e^{a(a-1)s/2}.
    growth = sp.Symbol("g", positive=True)
    ratio = (excess(order) / (Q**order * moment(order))).subs(S, 2 * sp.log(growth))
    assert sp.limit(sp.expand(sp.powsimp(sp.expand(ratio))), growth, sp.oo) == 1
    z, q = 0.1, 0.3
    found = float(log_excess_integer(np.array([float(order)]), z, q)[0])
    expected = order * math.log(q) + order * (order - 1) / (2.0 * z * z)
    # The term before is smaller by a (1-q)/q e^{-(a-1)/z^2}, under 1e-40.
    assert found == pytest.approx(expected, rel=1e-14)


@pytest.mark.thorough
def test_the_excess_near_one():
    # With b = a - 1 and L = log(1 + x): e^L (e^{bL} - 1) - b (e^L - 1) is the bracket, and
    # sum_{k>=2} (b^k + (-1)^k b) L^k / k! is it over e^L.
    b, length = sp.symbols("b L", real=True)
    bracket = sp.exp((b + 1) * length) - 1 - (b + 1) * (sp.exp(length) - 1)
    assert (
        sp.simplify(
            bracket - (sp.exp(length) * (sp.exp(b * length) - 1) - b * (sp.exp(length) - 1))
        )
        == 0
    )
    series = sp.series(bracket * sp.exp(-length), length, 0, 7).removeO()
    stated = sum((b**k + (-1) ** k * b) * length**k / sp.factorial(k) for k in range(2, 7))
    assert sp.expand(series - stated) == 0
    point, power = sp.Rational(1, 100), sp.Rational(1, 1000)
    exact = float(sp.log(sp.N(bracket.subs({b: power, length: point}), 60)))
    found = float(log_power_excess(np.array([0.01]), np.array([1.001]))[0, 0])
    # The order 1.001 less 1 has lost three digits before the code sees it.
    assert found == pytest.approx(exact, abs=1e-12)
