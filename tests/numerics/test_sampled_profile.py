"""The moment of a sampled Gaussian profile in floats.

Its digits are tested in test_sampled_profile_balls.py and in
tests/bounds/sampled/test_profile_sampling.py.
"""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from rdpkit.numerics import sampled_profile
from rdpkit.numerics.sampled_profile import log_excess

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


def test_second_order_where_the_probability_is_tiny():
    """A - 1 = a (a-1) gamma^2 times an integral of 2 e^eps delta(eps), to first order in gamma."""
    orders = np.array([1.5, 2.0, 3.0])
    found = [log_excess(orders, 2.0, gamma) for gamma in (1e-7, 1e-9)]
    assert_allclose(found[0] - found[1], 2.0 * math.log(100.0), rtol=1e-6)
    # E_Q[(P/Q - 1)^2] = e^(1/z^2) - 1 for the Gaussian, which that integral is at a = 2, gamma = 1.
    factor = np.log(orders * (orders - 1.0) / 2.0)
    chi_square = math.log(math.expm1(0.25))
    assert (found[0] - factor - 2.0 * math.log(1e-7) > chi_square).all()


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
