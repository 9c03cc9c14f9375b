"""Gil et al.'s divergence of two Gaussians on the line, from its definition."""

import pytest
import sympy as sp
from sympy import Rational

from rdpkit import gaussian_renyi_divergence

A = sp.Symbol("a", positive=True)
S1, S2 = sp.symbols("s1 s2", positive=True)
M1, M2, X = sp.symbols("m1 m2 x", real=True)


def exponent() -> sp.Expr:
    """a log p + (1 - a) log q without the constants of the densities."""
    return -A * (X - M1) ** 2 / (2 * S1) - (1 - A) * (X - M2) ** 2 / (2 * S2)


def gaussian_integral(power: sp.Expr) -> tuple[sp.Expr, sp.Expr]:
    """The integral of e^power over the line, for a quadratic: (square of the factor, exponent)."""
    quadratic, linear, constant = sp.Poly(sp.expand(power), X).all_coeffs()
    return sp.pi / -quadratic, constant - linear**2 / (4 * quadratic)


@pytest.mark.thorough
def test_the_integral_of_a_quadratic_exponential():
    b, c = sp.symbols("b c", real=True)
    squared, height = gaussian_integral(-A * X**2 + b * X + c)
    exact = sp.integrate(sp.exp(-A * X**2 + b * X + c), (X, -sp.oo, sp.oo))
    assert sp.simplify(exact - sp.sqrt(squared) * sp.exp(height)) == 0


def test_the_formula_is_the_definition():
    squared, height = gaussian_integral(exponent())
    mixed = (1 - A) * S1 + A * S2
    # exp(2 (a-1) D) = (2 pi S1)^-a (2 pi S2)^(a-1) * integral^2, the powers of S1 and S2 apart.
    assert sp.simplify(squared * mixed / (2 * sp.pi * S1 * S2)) == 1
    quadratic = A / 2 * (M1 - M2) ** 2 / mixed
    assert sp.simplify(height / (A - 1) - quadratic) == 0


def test_the_quadratic_is_a_maximum_where_the_mixed_variance_is_positive():
    leading = sp.Poly(sp.expand(exponent()), X).all_coeffs()[0]
    assert sp.simplify(-2 * leading * S1 * S2 - ((1 - A) * S1 + A * S2)) == 0


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("order", "variances", "means"),
    [
        (Rational(5, 4), (2, 1), (1, 0)),
        (3, (Rational(1, 2), 1), (0, Rational(3, 7))),
        (7, (Rational(8, 9), 1), (-2, 1)),
    ],
)
def test_the_code_computes_it(order, variances, means):
    values = {A: order, S1: variances[0], S2: variances[1], M1: means[0], M2: means[1]}
    squared, height = gaussian_integral(exponent())
    constants = -A * sp.log(2 * sp.pi * S1) + (A - 1) * sp.log(2 * sp.pi * S2)
    exact = (height + (sp.log(squared) + constants) / 2) / (A - 1)
    expected = float(sp.N(exact.subs(values), 30))
    found = gaussian_renyi_divergence(
        float(order),
        mean_p=[float(means[0])],
        cov_p=[[float(variances[0])]],
        mean_q=[float(means[1])],
        cov_q=[[float(variances[1])]],
    )
    # Some ten roundings of numbers of size one.
    assert found == pytest.approx(expected, rel=1e-13)
