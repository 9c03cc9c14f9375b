"""The Gaussian's privacy profile in floats, against mpmath at 60 digits."""

from __future__ import annotations

import math

import numpy as np
import pytest
from mpmath import mp, mpf
from numpy.testing import assert_allclose

from rdpkit.numerics import gaussian_profile
from rdpkit.numerics.gaussian_profile import log_delta, log_excess_of_sampled_profile

NOISE = [0.05, 0.3, 1.0, 5.0, 100.0]


def exact_log_delta(eps, z):
    """At 60 digits; far in the tail erfc alone keeps them."""
    with mp.workdps(60):
        e, big_z, root = mpf(eps), mpf(z), mp.sqrt(2)
        t = e * big_z - 1 / (2 * big_z)
        value = (mp.erfc(t / root) - mp.exp(e) * mp.erfc((t + 1 / big_z) / root)) / 2
        return float(mp.log(value))


@pytest.mark.parametrize("z", NOISE)
def test_every_digit_from_the_peak_to_the_tail(z):
    """The logarithm is good to 1e-12 of its size; where 1/z is small M(t) - M(t+s) loses 1/s."""
    epsilon = np.concatenate([[0.0], np.geomspace(1e-3, 30.0, 40)]) / z
    found = log_delta(epsilon, z)
    exact = [exact_log_delta(e, z) for e in epsilon]
    assert_allclose(found, exact, rtol=1e-12, atol=1e-15 * max(1.0, 100.0 * z))


@pytest.mark.parametrize("z", NOISE)
def test_it_falls_and_is_the_total_variation_at_zero(z):
    found = log_delta(np.linspace(0.0, 40.0 / z, 400), z)
    assert (np.diff(found) < 0.0).all()
    assert math.exp(found[0]) == pytest.approx(math.erf(0.5 / z / math.sqrt(2.0)), rel=1e-11)


@pytest.mark.parametrize("z", NOISE)
@pytest.mark.parametrize("gamma", [1e-7, 0.3, 1.0])
def test_one_order_alone_or_among_others(z, gamma):
    """Few panels are visited for all orders at once, many for each order alone."""
    orders = np.array([1.001, 1.5, 2.0, 7.5, 60.0, 300.0])
    together = log_excess_of_sampled_profile(orders, z, gamma)
    alone = [log_excess_of_sampled_profile(orders[i : i + 1], z, gamma)[0] for i in range(6)]
    assert np.isfinite(together).all()
    # Different nodes: what differs is rounding, in units of the exponents that cancel.
    assert_allclose(together, alone, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("z", NOISE)
def test_without_sampling_it_is_the_gaussian(z):
    """gamma = 1: A = e^(a (a-1) / (2 z^2))."""
    orders = np.array([1.01, 2.0, 3.5, 64.0])
    excess = log_excess_of_sampled_profile(orders, z, 1.0)
    exponent = orders * (orders - 1.0) / (2.0 * z * z)
    assert_allclose(np.logaddexp(0.0, excess), exponent, rtol=1e-11)


def test_second_order_where_the_probability_is_tiny():
    """A - 1 = a (a-1) gamma^2 times an integral of 2 e^eps delta(eps), to first order in gamma."""
    orders = np.array([1.5, 2.0, 3.0])
    found = [log_excess_of_sampled_profile(orders, 2.0, gamma) for gamma in (1e-7, 1e-9)]
    assert_allclose(found[0] - found[1], 2.0 * math.log(100.0), rtol=1e-6)
    # E_Q[(P/Q - 1)^2] = e^(1/z^2) - 1 for the Gaussian, which that integral is at a = 2, gamma = 1.
    factor = np.log(orders * (orders - 1.0) / 2.0)
    chi_square = math.log(math.expm1(0.25))
    assert (found[0] - factor - 2.0 * math.log(1e-7) > chi_square).all()


@pytest.mark.parametrize("ratio", [2.0, 4.0, 5.0, 6.0, 8.0, 20.0])
@pytest.mark.parametrize("gamma", [1e-4, 1e-2, 0.1])
def test_no_peak_is_missed(monkeypatch, ratio, gamma):
    """With a near 4 z^2 the peak is wide and flat, anywhere between 0 and a/z."""
    z = 80.0
    orders = np.array([ratio * z * z])
    some = log_excess_of_sampled_profile(orders, z, gamma)
    monkeypatch.setattr(gaussian_profile, "_FEW_PANELS", 10**9)
    # The two sums differ in what is left out, e^-59 of each panel, and in rounding of e^(4e4).
    assert_allclose(some, log_excess_of_sampled_profile(orders, z, gamma), rtol=1e-14, atol=1e-9)


def test_noise_far_below_any_use_gives_infinity_and_not_an_endless_array():
    orders = np.array([1.5, 2.0, 256.0])
    assert np.all(np.isinf(log_excess_of_sampled_profile(orders, 1e-9, 0.1)))
