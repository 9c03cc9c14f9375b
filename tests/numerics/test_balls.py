"""Rounding of balls outwards, and precision that grows until it suffices."""

import math

import pytest
from flint import arb, ctx

from rdpkit.numerics.balls import float_above, float_below, to_relative_accuracy


@pytest.mark.parametrize("value", ["0.1", "1e-300", "3", "-2.5", "1e300"])
def test_floats_enclose(value):
    with ctx.workprec(200):
        ball = arb(value)
        low, high = float_below(ball), float_above(ball)
        assert arb(low) < ball < arb(high)
    # One float more than correct rounding on each side, not much more.
    assert high <= math.nextafter(math.nextafter(math.nextafter(low, math.inf), 9e999), 9e999)


def test_wide_ball():
    assert float_below(arb(1, 0.5)) <= 0.5
    assert float_above(arb(1, 0.5)) >= 1.5


def test_precision_grows_until_it_suffices():
    tried = []

    def cancelling():
        tried.append(ctx.prec)
        return (arb(1) + arb("1e-100")) - 1

    ball = to_relative_accuracy(cancelling, bits=53, start=64)
    assert tried == [64, 128, 256, 512]
    assert ball.rel_accuracy_bits() >= 53


def test_exact_zero_is_accepted():
    assert to_relative_accuracy(lambda: arb(0), bits=53, start=64) == 0


@pytest.mark.parametrize("bad", [arb(0, 1), arb.nan(), arb.pos_inf()])
def test_failure_is_no_number(bad):
    with pytest.raises(ArithmeticError, match="No enclosure to 53 bits"):
        to_relative_accuracy(lambda: bad, bits=53, start=64)
