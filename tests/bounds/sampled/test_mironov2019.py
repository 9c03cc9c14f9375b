"""The Poisson-sampled Gaussian: three methods, stored values, properties, bad input.

Reference values: tests/oracles/poisson_gaussian.py (mp.dps = 70).
"""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from numpy.testing import assert_allclose
from scipy.special import logsumexp

import rdpkit
from tests.bounds.strategies import INTEGER_ORDERS, NOISE, ORDERS, PROBABILITIES
from tests.oracles.table import load

ENTRIES = load("poisson_gaussian")
NAMES = [f"q={e['q']:g},z={e['z']:g},a={e['order']:g}" for e in ENTRIES]


def rdp(orders, z, q, **options):
    return rdpkit.sampled_gaussian_rdp(
        orders, noise_multiplier=z, sampling_probability=q, **options
    )


@pytest.mark.parametrize("entry", ENTRIES, ids=NAMES)
def test_default_method(entry):
    """1e-12, as its docstring promises: the rounding of log-gamma at 256, relative to 1."""
    found = rdp([entry["order"]], entry["z"], entry["q"])
    assert_allclose(found, float(entry["rdp"]), rtol=1e-12)


@pytest.mark.parametrize("entry", ENTRIES, ids=NAMES)
def test_series(entry):
    """The middle of a ball of 70 bits, rounded once to a float."""
    found = rdp([entry["order"]], entry["z"], entry["q"], method="series")
    assert_allclose(found, float(entry["rdp"]), rtol=3e-16)


@pytest.mark.parametrize("entry", [e for e in ENTRIES if e["order"] == int(e["order"])])
def test_finite_sum(entry):
    found = rdp([entry["order"]], entry["z"], entry["q"], method="finite-sum")
    assert_allclose(found, float(entry["rdp"]), rtol=1e-12)


def test_values_of_the_theory_page():
    """q = 0.01, z = 1, as far as they were printed."""
    found = rdp([1.1, 1.5, 2.5, 9.9], 1.0, 0.01)
    printed = [9.24147108468696e-5, 1.2725374332745e-4, 2.1757533228188e-4, 0.0260336721697001]
    assert_allclose(found, printed, rtol=1e-13)


@pytest.mark.parametrize("q", [1e-7, 1e-3, 0.1, 0.5, 0.999, 1.0])
def test_no_order_is_dropped(q):
    orders = np.concatenate([1.0 + np.geomspace(1e-6, 1e3, 60), np.arange(2.0, 300.0, 13.0)])
    for z in (0.3, 1.0, 50.0):
        found = rdp(orders, z, q)
        assert np.isfinite(found).all()
        assert (found > 0.0).all()


@settings(max_examples=60)
@given(NOISE, PROBABILITIES)
@example(0.3, 0.999)
@example(100.0, 1e-7)
def test_integer_and_fractional_orders_join(z, q):
    """The sum at 3 lies between the rule's values on both sides, one part in 1e9 away."""
    below, at, above = rdp([3.0 - 1e-9, 3.0, 3.0 + 1e-9], z, q)
    assert below <= at * (1.0 + 1e-11)
    assert at <= above * (1.0 + 1e-11)
    assert_allclose([below, above], at, rtol=1e-7)


@settings(max_examples=40)
@given(ORDERS, NOISE, PROBABILITIES)
@example(1.01, 5.0, 0.5)
def test_series_agrees_with_quadrature(order, z, q):
    assert_allclose(rdp([order], z, q), rdp([order], z, q, method="series"), rtol=1e-12)


@settings(max_examples=60)
@given(INTEGER_ORDERS, NOISE, PROBABILITIES)
def test_finite_sum_agrees_with_series(order, z, q):
    one = rdp([order], z, q, method="finite-sum")
    assert_allclose(one, rdp([order], z, q, method="series"), rtol=1e-12)


