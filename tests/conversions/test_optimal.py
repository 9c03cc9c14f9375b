"""The optimal conversion: against brute force, sound on two outcomes, and attained.

Reference values: tests/oracles/optimal_conversion.py (mp.dps = 50).
"""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from rdpkit.conversions import optimal
from tests.bounds.strategies import log_uniform
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


def divergence(order, p, q):
    """Of a two-outcome mechanism, the larger direction, in logarithms."""
    lp, lq, rp, rq = np.log(p), np.log(q), np.log1p(-p), np.log1p(-q)
    forward = np.logaddexp(order * lp + (1 - order) * lq, order * rp + (1 - order) * rq)
    backward = np.logaddexp(order * lq + (1 - order) * lp, order * rq + (1 - order) * rp)
    return np.maximum(forward, backward) / (order - 1.0)


@pytest.mark.thorough
@settings(max_examples=40)
@given(
    log_uniform(0.01, 300.0).map(lambda gap: 1.0 + gap),
    log_uniform(1e-7, 0.999),
    log_uniform(1e-3, 20.0),
    log_uniform(1e-6, 0.99),
    st.booleans(),
)
def test_no_two_outcome_mechanism_leaks_more(order, p, gap, share, flipped):
    """Soundness by counterexample: choose the mechanism first, then what it satisfies."""
    q = p * math.exp(-gap)
    if flipped:
        p, q = 1.0 - q, 1.0 - p
    assume(0.0 < q < p < 1.0)
    target = share * p
    leaked = math.log((p - target) / q)
    r = float(divergence(order, p, q))
    assume(1e-7 < r < 30.0 and target < 0.4 and leaked > 1e-6)
    assert epsilon(order, r, target) >= leaked * (1.0 - 1e-9) - 1e-9
    assert delta(order, r, leaked) >= target * (1.0 - 1e-6)


def boundary(order, r, p):
    """The smallest q that (order, r) allows in both directions, by bisection in log q."""
    high = np.log(p)
    low = order / (order - 1.0) * np.log(p) - r - 1.0
    for _ in range(70):
        middle = (low + high) / 2.0
        allowed = divergence(order, p, np.exp(middle)) <= r
        low, high = np.where(allowed, low, middle), np.where(allowed, middle, high)
    return np.exp(high)


@pytest.mark.parametrize(
    ("order", "r", "target"),
    [
        (2.0, 0.5, 1e-5),
        (1.05, 0.2, 1e-3),
        (16.0, 0.32, 1e-5),
        (100.0, 4.0, 1e-8),
        (5.0, 1e-3, 1e-4),
    ],
)
def test_some_mechanism_attains_it(order, r, target):
    """A mechanism with two outcomes that satisfies (order, r) and has that epsilon up to 1e-6."""
    logit = np.linspace(math.log(target) - 3.0, 12.0, 20001)
    p = target + (1.0 - target) / (1.0 + np.exp(-logit))
    q = boundary(order, r, p)
    pick = int(np.argmax(np.log(p - target) - np.log(q)))
    assert divergence(order, p[pick], q[pick]) <= r
    attained = math.log((p[pick] - target) / q[pick])
    assert_allclose(epsilon(order, r, target), attained, rtol=1e-6)


@pytest.mark.parametrize(
    ("order", "r", "eps"), [(2.0, 0.5, 1.0), (16.0, 0.32, 0.5), (1.1, 2.0, 3.0)]
)
def test_some_mechanism_attains_its_delta(order, r, eps):
    p = 1.0 / (1.0 + np.exp(-np.linspace(-25.0, 12.0, 20001)))
    q = boundary(order, r, p)
    assert_allclose(delta(order, r, eps), (p - math.exp(eps) * q).max(), rtol=1e-6)


def test_total_variation_at_order_two():
    """At order 2 the extreme pair is symmetric, (1 +- t)/2: 4 t^2 / (1 - t^2) = e^r - 1."""
    for r in (1e-4, 0.1, 2.0):
        t = math.sqrt(math.expm1(r) / (4.0 + math.expm1(r)))
        assert_allclose(delta(2.0, r, 0.0), t, rtol=1e-8)
