"""The Gaussian mechanism: order / (2 z^2)."""

import math
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose

import rdpkit


def test_values():
    """Two roundings of a quotient: at most two units in the last place."""
    orders = [1.01, 2.0, 7.5, 1e5]
    exact = [float(Fraction(a) / (2 * Fraction(0.3) ** 2)) for a in orders]
    assert_allclose(rdpkit.gaussian_rdp(orders, noise_multiplier=0.3), exact, rtol=5e-16)


def test_a_single_number_is_an_array_of_one():
    found = rdpkit.gaussian_rdp(2, noise_multiplier=1)
    assert found.shape == (1,)
    assert found.dtype == np.float64
    assert found[0] == 1.0


def test_sensitivity_under_each_adjacency():
    """Adding a record moves the sum by its norm, replacing one by up to twice that."""
    event = rdpkit.Gaussian(noise_std=3.0, record_norm=1.5)
    add = rdpkit.RdpCurve.of(event, orders=[2.0], adjacency="add_or_remove_one")
    replace = rdpkit.RdpCurve.of(event, orders=[2.0], adjacency="replace_one")
    assert_allclose(add.values, [0.25], rtol=1e-15)
    assert_allclose(replace.values, [1.0], rtol=1e-15)


SIZES = {"sample_size": 10, "population_size": 100, "adjacency": "replace_one"}
OF_ORDERS = (
    partial(rdpkit.gaussian_rdp, noise_multiplier=1.0),
    partial(rdpkit.sampled_gaussian_rdp, noise_multiplier=1.0, sampling_probability=0.1),
    partial(rdpkit.fixed_size_gaussian_rdp, noise_multiplier=1.0, **SIZES),
    partial(
        rdpkit.gaussian_synthesis_rdp, n=10**6, d=6, min_eigenvalue=0.01, adjacency="replace_one"
    ),
    partial(rdpkit.weak_triangle, first=lambda a: a, second=lambda a: a),
)


@pytest.mark.parametrize("orders", [1.0, [2.0, math.nan], [], [[2.0, 3.0]], "2"], ids=repr)
@pytest.mark.parametrize("function", OF_ORDERS, ids=lambda one: one.func.__name__)
def test_bad_orders(function, orders):
    with pytest.raises(ValueError, match="Expected orders to be finite Renyi orders > 1"):
        function(orders)


@pytest.mark.parametrize("q", [-0.1, 1.1, math.nan, "0.1", True, None, [0.1]])
def test_bad_probability(q):
    with pytest.raises(ValueError, match=r"Expected sampling_probability in \[0, 1\]"):
        rdpkit.sampled_gaussian_rdp([2.0], noise_multiplier=1.0, sampling_probability=q)


@pytest.mark.parametrize("noise", [0, -1.0, math.nan, math.inf, "1", True, None, [1.0], 10**400])
def test_bad_noise(noise):
    with pytest.raises(ValueError, match="Expected noise_multiplier to be a finite number > 0"):
        rdpkit.gaussian_rdp([2.0], noise_multiplier=noise)