@settings(max_examples=60)
@given(ORDERS, ORDERS, NOISE, PROBABILITIES)
def test_nondecreasing_in_the_order(one, two, z, q):
    low, high = rdp(sorted((one, two)), z, q)
    assert low <= high * (1.0 + 1e-11)


@settings(max_examples=60)
@given(ORDERS, NOISE, PROBABILITIES, PROBABILITIES)
def test_nondecreasing_in_the_probability(order, z, one, two):
    low, high = (rdp([order], z, q)[0] for q in sorted((one, two)))
    assert low <= high * (1.0 + 1e-11)


@settings(max_examples=60)
@given(ORDERS, NOISE, NOISE, PROBABILITIES)
def test_nonincreasing_in_the_noise(order, one, two, q):
    quiet, loud = (rdp([order], z, q)[0] for z in sorted((one, two)))
    assert loud <= quiet * (1.0 + 1e-11)


@settings(max_examples=60)
@given(ORDERS, ORDERS, NOISE, PROBABILITIES)
def test_scaled_divergence_is_convex(one, two, z, q):
    """(a - 1) D_a is convex in a; rounding of the three values is 1e-12 of the largest."""
    middle = (one + two) / 2.0
    orders = np.array([one, middle, two])
    left, centre, right = (orders - 1.0) * rdp(orders, z, q)
    assert centre <= (left + right) / 2.0 * (1.0 + 1e-11)


@settings(max_examples=60)
@given(ORDERS, NOISE, PROBABILITIES)
def test_between_zero_and_the_gaussian(order, z, q):
    found = rdp([order], z, q)[0]
    assert 0.0 < found <= rdpkit.gaussian_rdp([order], noise_multiplier=z)[0] * (1.0 + 1e-12)


@given(ORDERS, NOISE)
def test_probability_one_is_the_gaussian(order, z):
    assert rdp([order], z, 1.0) == rdpkit.gaussian_rdp([order], noise_multiplier=z)


@pytest.mark.parametrize("order", [1.01, 2.0, 7.5, 100.0])
def test_probability_near_one_is_near_the_gaussian(order):
    """Continuous at q = 1: the change is of the order of 1 - q times e^(a / z^2)."""
    found = rdp([order], 20.0, 1.0 - 1e-12)
    assert_allclose(found, rdpkit.gaussian_rdp([order], noise_multiplier=20.0), rtol=1e-9)


@pytest.mark.parametrize("method", ["quadrature", "series", "finite-sum"])
def test_probability_zero_leaks_nothing(method):
    assert rdp([2.0, 5.0], 1.0, 0.0, method=method).tolist() == [0.0, 0.0]


def test_both_directions_at_once():
    """The reverse divergence is smaller (Theorem 5), here by integration on a grid."""
    z, q, order, step = 0.8, 0.2, 3.0, 0.01
    x = np.arange(-15.0, 25.0, step)
    base = -(x**2) / (2 * z * z) - math.log(z * math.sqrt(2 * math.pi) / step)
    mixed = base + np.logaddexp(math.log1p(-q), math.log(q) + (2 * x - 1) / (2 * z * z))
    reverse = logsumexp(order * base + (1 - order) * mixed) / (order - 1)
    forward = logsumexp(order * mixed + (1 - order) * base) / (order - 1)
    found = rdp([order], z, q)[0]
    assert reverse < found
    assert_allclose(found, forward, rtol=1e-11)


@pytest.mark.parametrize("orders", [[2.5], [2.0, 3.5]])
def test_finite_sum_refuses_fractions(orders):
    with pytest.raises(ValueError, match="Expected orders to be integers for method 'finite-sum'"):
        rdp(orders, 1.0, 0.1, method="finite-sum")


@pytest.mark.parametrize("method", ["Quadrature", "", None, 1])
def test_bad_method(method):
    with pytest.raises(ValueError, match="Expected method to be one of 'quadrature'"):
        rdp([2.0], 1.0, 0.1, method=method)
