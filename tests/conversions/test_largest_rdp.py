"""Conversions backwards: the line that touches the region, against brute force and round trips.

Reference values: tests/oracles/optimal_conversion.py (mp.dps = 50).
"""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings

from rdpkit.conversions import EPSILON, balls
from rdpkit.conversions.largest_rdp import largest_rdp, optimal_epsilon, touching
from tests.bounds.strategies import ORDERS, log_uniform
from tests.oracles.table import load

STORED = [e for e in load("optimal_conversion") if list(e)[2] == "delta"]
POSITIVE = [e for e in STORED if float(e["epsilon"]) > 0.0]
EPSILONS = log_uniform(1e-6, 30.0)
DELTAS = log_uniform(1e-12, 0.5)


@pytest.mark.parametrize("entry", POSITIVE, ids=lambda e: f"{e['order']}-{e['rdp']}")
def test_stored_epsilons_come_back(entry):
    """The largest divergence at the stored epsilon is the one that the epsilon was made from.

    Relative 1e-11: epsilon's derivative by the divergence is up to 3e4 in the table.
    """
    order, rdp, delta = entry["order"], entry["rdp"], entry["delta"]
    epsilon = float(entry["epsilon"])
    assert touching(order, epsilon, delta).rdp == pytest.approx(rdp, rel=1e-11)
    assert optimal_epsilon(order, rdp, delta)[0] == pytest.approx(epsilon, rel=1e-11)


@pytest.mark.parametrize("entry", [e for e in STORED if float(e["epsilon"]) < 0.0])
def test_a_negative_epsilon_is_none(entry):
    assert optimal_epsilon(entry["order"], entry["rdp"], entry["delta"])[0] == 0.0


@settings(max_examples=40)
@given(ORDERS, log_uniform(1e-3, 20.0), DELTAS)
def test_slope_is_the_derivative(order, epsilon, delta):
    """Against a central difference, whose own error is about 1e-4 here."""
    step = 1e-4 * epsilon
    found = touching(order, epsilon, delta)
    above, below = (touching(order, epsilon + s, delta) for s in (step, -step))
    if above.corner == below.corner:
        slope = (above.rdp - below.rdp) / (2.0 * step)
        assert found.slope == pytest.approx(slope, rel=2e-3)


@settings(max_examples=25)
@given(ORDERS, EPSILONS, DELTAS)
@example(2.0, 2.2603294069810542e-06, 8.315287191035679e-07)
def test_there_and_back(order, epsilon, delta):
    """The error of the divergence, 1e-10, grows by its share in epsilon."""
    found = touching(order, epsilon, delta)
    back, again = optimal_epsilon(order, found.rdp, delta)
    assert back == pytest.approx(epsilon, abs=1e-9 * found.rdp / found.slope + 1e-9 * epsilon)
    assert again.rdp == pytest.approx(found.rdp, rel=1e-9)


@pytest.mark.parametrize("conversion", ["mironov2017", "balle2020", "optimal"])
@settings(max_examples=10)
@given(epsilon=log_uniform(0.01, 100.0), delta=log_uniform(1e-10, 0.1))
def test_what_there_is_room_for_converts_to_epsilon(conversion, epsilon, delta):
    """At orders with room for anything; the optimal floats are good to 1e-4 near the corner."""
    orders = np.array([1.5, 2.0, 7.3, 64.0, 500.0])
    room = largest_rdp(orders, epsilon=epsilon, delta=delta, conversion=conversion)
    for order, rdp in zip(orders, room, strict=True):
        if rdp > 1e-6:
            point = np.array([order]), np.array([rdp])
            found = EPSILON[conversion](*point, delta)[0]
            # The floats of the optimal conversion err towards a larger epsilon.
            assert found >= epsilon * (1.0 - 1e-9) - 1e-12
            assert found <= epsilon * (1.0 + (2e-3 if conversion == "optimal" else 1e-9)) + 1e-12


def test_huge_epsilons_use_balle():
    """There e^epsilon is no float, and nothing is lost: both agree to 1e-9 already at 600."""
    orders = np.array([1.5, 8.0, 100.0])
    for epsilon, tolerance in ((600.0, 1e-9), (1e5, 0.0)):
        optimal, balle = (
            largest_rdp(orders, epsilon=epsilon, delta=1e-5, conversion=name)
            for name in ("optimal", "balle2020")
        )
        np.testing.assert_allclose(optimal, balle, rtol=tolerance)


def test_corner_is_where_both_constraints_bind():
    found = touching(14.0, 0.05, 0.04)
    assert found.corner
    assert found.p + found.q == pytest.approx(1.0, abs=1e-15)
    assert not touching(14.0, 1.0, 1e-5).corner
    assert math.isfinite(found.slope)
    assert found.slope > 0.0


@settings(max_examples=40)
@given(ORDERS, log_uniform(1e-7, 30.0), log_uniform(1e-100, 1e-12))
@example(3515.539076838221, 0.015221635716810115, 1.148736705608677e-40)
def test_epsilons_at_tiny_deltas_are_what_their_certificates_say(order, rdp, delta):
    found = optimal_epsilon(order, rdp, delta)[0]
    certain = balls.epsilon("optimal", order, balls.Interval(lower=rdp, upper=rdp), delta)
    # An epsilon near 0 is a difference of numbers of the size of log(1/delta) / order.
    assert found >= certain.lower * (1.0 - 1e-6) - 1e-11
    assert found <= certain.upper * (1.0 + 1e-3) + 1e-11
