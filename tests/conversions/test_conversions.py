"""The three conversions from one (order, rdp) to (epsilon, delta), side by side."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtr

from rdpkit.conversions import DELTA, EPSILON
from tests.bounds.strategies import log_uniform

NAMES = ["mironov2017", "balle2020", "optimal"]
ORDERS = log_uniform(0.01, 300.0).map(lambda gap: 1.0 + gap)
DIVERGENCES = log_uniform(1e-6, 20.0)
DELTAS = log_uniform(1e-20, 0.4)
EPSILONS = log_uniform(1e-3, 10.0)


def epsilon(name, order, rdp, delta):
    return float(EPSILON[name](np.array([order]), np.array([rdp]), delta)[0])


def delta(name, order, rdp, eps):
    return float(DELTA[name](np.array([order]), np.array([rdp]), eps)[0])


def test_the_names_and_their_order():
    assert list(EPSILON) == NAMES
    assert list(DELTA) == NAMES


def test_formulas():
    """a = 4, r = 0.5, delta = 1e-5, and delta at epsilon = 2."""
    assert epsilon("mironov2017", 4.0, 0.5, 1e-5) == pytest.approx(
        0.5 + math.log(1e5) / 3.0, rel=1e-15
    )
    assert epsilon("balle2020", 4.0, 0.5, 1e-5) == pytest.approx(
        0.5 + math.log(0.75) - (math.log(1e-5) + math.log(4.0)) / 3.0, rel=1e-15
    )
    assert delta("mironov2017", 4.0, 0.5, 2.0) == pytest.approx(math.exp(-4.5), rel=1e-15)
    assert delta("balle2020", 4.0, 0.5, 2.0) == pytest.approx(
        math.exp(-4.5) * 0.75**3 / 4.0, rel=1e-14
    )


@settings(max_examples=25)
@given(ORDERS, DIVERGENCES, DELTAS)
def test_each_epsilon_is_at_most_the_one_before(order, rdp, target):
    """The optimum is bounded from above to about 1e-10."""
    found = [epsilon(name, order, rdp, target) for name in NAMES]
    assert found[1] <= found[0] * (1.0 + 1e-14)
    assert 0.0 <= found[2] <= found[1] * (1.0 + 1e-9) + 1e-9


@settings(max_examples=25)
@given(ORDERS, DIVERGENCES, EPSILONS)
def test_each_delta_is_at_most_the_one_before(order, rdp, target):
    found = [delta(name, order, rdp, target) for name in NAMES]
    assert found[1] <= found[0] * (1.0 + 1e-12)
    assert 0.0 <= found[2] <= found[1] * (1.0 + 1e-7)
    assert max(found) <= 1.0


@settings(max_examples=25)
@given(ORDERS, DIVERGENCES, DELTAS, st.sampled_from(NAMES))
def test_round_trip(order, rdp, target, name):
    """delta at the epsilon of a delta is that delta, where epsilon is not cut off at 0.

    An error of 1e-11 in epsilon counts (order - 1) times in log delta. Where e^epsilon is no
    float the optimal delta is replaced by Balle's, and only at most as good.
    """
    found = epsilon(name, order, rdp, target)
    if found > 650.0:
        assert delta(name, order, rdp, found) >= target * (1.0 - 1e-6)
    elif found > 1e-6:
        assert_allclose(delta(name, order, rdp, found), target, rtol=1e-6)


def gaussian_epsilon(z, target):
    """The exact epsilon of the Gaussian mechanism (Balle and Wang 2018, Theorem 8)."""

    def excess(eps):
        return ndtr(0.5 / z - eps * z) - math.exp(eps + log_ndtr(-0.5 / z - eps * z)) - target

    if excess(0.0) <= 0.0:
        return 0.0
    high = 1.0
    while excess(high) > 0.0:
        high *= 2.0
    return brentq(excess, 0.0, high, xtol=1e-13)


@settings(max_examples=25)
@given(ORDERS, log_uniform(0.3, 50.0), log_uniform(1e-10, 0.4), st.sampled_from(NAMES))
def test_never_below_the_exact_gaussian(order, z, target, name):
    """Any order, any conversion. The exact profile is a difference of tails: 1e-6 at 1e-10."""
    exact = gaussian_epsilon(z, target)
    assert epsilon(name, order, order / (2.0 * z * z), target) >= exact - 1e-6 * (1.0 + exact)


@settings(max_examples=25)
@given(ORDERS, log_uniform(0.3, 50.0), EPSILONS, st.sampled_from(NAMES))
def test_never_below_the_exact_gaussian_delta(order, z, target, name):
    exact = ndtr(0.5 / z - target * z) - math.exp(target + log_ndtr(-0.5 / z - target * z))
    assert delta(name, order, order / (2.0 * z * z), target) >= exact * (1.0 - 1e-9) - 1e-15


@pytest.mark.parametrize("name", NAMES)
def test_infinite_divergence_says_nothing(name):
    found = EPSILON[name](np.array([2.0, 3.0]), np.array([np.inf, 0.5]), 1e-5)
    assert found[0] == math.inf
    assert math.isfinite(found[1])
    assert delta(name, 2.0, math.inf, 3.0) == 1.0


def test_no_divergence_at_all():
    """Identical outputs: the optimal conversion knows that epsilon and delta are 0."""
    assert epsilon("optimal", 2.0, 0.0, 1e-5) == 0.0
    assert delta("optimal", 2.0, 0.0, 0.0) == 0.0
    for name in NAMES:
        assert epsilon(name, 2.0, 0.0, 1e-5) >= 0.0


@pytest.mark.parametrize("name", ["balle2020", "optimal"])
def test_large_delta_costs_nothing(name):
    """r = 1e-3 allows a total variation of about 0.02: below delta, so epsilon is 0."""
    assert epsilon(name, 1000.0, 1e-3, 0.3) == 0.0


@pytest.mark.parametrize("name", NAMES)
def test_arrays_are_taken_element_by_element(name):
    orders, rdp = np.array([1.5, 4.0, 90.0]), np.array([0.1, 0.5, 3.0])
    together = EPSILON[name](orders, rdp, 1e-5)
    alone = [epsilon(name, a, r, 1e-5) for a, r in zip(orders, rdp)]
    assert_allclose(together, alone, rtol=1e-12)
