"""The signed series in ball arithmetic: the ball holds the stored digits and is narrow.

Reference values: tests/oracles/poisson_gaussian.py (mp.dps = 70).
"""

import pytest
from flint import arb, ctx

from rdpkit.numerics.sampled_gaussian_series import series_enclosure
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
