"""Pearson-Vajda moments of a Gaussian pair."""

import math

import numpy as np
import pytest
import sympy as sp

from rdpkit.numerics.pearson_vajda import log_even_moments, moment_ball

S = sp.Symbol("s", positive=True)
R = sp.Symbol("r", positive=True)
Y = sp.Symbol("y", real=True)


def b(m: int) -> sp.Expr:
    """B(m) = E_Q[(1 - P/Q)^m] with s = 1/z^2, from the moments of P/Q."""
    terms = sp.Poly((1 - Y) ** m, Y).terms()
    return sum(c * sp.exp(sp.Rational(k * (k - 1), 2) * S) for (k,), c in terms)


@pytest.mark.parametrize("m", [2, 3, 4, 7])
def test_the_alternating_sum_is_the_moment(m):
    stated = sum(
        (-1) ** i * sp.binomial(m, i) * sp.exp(sp.Rational(i * (i - 1), 2) * S)
        for i in range(m + 1)
    )
    assert sp.expand(stated - b(m)) == 0


def test_the_first_ones():
    assert sp.expand(b(0) - 1) == 0
    assert sp.expand(b(1)) == 0
    assert sp.expand(b(2) - (sp.exp(S) - 1)) == 0
    # Negative: why a printed formula with B(3) under a root is no real number.
    with_r = sp.expand(b(3)).subs(S, sp.log(R))
    assert sp.expand(sp.simplify(with_r) + (R - 1) ** 2 * (R + 2)) == 0


@pytest.mark.parametrize("m", [2, 4, 6])
def test_much_noise(m):
    # Y = P/Q - 1 is about Z / z, so B(m) is about (m-1)!! s^(m/2).
    series = sp.series(b(m), S, 0, m // 2 + 1).removeO()
    assert sp.simplify(series - sp.factorial2(m - 1) * S ** (m // 2)) == 0


@pytest.mark.parametrize("z", [0.5, 1.0, 8.0, 64.0])
def test_the_code_computes_them(z):
    logs = log_even_moments(12, z)
    rate = 1 / sp.Rational(z) ** 2
    for half, found in enumerate(logs):
        exact = sp.log(sp.N(b(2 * half).subs(S, rate), 80)) if half else 0
        # Quadrature is good to a few units in the last place of the moment.
        assert float(found) == pytest.approx(float(exact), abs=2e-14 + 1e-15 * abs(float(exact)))
    exact = sp.N(b(5).subs(S, rate), 60)
    assert float(moment_ball(5, z)) == pytest.approx(float(exact), rel=1e-15)
    assert math.isclose(float(np.exp(logs[1])), math.expm1(1.0 / z**2), rel_tol=1e-13)
