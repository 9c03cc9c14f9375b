"""Any release on a Poisson sample: exact laws of small releases, and the Gaussian to compare."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp

import rdpkit
from rdpkit.accountants.event_tree import UpperBounds
from rdpkit.numerics.balls import float_above, float_below
from tests.bounds.strategies import log_uniform
from tests.events import unit

ADD = rdpkit.Adjacency.ADD_OR_REMOVE_ONE
CHANCES = st.lists(log_uniform(1e-3, 1.0), min_size=3, max_size=3)
FRACTIONS = st.one_of(log_uniform(1e-6, 1.0), st.floats(0.5, 1.0))


def divergence(p, q, order):
    return float(logsumexp(order * np.log(p) - (order - 1.0) * np.log(q))) / (order - 1.0)


def sampled(rho, q, xi=0.0):
    inner = rdpkit.ZeroConcentrated(rho=rho, xi=xi, adjacency=ADD)
    return rdpkit.PoissonSampled(event=inner, sampling_probability=q)


@pytest.mark.thorough
@settings(max_examples=100)
@given(CHANCES, CHANCES, FRACTIONS, log_uniform(0.01, 60.0))
def test_exact_laws_stay_below_in_both_directions(one, two, q, gap):
    """A record that is in the data or not decides between two laws of three answers."""
    p, r = (np.array(found) / np.sum(found) for found in (one, two))
    orders = np.arange(2.0, 65.0)
    values = [max(divergence(p, r, a), divergence(r, p, a), 0.0) for a in orders]
    values = np.maximum.accumulate(values) * (1.0 + 1e-9)
    inner = rdpkit.CustomRdp(orders=tuple(orders), values=tuple(values), adjacency=ADD)
    event = rdpkit.PoissonSampled(event=inner, sampling_probability=q)
    bound = float(UpperBounds().rdp(event, np.array([1.0 + gap]), ADD)[0])
    for with_record, without in ((p, r), (r, p)):
        mixed = (1.0 - q) * without + q * with_record
        for x, y in ((mixed, without), (without, mixed)):
            assert divergence(x, y, 1.0 + gap) <= bound * (1.0 + 1e-9) + 1e-13


@settings(max_examples=60)
@given(log_uniform(0.3, 50.0), FRACTIONS, st.integers(2, 300))
def test_at_integers_it_is_the_gaussian_on_a_sample(noise, q, order):
    found = UpperBounds().rdp(sampled(0.5 / noise**2, q), np.array([float(order)]), ADD)[0]
    exact = rdpkit.sampled_gaussian_rdp([order], noise_multiplier=noise, sampling_probability=q)[0]
    assert found == pytest.approx(exact, rel=1e-9)


@settings(max_examples=60)
@given(log_uniform(0.3, 50.0), FRACTIONS, log_uniform(1e-3, 5000.0))
def test_between_integers_it_is_never_below_the_gaussian(noise, q, gap):
    event = sampled(0.5 / noise**2, q)
    found = float(UpperBounds().rdp(event, np.array([1.0 + gap]), ADD)[0])
    exact = rdpkit.sampled_gaussian_rdp(
        [1.0 + gap], noise_multiplier=noise, sampling_probability=q
    )[0]
    assert found >= exact * (1.0 - 1e-9)
    ball = UpperBounds().ball(event, 1.0 + gap, ADD)
    assert ball is not None
    assert float_below(ball) * (1.0 - 1e-9) <= found <= float_above(ball) * (1.0 + 1e-9)


@pytest.mark.parametrize("q", [0.0, 1.0])
def test_no_sample_and_all_records(q):
    orders = np.array([1.5, 2.0, 7.5, 1e5])
    found = UpperBounds().rdp(sampled(0.1, q, xi=0.2), orders, ADD)
    assert found == pytest.approx(q * (0.2 + 0.1 * orders), rel=1e-14)
    for order, value in zip(orders.tolist(), found.tolist(), strict=True):
        assert float(UpperBounds().ball(sampled(0.1, q, xi=0.2), order, ADD)) == pytest.approx(
            value
        )


@pytest.mark.parametrize("adjacency", ["replace_one", "zero_out"])
def test_where_a_record_is_replaced_a_sample_is_bounded_as_the_whole(adjacency):
    inner = rdpkit.ZeroConcentrated(rho=0.1, adjacency=adjacency)
    event = rdpkit.PoissonSampled(event=inner, sampling_probability=0.1)
    found = rdpkit.epsilon(event, delta=1e-5, adjacency=adjacency)
    assert found.bound == "no-amplification-of-any + zero-concentrated"
    assert found.epsilon == rdpkit.epsilon(inner, delta=1e-5, adjacency=adjacency).epsilon
    assert found.enclosure.rigorous


@pytest.mark.thorough
@pytest.mark.parametrize("delta", [1e-5, 1e-100])
@pytest.mark.parametrize("count", [1, 10**9])
def test_far_past_the_range_of_use(delta, count):
    event = sampled(1e-4, 1e-5) * count
    found = rdpkit.epsilon(event, delta=delta, adjacency=ADD)
    assert 0.0 < found.epsilon < math.inf
    assert found.enclosure is not None
    gaussian = unit.poisson(math.sqrt(0.5 / 1e-4), 1e-5)
    by_rdp = rdpkit.epsilon(gaussian * count, delta=delta, adjacency=ADD, bound="best-rdp")
    assert by_rdp.epsilon <= found.epsilon * (1.0 + 1e-9)


def test_calibrated_to_a_target():
    event = sampled(0.5, 0.01) * 1000
    found = rdpkit.calibrate(
        event, target_epsilon=1.0, delta=1e-5, adjacency=ADD, parameter="event.event.rho"
    )
    assert 0.99 < found.guarantee.epsilon <= 1.0
