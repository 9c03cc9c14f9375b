"""The series and the trapezoid rule in balls: they hold the stored digits, and each other.

Reference values: tests/oracles/poisson_gaussian.py (mp.dps = 70).
"""

import pytest
from flint import arb, ctx
from hypothesis import given, settings

from rdpkit.numerics import sampled_gaussian_series as both
from rdpkit.numerics.sampled_gaussian_series import rdp_enclosure, series_enclosure
from tests.bounds.strategies import ORDERS, log_uniform
from tests.oracles.table import load

ENTRIES = [entry for entry in load("poisson_gaussian") if entry["q"] < 1.0]


@pytest.mark.parametrize("entry", ENTRIES[::3])
def test_ball_contains_the_value(entry):
    """70 bits are 21 digits: a relative radius below 2^-69, around a value known to 30."""
    ball = series_enclosure(entry["order"], entry["z"], entry["q"])
    with ctx.workprec(200):
        stored = arb(entry["rdp"]) * (1 + arb(0, 1e-29))
        assert ball.overlaps(stored)
        assert ball.rel_accuracy_bits() >= 69


@pytest.mark.parametrize("order", [1.0001, 1.1, 1.5, 1.9])
def test_slowest_case_of_the_plain_series(order):
    """q = 1/2 and order < 2: the plain series needs thousands of terms, the accelerated one 50."""
    narrow = series_enclosure(order, 5.0, 0.5, bits=120)
    with ctx.workprec(300):
        assert series_enclosure(order, 5.0, 0.5, bits=40).overlaps(narrow)
        assert narrow > 0


def test_accuracy_that_cannot_be_reached_raises():
    with pytest.raises(ArithmeticError, match="No enclosure to 200000 bits"):
        series_enclosure(2.0, 1.0, 0.5, bits=200000)


def by_rule(order, z, q, bits):
    with ctx.workprec(bits):
        return both.excess_by_nodes(order, z, q).log1p() / (arb(order) - 1)


@pytest.mark.parametrize("entry", ENTRIES[::5])
@pytest.mark.parametrize("bits", [64, 160, 400])
def test_ball_of_the_rule_contains_the_stored_value(entry, bits):
    ball = by_rule(entry["order"], entry["z"], entry["q"], bits)
    with ctx.workprec(500):
        assert ball.overlaps(arb(entry["rdp"]) * (1 + arb(0, 1e-29)))
        # A - 1 may be tiny, and what is lost in the difference is in the radius.
        scale = arb(entry["rdp"]) * (arb(entry["order"]) - 1)
        growth = scale.exp() / (arb(entry["order"]) - 1)
        assert float(ball.rad()) <= 2.0 ** (8 - (bits - 12)) * float(growth)


@settings(max_examples=40)
@given(ORDERS, log_uniform(0.2, 100.0), log_uniform(1e-7, 0.999))
def test_two_ways_meet(order, z, q):
    """Neither is trusted alone: the series has another proof."""
    rule, series = by_rule(order, z, q, 200), series_enclosure(order, z, q)
    with ctx.workprec(300):
        assert rule.overlaps(series)
        assert rdp_enclosure(order, z, q).overlaps(series)
        assert rdp_enclosure(order, z, q).rel_accuracy_bits() >= 69


def test_little_noise_goes_to_the_series():
    """Where the line would need more nodes than the series has terms."""
    assert both.nodes_needed(3.3, 0.02, 100) > 30_000
    ball = rdp_enclosure(3.3, 0.02, 0.01)
    with ctx.workprec(300):
        assert ball.overlaps(series_enclosure(3.3, 0.02, 0.01))


def test_precision_that_cannot_hold_the_excess_is_in_the_radius():
    """At 64 bits A - 1 = 1e-18 is not resolved: the ball says so instead of a wrong number."""
    ball = by_rule(2.0, 100.0, 1e-7, 64)
    assert ball.contains(0)
    assert ball.overlaps(rdp_enclosure(2.0, 100.0, 1e-7))
