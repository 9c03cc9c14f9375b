"""The optimal conversion: against brute force.

Reference values: tests/oracles/optimal_conversion.py (mp.dps = 50).
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from rdpkit.conversions import optimal
from tests.oracles.table import load

ENTRIES = load("optimal_conversion")
EPSILONS = [e for e in ENTRIES if list(e)[2] == "delta" and float(e["epsilon"]) > 0.0]
DELTAS = [e for e in ENTRIES if list(e)[2] == "epsilon" and float(e["delta"]) > 1e-20]


def epsilon(order, rdp, delta):
    return float(optimal.epsilon(np.array([order]), np.array([rdp]), delta)[0])


def delta(order, rdp, eps):
    return float(optimal.delta(np.array([order]), np.array([rdp]), eps)[0])


@pytest.mark.parametrize(
    "entry", EPSILONS, ids=lambda e: f"{e['order']:g}-{e['rdp']:g}-{e['delta']:g}"
)
def test_stored_epsilons(entry):
    """An upper bound; by 1e-9, or by what is allowed for the rounding of a tiny divergence."""
    found, exact = epsilon(entry["order"], entry["rdp"], entry["delta"]), float(entry["epsilon"])
    assert found >= exact * (1.0 - 1e-12)
    assert_allclose(found, exact, rtol=1e-9 + 1e-14 / entry["rdp"])


@pytest.mark.parametrize(
    "entry", DELTAS, ids=lambda e: f"{e['order']:g}-{e['rdp']:g}-{e['epsilon']:g}"
)
def test_stored_deltas(entry):
    """Relative in delta: 1e-10 below where total variation is 2e-4, whose square is compared."""
    found, exact = delta(entry["order"], entry["rdp"], entry["epsilon"]), float(entry["delta"])
    assert found >= exact * (1.0 - 1e-9)
    assert_allclose(found, exact, rtol=1e-7)
