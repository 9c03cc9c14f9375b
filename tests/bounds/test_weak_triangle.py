"""The weak triangle inequality: any p bounds, the best p is exact on a line."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.testing import assert_allclose

import rdpkit
from tests.bounds.strategies import log_uniform

ORDERS = log_uniform(0.01, 60.0).map(lambda gap: 1.0 + gap)
DISTANCES = log_uniform(0.01, 10.0)


def gaussian(distance):
    """The divergence of unit Gaussians at a distance."""
    return lambda orders: orders * distance**2 / 2.0


@settings(max_examples=80)
@given(ORDERS, DISTANCES, DISTANCES, log_uniform(1e-6, 1e6))
def test_every_p_bounds_the_sum_of_distances(order, one, two, gap):
    """Equality holds at the best p, so rounding may show: 1e-12."""
    found = rdpkit.weak_triangle([order], first=gaussian(one), second=gaussian(two), p=1.0 + gap)
    assert found[0] >= gaussian(one + two)(order) * (1.0 - 1e-12)


@settings(max_examples=80)
@given(ORDERS, DISTANCES, DISTANCES)
def test_best_p_is_exact_on_a_line(order, one, two):
    """The minimum is quadratic in p, of which about eight digits are found: 1e-9 is ample."""
    found = rdpkit.weak_triangle([order], first=gaussian(one), second=gaussian(two))
    exact = gaussian(one + two)(order)
    assert found[0] >= exact * (1.0 - 1e-12)
    assert_allclose(found[0], exact, rtol=1e-9)


@pytest.mark.parametrize(("first", "second"), [(2.0, math.inf), (math.inf, 2.0), (3.0, 3.0)])
def test_inf_where_no_p_is_admissible(first, second):
    """At order 2, p a < s and (p a - 1)/(p - 1) < t need 1 < p < s/2 and p > (t-1)/(t-2)."""
    found = rdpkit.weak_triangle(
        [2.0], first=gaussian(1), second=gaussian(1), first_below=first, second_below=second
    )
    assert found[0] == math.inf


def test_a_curve_that_is_infinite_somewhere():
    """The search steers around it."""
    found = rdpkit.weak_triangle(
        [2.0], first=lambda a: np.where(a > 3.0, np.inf, a / 2.0), second=gaussian(1)
    )
    assert np.isfinite(found[0])


@pytest.mark.parametrize("bad", [math.nan, -1e-9])
def test_bad_curves_raise(bad):
    with pytest.raises(ArithmeticError, match="is NaN or negative"):
        rdpkit.weak_triangle([2.0], first=lambda a: a * 0 + bad, second=gaussian(1))
    with pytest.raises(ArithmeticError, match="is NaN or negative"):
        rdpkit.weak_triangle([2.0], first=gaussian(1), second=lambda a: a * 0 + bad, p=2.0)


@pytest.mark.parametrize("p", [1.0, 0.5, math.nan, math.inf, "2", True])
def test_bad_p(p):
    with pytest.raises(ValueError, match="Expected p to be a finite Renyi order > 1"):
        rdpkit.weak_triangle([2.0], first=gaussian(1), second=gaussian(1), p=p)
