"""B(m) = E_Q[(1 - P/Q)^m] against its alternating sum with 900 digits.

Reference values: tests/oracles/fixed_size.py (mp.dps = 900).
"""

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf
from numpy.testing import assert_allclose
from scipy.special import gammaln, logsumexp

from rdpkit.numerics import pearson_vajda
from rdpkit.numerics.sampled_gaussian import log_sums_of_binomials
from tests.oracles.table import load

ENTRIES = [entry for entry in load("fixed_size") if "m" in entry]


@pytest.mark.parametrize("entry", ENTRIES, ids=[f"m={e['m']},z={e['z']:g}" for e in ENTRIES])
def test_log_even_moments(entry):
    """Absolute in the logarithm, so relative in B: 1e-13, or one part in 1e15 of a large one."""
    with mp.workdps(40):
        expected = float(mp.log(mpf(entry["moment"])))
    found = pearson_vajda.log_even_moments(entry["m"], entry["z"])
    assert found.size == entry["m"] // 2 + 1
    assert found[0] == 0.0
    assert_allclose(found[-1], expected, rtol=1e-15, atol=2e-13)


@pytest.mark.parametrize(
    "entry", ENTRIES[:20], ids=[f"m={e['m']},z={e['z']:g}" for e in ENTRIES[:20]]
)
def test_moment_ball(entry):
    ball = pearson_vajda.moment_ball(entry["m"], entry["z"])
    with ctx.workprec(300):
        assert ball.overlaps(arb(entry["moment"]) * (1 + arb(0, 1e-29)))
        assert ball.rel_accuracy_bits() >= 69


def test_blocks_do_not_change_values(monkeypatch):
    whole = pearson_vajda.log_even_moments(64, 2.0)
    monkeypatch.setattr(pearson_vajda, "_TOGETHER", 1)
    assert_allclose(pearson_vajda.log_even_moments(64, 2.0), whole, rtol=1e-13, atol=1e-13)


def by_square(integers):
    """An excess whose (a-1) r is a^2 - a: r(a) = a."""
    return np.log(np.expm1(integers * (integers - 1.0)))


def test_only_needed_integers_are_asked_for():
    asked = []

    def excess(integers):
        asked.append(integers.tolist())
        return by_square(integers)

    pearson_vajda.rdp_by_interpolation(np.array([7.5, 1.5, 7.5, 4.0]), excess)
    assert asked == [[2.0, 4.0, 7.0, 8.0]]


@settings(max_examples=30)
@given(
    seed=st.integers(0, 2**32),
    steepness=st.floats(-3.0, 3.0),
    curvature=st.floats(-0.01, 0.01),
    roughness=st.floats(0.0, 50.0),
    rest=st.floats(-5.0, 2.0),
)
def test_terms_out_of_sight_are_left_out_of_any_sum(seed, steepness, curvature, roughness, rest):
    """Many high orders at once against the sum over all terms, for terms of any shape."""
    rng = np.random.default_rng(seed)
    orders = np.unique(np.append(rng.integers(2, 1500, 60), 1500)).astype(float)
    k = np.arange(2.0, 1501.0)
    terms = steepness * k + curvature * k * k + roughness * rng.standard_normal(k.size)
    terms[rng.random(k.size) < 0.01] = -np.inf
    found = log_sums_of_binomials(orders, terms, rest)
    for order, value in zip(orders[::10], found[::10], strict=True):
        part = k[: int(order) - 1]
        ways = gammaln(order + 1.0) - gammaln(part + 1.0) - gammaln(order - part + 1.0)
        every = ways + terms[: part.size] + (order - part) * rest
        # Logarithms of up to 1e5, rounded.
        assert value == pytest.approx(logsumexp(every), rel=1e-13, abs=1e-10)
