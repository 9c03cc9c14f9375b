"""The Poisson-sampled Gaussian: three methods, stored values, properties, bad input.

Reference values: tests/oracles/poisson_gaussian.py (mp.dps = 70).
"""

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose

import rdpkit
from tests.bounds.strategies import NOISE, ORDERS
from tests.oracles.table import load

ENTRIES = load("poisson_gaussian")
NAMES = [f"q={e['q']:g},z={e['z']:g},a={e['order']:g}" for e in ENTRIES]


def rdp(orders, z, q, **options):
    return rdpkit.sampled_gaussian_rdp(
        orders, noise_multiplier=z, sampling_probability=q, **options
    )


@pytest.mark.parametrize("entry", ENTRIES, ids=NAMES)
def test_methods(entry):
    """1e-12, as the docstring promises: the rounding of log-gamma at 256, relative to 1.

    The series is the middle of a ball of 70 bits, rounded once to a float.
    """
    arguments, exact = ([entry["order"]], entry["z"], entry["q"]), float(entry["rdp"])
    assert_allclose(rdp(*arguments), exact, rtol=1e-12)
    assert_allclose(rdp(*arguments, method="series"), exact, rtol=3e-16)
    if entry["order"] == int(entry["order"]):
        assert_allclose(rdp(*arguments, method="finite-sum"), exact, rtol=1e-12)


@pytest.mark.parametrize("q", [1e-7, 1e-3, 0.1, 0.5, 0.999, 1.0])
def test_no_order_is_dropped(q):
    orders = np.concatenate([1.0 + np.geomspace(1e-6, 1e3, 60), np.arange(2.0, 300.0, 13.0)])
    for z in (0.3, 1.0, 50.0):
        found = rdp(orders, z, q)
        assert np.isfinite(found).all()
        assert (found > 0.0).all()


@given(ORDERS, NOISE)
def test_probability_one_is_the_gaussian(order, z):
    assert rdp([order], z, 1.0) == rdpkit.gaussian_rdp([order], noise_multiplier=z)


@pytest.mark.parametrize("method", ["quadrature", "series", "finite-sum"])
def test_probability_zero_leaks_nothing(method):
    assert rdp([2.0, 5.0], 1.0, 0.0, method=method).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("orders", [[2.5], [2.0, 3.5]])
def test_finite_sum_refuses_fractions(orders):
    with pytest.raises(ValueError, match="Expected orders to be integers for method 'finite-sum'"):
        rdp(orders, 1.0, 0.1, method="finite-sum")


@pytest.mark.parametrize("method", ["Quadrature", "", None, 1])
def test_bad_method(method):
    with pytest.raises(ValueError, match="Expected method to be one of 'quadrature'"):
        rdp([2.0], 1.0, 0.1, method=method)
