"""The profile bound by powers alone: balls around the stored digits, and around the old integral.

Reference values: tests/oracles/profile_sampling.py.
"""

from __future__ import annotations

import pytest
from flint import arb, ctx
from hypothesis import given, settings

from rdpkit.numerics.gaussian_profile import log_excess_of_sampled_profile
from rdpkit.numerics.sampled_profile_balls import excess, rdp_ball
from tests.bounds.strategies import log_uniform
from tests.oracles.table import load

ENTRIES = load("profile_sampling")


@pytest.mark.parametrize("entry", ENTRIES[::3])
@pytest.mark.parametrize("bits", [20, 60])
def test_ball_contains_the_stored_value(entry, bits):
    with ctx.workprec(200):
        gamma = arb(entry["gamma"])
    ball = rdp_ball(entry["order"], entry["z"], gamma, bits=bits)
    with ctx.workprec(200):
        assert ball.overlaps(arb(entry["rdp"]) * (1 + arb(0, 1e-28)))
        assert ball.rel_accuracy_bits() >= bits


@settings(max_examples=25, deadline=None)
@given(log_uniform(0.01, 200.0), log_uniform(0.3, 50.0), log_uniform(1e-6, 1.0))
def test_floats_are_inside(gap, z, gamma):
    """The floats, which go through the hockey-stick integral, agree to 1e-9."""
    import numpy as np

    order = 1.0 + gap
    logarithm = float(log_excess_of_sampled_profile(np.array([order]), z, gamma)[0])
    with ctx.workprec(128):
        ball = excess(order, z, arb(gamma), bits=40).log()
        assert float(abs(ball - logarithm).upper()) <= 1e-9 * max(1.0, abs(logarithm))


def test_without_sampling_it_is_the_gaussian():
    for order, z in ((1.5, 0.7), (8.0, 3.0), (40.0, 20.0)):
        with ctx.workprec(128):
            exact = arb(order) / (2 * arb(z) * arb(z))
            assert rdp_ball(order, z, arb(1)).overlaps(exact)
