"""Renyi divergences as integrals of hockey-stick divergences, and sampling on both sides."""

import math

import mpmath
import numpy as np
import pytest
import sympy as sp

from rdpkit.bounds.sampled import profile_sampling

A, G, X, U = sp.symbols("a g x u", positive=True)


@pytest.mark.thorough
def test_the_identity_for_every_likelihood_ratio():
    # x^a - 1 - a (x - 1) = a(a-1) int_1^inf [g^(a-2) (x-g)_+ + g^(-a-1) (1 - g x)_+] dg.
    target = X**A - 1 - A * (X - 1)
    above = sp.integrate(sp.expand(G ** (A - 2) * (X - G)), G)
    above = above.subs(G, X) - above.subs(G, 1)
    below = sp.integrate(sp.expand(G ** (-A - 1) * (1 - G * X)), G)
    below = below.subs(G, 1 / X) - below.subs(G, 1)
    for integral in (above, below):
        difference = sp.simplify(sp.powsimp(sp.expand(A * (A - 1) * integral - target)))
        for order in (sp.Rational(3, 2), 3, sp.Rational(9, 2)):
            for x in (sp.Rational(1, 3), sp.Rational(5, 2)):
                assert abs(sp.N(difference.subs({A: order, X: x}), 40)) < 1e-30


def test_integrated_once_more_it_is_a_product_of_powers():
    # F(x) = int_1^x a(a-1) [g^(a-2) + g^(-a-1)] (x-g) dg = (x^a - 1) (1 - x^(1-a)).
    product = (X**A - 1) * (1 - X ** (1 - A))
    second = A * (A - 1) * (X ** (A - 2) + X ** (-A - 1))
    for order in (sp.Rational(3, 2), 3, sp.Rational(9, 2)):
        for x in (sp.Rational(3, 2), sp.Rational(20)):
            found = sp.diff(product, X, 2).subs({A: order, X: x})
            assert abs(sp.N(found - second.subs({A: order, X: x}), 40)) < 1e-30
    assert product.subs(X, 1) == 0
    assert sp.simplify(sp.diff(product, X).subs(X, 1)) == 0


def test_the_change_of_variables():
    # g = 1 + gamma (e^eps - 1), h = gamma delta(eps): [g^(a-2) + g^(-a-1)] h dg is
    # gamma^2 [g^(a-2) + g^(-a-1)] delta(eps) e^eps d eps.
    gamma, epsilon = sp.symbols("gamma epsilon", positive=True)
    g = 1 + gamma * (sp.exp(epsilon) - 1)
    assert sp.simplify(gamma * sp.diff(g, epsilon) - gamma**2 * sp.exp(epsilon)) == 0


def test_advanced_joint_convexity():
    # (1-gamma) m0 + gamma m1 - e^eps' [(1-gamma) m0 + gamma m1'] is gamma times
    # m1 - e^eps [(1-beta) m0 + beta m1'], beta = e^(eps' - eps).
    gamma, epsilon = sp.symbols("gamma epsilon", positive=True)
    m0, m1, other = sp.symbols("m0 m1 m2")
    g = 1 + gamma * (sp.exp(epsilon) - 1)
    beta = g / sp.exp(epsilon)
    left = (1 - gamma) * m0 + gamma * m1 - g * ((1 - gamma) * m0 + gamma * other)
    right = gamma * (m1 - sp.exp(epsilon) * ((1 - beta) * m0 + beta * other))
    assert sp.simplify(left - right) == 0


@pytest.mark.parametrize(("order", "z", "gamma"), [(1.7, 0.9, 0.2), (6.0, 2.0, 0.05)])
def test_the_code_computes_the_integral(order, z, gamma):
    def integrand(epsilon):
        shift, spread = 1 / (2 * mpmath.mpf(z)), z * epsilon
        delta = mpmath.ncdf(shift - spread) - mpmath.exp(epsilon) * mpmath.ncdf(-shift - spread)
        g = 1 + gamma * mpmath.expm1(epsilon)
        return (g ** (order - 2) + g ** (-order - 1)) * delta * mpmath.exp(epsilon)

    with mpmath.workdps(25):
        points = [0, 1 / z, 3 / z, 10 / z, (order + 12 * z) / z**2, (order + 40 * z) / z**2]
        total = mpmath.quad(integrand, points)
        value = mpmath.log1p(order * (order - 1) * gamma**2 * total) / (order - 1)
    found = float(profile_sampling.rdp(np.array([order]), z, gamma)[0])
    # Twelve digits: Gauss-Legendre panels in floats.
    assert found == pytest.approx(float(value), rel=1e-11)
    assert math.isfinite(found)
