"""The profile bound in balls: around the stored digits, which come from another integral.

Reference values: tests/oracles/profile_sampling.py.
"""

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given, settings

from rdpkit.numerics.sampled_profile import log_excess
from rdpkit.numerics.sampled_profile_balls import excess, rdp_ball
from tests.bounds.strategies import log_uniform
from tests.oracles.table import load

ENTRIES = load("profile_sampling")


@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("bits", [20, 60])
def test_ball_contains_the_stored_value(entry, bits):
    with ctx.workprec(200):
        gamma = arb(entry["gamma"])
    ball = rdp_ball(entry["order"], entry["z"], gamma, bits=bits)
    with ctx.workprec(200):
        assert ball.overlaps(arb(entry["rdp"]) * (1 + arb(0, 1e-28)))
        assert ball.rel_accuracy_bits() >= bits


@settings(max_examples=60, deadline=None)
@given(log_uniform(0.01, 2000.0), log_uniform(1e-3, 1e4), log_uniform(1e-9, 1.0))
def test_floats_are_inside(gap, z, gamma):
    """The floats agree to 1e-12 of the logarithm, or of the exponents that cancel in it."""
    order = 1.0 + gap
    logarithm = float(log_excess(np.array([order]), z, gamma)[0])
    with ctx.workprec(128):
        ball = excess(order, z, arb(gamma), bits=40).log()
        size = max(1.0, abs(logarithm), (order / z) ** 2)
        assert float(abs(ball - logarithm).upper()) <= 1e-12 * size


def test_without_sampling_it_is_the_gaussian():
    for order, z in ((1.5, 0.7), (8.0, 3.0), (40.0, 20.0)):
        with ctx.workprec(128):
            exact = arb(order) / (2 * arb(z) * arb(z))
            assert rdp_ball(order, z, arb(1)).overlaps(exact)


@settings(max_examples=25, deadline=None)
@given(log_uniform(0.01, 2000.0), log_uniform(1e-3, 1e2), log_uniform(1e-9, 1.0))
def test_between_two_bounds_in_closed_form(gap, z, gamma):
    """Never above no amplification, never below the part of it beyond the bend."""
    order = 1.0 + gap
    ball = rdp_ball(order, z, arb(gamma))
    with ctx.workprec(128):
        a, variance = arb(order), arb(z) * arb(z)
        assert ball <= a / (2 * variance) or ball.overlaps(a / (2 * variance))
        least = (a * arb(gamma).log() + a * (a - 1) / (2 * variance)).exp() / 2 - 1
        assert not least > 1 or ball > least.log() / (a - 1)


@pytest.mark.parametrize("z", [1.0000001e-5, 0.9999999e-5])
def test_with_hardly_any_noise_the_ball_is_wide_and_still_right(z):
    """On both sides of where integration ends; floats agree with the integral."""
    for order, gamma in ((1.5, 0.3), (4.0, 1e-9), (20.0, 1.0)):
        ball = rdp_ball(order, z, arb(gamma))
        logarithm = log_excess(np.array([order]), z, gamma)[0]
        assert float(ball.lower()) <= logarithm / (order - 1.0) * (1.0 + 1e-12)
        assert float(ball.upper()) >= logarithm / (order - 1.0) * (1.0 - 1e-12)
        assert float(ball.rad()) <= 1e-3 * float(ball.mid())
