"""The float path of the Poisson-sampled Gaussian against 30 stored digits.

Reference values: tests/oracles/poisson_gaussian.py (mp.dps = 70).
"""

import numpy as np
import pytest
from mpmath import mp, mpf
from numpy.testing import assert_allclose

from rdpkit.numerics import sampled_gaussian as numerics


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


@pytest.mark.parametrize("q", [1e-9, 0.3, 1.0 - 1e-9, 1.0])
@pytest.mark.parametrize("node", [-30.0, 0.4999, 0.5, 0.75, 60.0])
def test_log_likelihood_ratio(q, node):
    with mp.workdps(50):
        growth = mp.expm1((2 * mpf(node) - 1) / 2)
        expected = float(mp.log1p(mpf(q) * growth))
    value = numerics.log_likelihood_ratio(np.array([node]), 1.0, q)[0]
    assert_allclose(value, expected, rtol=1e-13)
