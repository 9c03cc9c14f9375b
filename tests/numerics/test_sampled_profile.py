"""The moment of a sampled Gaussian profile in floats and in balls.

The balls are around the stored digits, which come from another integral
(tests/oracles/profile_sampling.py). Digits of floats are tested in
tests/bounds/sampled/test_profile_sampling.py, too.
"""

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given, settings
from numpy.testing import assert_allclose

from rdpkit.numerics import sampled_profile
from rdpkit.numerics.sampled_profile import excess, log_excess, rdp_ball
from tests.bounds.strategies import log_uniform
from tests.oracles.table import load

NOISE = [0.001, 0.05, 0.3, 1.0, 5.0, 100.0]


@pytest.mark.parametrize("z", NOISE)
@pytest.mark.parametrize("gamma", [1e-7, 0.3, 1.0])
def test_one_order_alone_or_among_others(z, gamma):
    """Few panels are visited for all orders at once, many for each order alone."""
    orders = np.array([1.001, 1.5, 2.0, 7.5, 60.0, 300.0])
    together = log_excess(orders, z, gamma)
    alone = [log_excess(orders[i : i + 1], z, gamma)[0] for i in range(6)]
    assert np.isfinite(together).all()
    # Different nodes: what differs is rounding, in units of the exponents that cancel.
    assert_allclose(together, alone, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("z", NOISE)
def test_without_sampling_it_is_the_gaussian(z):
    """gamma = 1: A = e^(a (a-1) / (2 z^2))."""
    orders = np.array([1.01, 2.0, 3.5, 64.0])
    excess = log_excess(orders, z, 1.0)
    exponent = orders * (orders - 1.0) / (2.0 * z * z)
    assert_allclose(np.logaddexp(0.0, excess), exponent, rtol=1e-11)


@pytest.mark.parametrize("order", [1.01, 2.5, 40.0, 300.0])
@pytest.mark.parametrize("z", [0.01, 0.1, 0.4])
@pytest.mark.parametrize("gamma", [1e-9, 1e-2, 0.9])
def test_nothing_that_is_left_out_shows(monkeypatch, order, z, gamma):
    """Between 60 beyond the bend and 13 before the last peak; roundings are of exponents."""
    some = log_excess(np.array([order]), z, gamma)
    monkeypatch.setattr(sampled_profile, "_FLAT", 1e9)
    monkeypatch.setattr(sampled_profile, "_REACH", 20.0)
    everything = log_excess(np.array([order]), z, gamma)
    assert_allclose(some, everything, rtol=1e-14, atol=1e-15 * (order / z) ** 2)


@pytest.mark.parametrize("ratio", [2.0, 4.0, 5.0, 6.0, 8.0, 20.0])
@pytest.mark.parametrize("gamma", [1e-4, 1e-2, 0.1])
def test_wide_and_flat_peaks(monkeypatch, ratio, gamma):
    """With a near 4 z^2 the peak is wide and flat, anywhere between 0 and a/z."""
    z = 80.0
    orders = np.array([ratio * z * z])
    found = log_excess(orders, z, gamma)
    monkeypatch.setattr(sampled_profile, "_WIDEST", 0.4)
    # Rounding of e^(4e4).
    assert_allclose(log_excess(orders, z, gamma), found, rtol=1e-14, atol=1e-9)


@pytest.mark.parametrize("z", [1e-300, 1e-61, 1e-59, 1e-9])
def test_noise_far_below_any_use_takes_no_longer(z):
    """No amplification shows; beyond the largest float it is infinite, never small."""
    orders = np.array([1.5, 2.0, 256.0])
    with np.errstate(over="ignore"):
        unsampled = orders * (orders - 1.0) * (0.5 / z) / z
    # log(0.1^a) beside 1e17.
    assert_allclose(log_excess(orders, z, 0.1), unsampled, rtol=1e-12)


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


@pytest.mark.parametrize("z", [1.0000001e-5, 0.9999999e-5])
def test_with_hardly_any_noise_the_ball_is_wide_and_still_right(z):
    """On both sides of where integration ends; floats agree with the integral."""
    for order, gamma in ((1.5, 0.3), (4.0, 1e-9), (20.0, 1.0)):
        ball = rdp_ball(order, z, arb(gamma))
        logarithm = log_excess(np.array([order]), z, gamma)[0]
        assert float(ball.lower()) <= logarithm / (order - 1.0) * (1.0 + 1e-12)
        assert float(ball.upper()) >= logarithm / (order - 1.0) * (1.0 - 1e-12)
        assert float(ball.rad()) <= 1e-3 * float(ball.mid())
