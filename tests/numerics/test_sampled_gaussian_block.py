"""The shared quadrature against the series in balls, which shares no code with it."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from rdpkit.numerics import sampled_gaussian
from rdpkit.numerics import sampled_gaussian_block as block
from rdpkit.numerics.sampled_gaussian_series import rdp_enclosure

# Rounding in the exponents, of size up to a few hundred, leaves 1e-13.
TOLERANCE = 1e-12


def rdp(log_excess, orders):
    return sampled_gaussian.rdp_from_log_excess(log_excess, orders)


def exact(order, z, q):
    return float(rdp_enclosure(float(order), z, q).mid())


@given(
    z=st.floats(0.1, 100.0),
    q=st.one_of(st.floats(1e-9, 1.0 - 1e-9), st.floats(-20.0, -0.1).map(math.exp)),
    above_one=st.lists(st.floats(-6.0, 6.9).map(math.exp), min_size=1, max_size=12),
)
@settings(max_examples=40)
def test_any_orders_together(z, q, above_one):
    orders = 1.0 + np.array(above_one)
    found = rdp(sampled_gaussian.log_excess_quadrature(orders, z, q), orders)
    for pick in (int(np.argmin(orders)), int(np.argmax(orders))):
        assert_allclose(found[pick], exact(orders[pick], z, q), rtol=TOLERANCE)


def test_rows_of_different_lengths_do_not_mix():
    """Every row has its own noise, probability and order, in whatever block it lands."""
    rng = np.random.default_rng(20)
    z = np.exp(rng.uniform(math.log(0.1), math.log(100.0), size=60))
    q = np.exp(rng.uniform(math.log(1e-8), math.log(0.999), size=60))
    orders = 1.0 + np.exp(rng.uniform(math.log(0.01), math.log(2000.0), size=60))
    found = rdp(block.log_excess_of_rows(orders[:, None], z, q)[:, 0], orders)
    expected = [exact(a, s, p) for a, s, p in zip(orders, z, q, strict=True)]
    assert_allclose(found, expected, rtol=TOLERANCE)


def test_small_blocks_give_the_same(monkeypatch):
    rng = np.random.default_rng(3)
    z, q = rng.uniform(0.3, 5.0, 20), rng.uniform(1e-4, 0.5, 20)
    orders = rng.uniform(1.1, 60.0, 20)
    whole = block.log_excess_of_rows(orders[:, None], z, q)
    one = block.log_excess_of_one(orders, 0.7, 0.01)
    monkeypatch.setattr(block, "_ENTRIES", 1)
    # A row among others has more nodes than alone: terms below e^-40 of the sum.
    assert_allclose(block.log_excess_of_rows(orders[:, None], z, q), whole, rtol=1e-13)
    assert_allclose(block.log_excess_of_one(orders, 0.7, 0.01), one, rtol=1e-13)


def test_cells_and_line_agree(monkeypatch):
    rng = np.random.default_rng(5)
    z, q = rng.uniform(0.1, 5.0, 20), rng.uniform(1e-4, 0.5, 20)
    orders = 1.0 + rng.uniform(1.0, 30.0, (20, 3))
    monkeypatch.setattr(block, "_LONG_LINE", 10**9)
    on_line = block.log_excess_of_rows(orders, z, q)
    monkeypatch.setattr(block, "_LONG_LINE", 0)
    assert_allclose(block.log_excess_of_rows(orders, z, q), on_line, rtol=1e-14, atol=1e-11)


@pytest.mark.parametrize("long_line", [0, 10**9])
@pytest.mark.parametrize("ratio", [0.3, 1.0, 3.0, 4.0, 5.0, 8.0, 16.0, 30.0])
@pytest.mark.parametrize("q", [1e-6, 1e-3, 0.05, 0.5])
def test_peaks_that_are_wide_and_in_between(monkeypatch, q, ratio, long_line):
    """With a near 4 z^2 the integrand has one flat peak anywhere between 0 and a."""
    monkeypatch.setattr(block, "_LONG_LINE", long_line)
    z = np.array([3.0, 15.0, 40.0])
    orders = ratio * z * z
    found = rdp(block.log_excess_of_rows(orders[:, None], z, np.full(3, q))[:, 0], orders)
    assert_allclose(found, [exact(a, s, q) for a, s in zip(orders, z)], rtol=TOLERANCE)


def test_compatible_orders_cancel_little():
    """The far terms over their sum: at least 1e-3 at the edge of the near nodes, for all chosen."""
    rng = np.random.default_rng(4)
    for _ in range(200):
        orders = 1.0 + np.exp(rng.uniform(-6.0, 8.0, size=30))
        chosen = orders[block.compatible(orders)]
        if chosen.size:
            reach = min(0.5, 2.0 / (orders.max() - 1.0))
            bracket = np.expm1(chosen * reach) - chosen * np.expm1(reach)
            assert (bracket >= 0.9e-3).all()


@pytest.mark.parametrize(
    ("order", "z", "q"), [(1.02, 0.1054, 2.59e-77), (1.5, 0.15, 1e-40), (1.9, 0.3, 1e-20)]
)
def test_hardly_any_sampling_and_little_noise(order, z, q):
    """There x^2 decides up to its peak at 2, beyond the order."""
    orders = np.array([order])
    found = rdp(sampled_gaussian.log_excess_quadrature(orders, z, q), orders)
    # The relative error of log(A - 1), about -250 here, is one of 1e-15.
    assert_allclose(found, exact(order, z, q), rtol=TOLERANCE)


@pytest.mark.parametrize("z", [0.5, 2.0, 30.0])
def test_orders_with_cells_of_their_own(z):
    """Far above every shared line; the finite sum shares no code with the quadrature."""
    orders = np.array([600.0, 2_049.0, 5_000.0, 20_000.0])
    found = sampled_gaussian.log_excess_quadrature(orders, z, 0.01)
    summed = sampled_gaussian.log_excess_integer(orders, z, 0.01)
    # The sum's exponents hold logarithms of factorials, up to 1e4, whose roundings leave 1e-12.
    assert_allclose(found, summed, rtol=1e-13, atol=3e-12)
