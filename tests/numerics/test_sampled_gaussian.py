"""The float path of the Poisson-sampled Gaussian against 30 stored digits.

Reference values: tests/oracles/poisson_gaussian.py (mp.dps = 70).
"""

import math

import numpy as np
import pytest
from mpmath import mp, mpf
from numpy.testing import assert_allclose

from rdpkit.numerics import sampled_gaussian as numerics
from tests.oracles.table import load

ENTRIES = [entry for entry in load("poisson_gaussian") if entry["q"] < 1.0]
NAMES = [f"q={e['q']:g},z={e['z']:g},a={e['order']:g}" for e in ENTRIES]


@pytest.mark.parametrize("entry", ENTRIES, ids=NAMES)
def test_quadrature(entry):
    """The rule's own error is below 1e-16; rounding in sums of exponentials leaves 1e-13."""
    order = np.array([entry["order"]])
    excess = numerics.log_excess_quadrature(order, entry["z"], entry["q"])
    value = numerics.rdp_from_log_excess(excess, order)
    assert_allclose(value, float(entry["rdp"]), rtol=1e-13)


@pytest.mark.parametrize("z", [0.3, 1.0, 30.0])
@pytest.mark.parametrize("q", [1e-6, 0.2, 0.97])
def test_orders_together_or_one_by_one(z, q):
    """Blocks share their nodes; the values may differ by rounding only."""
    orders = np.array([1.0001, 1.5, 2.0, 7.25, 40.0, 200.5])
    together = numerics.log_excess_quadrature(orders, z, q)
    alone = [numerics.log_excess_quadrature(orders[i : i + 1], z, q)[0] for i in range(6)]
    assert_allclose(together, alone, rtol=0.0, atol=1e-13 * np.abs(together).max())


def test_blocks_do_not_change_values(monkeypatch):
    orders = np.array([1.5, 2.0, 3.0, 9.0, 40.0])
    whole = (
        numerics.log_excess_quadrature(orders, 2.0, 0.1),
        numerics.log_excess_integer(orders[1:], 2.0, 0.1),
    )
    monkeypatch.setattr(numerics, "_BLOCK", 1)
    assert_allclose(numerics.log_excess_quadrature(orders, 2.0, 0.1), whole[0], rtol=1e-13)
    assert_allclose(numerics.log_excess_integer(orders[1:], 2.0, 0.1), whole[1], rtol=1e-13)


@pytest.mark.parametrize("order", [1.0 + 1e-9, 1.01, 1.5, 2.0, 3.0, 17.5, 256.0, 5000.25])
@pytest.mark.parametrize(
    "ratio", [-40.0, -3.0, -0.3, -0.049, -1e-3, -1e-9, 1e-12, 1e-4, 0.051, 0.7, 12.0, 300.0]
)
def test_power_excess(order, ratio):
    """(1+x)^a - 1 - a x in every branch, with the digits that cancel for small x and a near 1.

    Tolerance: the branches lose at most two digits at their seams, at |L| max(a-1, 1) = 0.05.
    """
    with mp.workdps(60):
        growth = mpf(order) * mpf(ratio)
        exact = mp.exp(growth) - 1 - mpf(order) * mp.expm1(mpf(ratio))
        expected = float(mp.log(exact))
    value = numerics.log_power_excess(np.array([ratio]), np.array([order]))[0, 0]
    assert_allclose(value, expected, rtol=1e-14, atol=2e-13)


@pytest.mark.parametrize("x", [0.0, 1e-300, 1e-17, 0.5, 29.999, 30.0, 30.001, 700.0, 1e6])
def test_log_expm1(x):
    with mp.workdps(40):
        expected = float(mp.log(mp.expm1(mpf(x)))) if x else -math.inf
    assert_allclose(numerics.log_expm1(np.array([x]))[0], expected, rtol=1e-15, atol=2e-16)


def test_tiny_excess_survives():
    """A - 1 = 1e-30: a logarithm of A itself would be 0."""
    value = numerics.rdp_from_log_excess(np.array([math.log(1e-30)]), np.array([3.0]))
    assert_allclose(value, 5e-31, rtol=1e-14)


@pytest.mark.parametrize("q", [1e-9, 0.3, 1.0 - 1e-9, 1.0])
@pytest.mark.parametrize("node", [-30.0, 0.4999, 0.5, 0.75, 60.0])
def test_log_likelihood_ratio(q, node):
    with mp.workdps(50):
        growth = mp.expm1((2 * mpf(node) - 1) / 2)
        expected = float(mp.log1p(mpf(q) * growth))
    value = numerics.log_likelihood_ratio(np.array([node]), 1.0, q)[0]
    assert_allclose(value, expected, rtol=1e-13)
