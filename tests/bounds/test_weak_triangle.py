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


def test_orders_that_the_curves_are_asked_for():
    """Never at or above their limits, never at or below 1."""
    asked = []

    def curve(orders):
        asked.append(orders)
        return orders * 0.5

    found = rdpkit.weak_triangle(
        [1.5, 2.0], first=curve, second=curve, first_below=5.0, second_below=6.0
    )
    assert np.isfinite(found).all()
    everything = np.concatenate(asked)
    assert everything.max() < 6.0
    assert everything.min() > 1.0


@pytest.mark.parametrize(("first", "second"), [(2.0, math.inf), (math.inf, 2.0), (3.0, 3.0)])
def test_inf_where_no_p_is_admissible(first, second):
    """At order 2, p a < s and (p a - 1)/(p - 1) < t need 1 < p < s/2 and p > (t-1)/(t-2)."""
    found = rdpkit.weak_triangle(
        [2.0], first=gaussian(1), second=gaussian(1), first_below=first, second_below=second
    )
    assert found[0] == math.inf


def test_limits_that_still_leave_room():
    """c = 3.5 at order 2: p in (5/3, 7/4), so the best p = 3/2 is out of reach."""
    curves = {"first": gaussian(1), "second": gaussian(1)}
    inside = rdpkit.weak_triangle([2.0], **curves, first_below=3.5, second_below=3.5)[0]
    free = rdpkit.weak_triangle([2.0], **curves)[0]
    at_edge = rdpkit.weak_triangle([2.0], **curves, p=5.0 / 3.0)[0]
    assert free == pytest.approx(4.0, rel=1e-9)
    assert_allclose(inside, at_edge, rtol=1e-6)
    assert free < at_edge <= inside


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
