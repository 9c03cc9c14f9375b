"""zCDP as it is stated, and its relatives."""

import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rdpkit
from rdpkit.accountants.event_tree import UpperBounds
from tests.bounds.strategies import log_uniform
from tests.events import unit

ADD = rdpkit.Adjacency.ADD_OR_REMOVE_ONE


@settings(max_examples=60)
@given(log_uniform(1e-9, 1e3), log_uniform(1e-9, 1e3), log_uniform(1e-3, 1e5))
def test_it_is_its_definition(rho, xi, gap):
    event = rdpkit.ZeroConcentrated(rho=rho, xi=xi, adjacency=ADD)
    order = 1.0 + gap
    assert UpperBounds().rdp(event, np.array([order]), ADD)[0] == pytest.approx(xi + rho * order)
    assert float(UpperBounds().ball(event, order, ADD)) == pytest.approx(xi + rho * order)


@pytest.mark.parametrize("delta", [1e-2, 1e-5, 1e-100])
@pytest.mark.parametrize("noise", [0.5, 5.0, 1e4])
def test_a_gaussian_by_its_renyi_divergences(noise, delta):
    stated = rdpkit.ZeroConcentrated(rho=0.5 / noise**2, adjacency=ADD)
    gaussian = unit.gaussian(noise)
    found = rdpkit.epsilon(stated, delta=delta, adjacency=ADD)
    assert found.bound == "zero-concentrated"
    same = rdpkit.epsilon(gaussian, delta=delta, adjacency=ADD, bound="best-rdp")
    assert found.epsilon == pytest.approx(same.epsilon, rel=1e-9)
    exact = rdpkit.epsilon(gaussian, delta=delta, adjacency=ADD)
    assert found.epsilon >= exact.epsilon


def test_nothing_spent_is_nothing_leaked():
    event = rdpkit.ZeroConcentrated(rho=0.0, adjacency=ADD)
    assert rdpkit.epsilon(event, delta=1e-5, adjacency=ADD).epsilon < 1e-300


@settings(max_examples=20)
@given(log_uniform(0.05, 20.0), log_uniform(1e-12, 1e-2))
def test_calibration_of_rho_never_exceeds_the_target(target, delta):
    event = rdpkit.ZeroConcentrated(rho=0.5, adjacency=ADD)
    found = rdpkit.calibrate(
        event, target_epsilon=target, delta=delta, adjacency=ADD, parameter="rho"
    )
    assert 0.999 * target < found.guarantee.epsilon <= target
    # Bun and Steinke's conversion, rho + 2 sqrt(rho log(1/delta)), is never below ours.
    rho = found.event.rho
    assert rho + 2.0 * math.sqrt(rho * math.log(1.0 / delta)) >= found.guarantee.epsilon


def gaussian_or_everything(rho, delta, epsilon, count):
    """Several releases that tell everything with the probability delta, and a Gaussian else."""
    with mp.workdps(50):
        mu = mp.sqrt(2 * mp.mpf(rho) * count)
        rest = mp.ncdf(mu / 2 - epsilon / mu) - mp.exp(epsilon) * mp.ncdf(-mu / 2 - epsilon / mu)
        kept = (1 - mp.mpf(delta)) ** count
        return float(1 - kept + kept * rest)


@pytest.mark.thorough
@settings(max_examples=12, deadline=None)
@given(log_uniform(1e-3, 2.0), log_uniform(1e-12, 0.3), log_uniform(0.01, 5.0), st.integers(1, 5))
def test_what_is_left_out_with_a_delta(rho, delta, epsilon, count):
    one = rdpkit.ZeroConcentrated(rho=rho, adjacency=ADD, delta=delta)
    event = one * count
    truth = gaussian_or_everything(rho, delta, epsilon, count)
    above = rdpkit.delta(event, epsilon=epsilon, adjacency=ADD).delta
    below = rdpkit.lower_bound(event, epsilon=epsilon, adjacency=ADD)[0].delta
    assert below <= truth * (1 + 1e-9) <= above * (1 + 2e-9)
    assert above * (1 + 1e-12) >= -math.expm1(count * math.log1p(-delta))
    # Bun and Steinke 2016, Lemma 8.8: delta and the conversion of what is left, one after another.
    less = rdpkit.ZeroConcentrated(rho=rho, adjacency=ADD)
    rest = rdpkit.delta(less * count, epsilon=epsilon, adjacency=ADD)
    assert above <= (count * delta + rest.delta) * (1 + 1e-9)
    if above < 0.5:
        back = rdpkit.epsilon(event, delta=above, adjacency=ADD).epsilon
        assert gaussian_or_everything(rho, delta, back, count) <= above * (1 + 1e-9)
        assert back <= epsilon * (1 + 1e-4) + 1e-6


def test_a_delta_beside_divergences_alone():
    curve = rdpkit.CustomRdp(orders=[4.0, 16.0], values=[0.2, 0.6], adjacency=ADD)
    stated = rdpkit.EpsilonDelta(epsilon=0.1, delta=1e-6, adjacency=ADD)
    pure = rdpkit.EpsilonDelta(epsilon=0.1, delta=0.0, adjacency=ADD)
    found = rdpkit.epsilon(curve + stated * 3, delta=1e-4, adjacency=ADD).epsilon
    room = (1e-4 - 3e-6) / (1 - 3e-6)
    rest = rdpkit.epsilon(curve + pure * 3, delta=room, adjacency=ADD).epsilon
    assert found == pytest.approx(rest, rel=1e-5)
    assert rdpkit.epsilon(curve + stated * 3, delta=2.9e-6, adjacency=ADD).epsilon == math.inf


def test_no_rho_is_stated_dp():
    event = rdpkit.ZeroConcentrated(rho=0.0, xi=0.4, adjacency=ADD, delta=1e-3)
    stated = rdpkit.EpsilonDelta(epsilon=0.4, delta=1e-3, adjacency=ADD)
    for epsilon in (0.0, 0.1, 0.4, 1.0):
        ask = {"epsilon": epsilon, "adjacency": ADD}
        both = [rdpkit.delta(one, **ask).delta for one in (event, stated)]
        assert both[0] == pytest.approx(both[1], rel=1e-9)
    assert rdpkit.lower_bound(event, delta=0.01, adjacency=ADD)[0].epsilon > 0.38


@pytest.mark.thorough
def test_a_delta_is_not_forgotten_elsewhere():
    event = rdpkit.ZeroConcentrated(rho=0.1, adjacency="replace_one", delta=1e-3)
    assert rdpkit.zcdp(event, adjacency="replace_one").rho == math.inf
    sample = rdpkit.FixedSizeSampled(event=event, sample_size=5, population_size=100)
    assert rdpkit.epsilon(sample, delta=1e-5, adjacency="replace_one").epsilon == math.inf
    curve = rdpkit.RdpCurve.of(event, orders=[2.0], adjacency="replace_one")
    assert curve.values[0] == math.inf


def test_holds_under_its_own_adjacency_only():
    event = rdpkit.ZeroConcentrated(rho=0.1, adjacency="replace_one")
    assert rdpkit.epsilon(event, delta=1e-5, adjacency=ADD).epsilon == math.inf


@settings(max_examples=20)
@given(log_uniform(1e-6, 100.0), log_uniform(1e-12, 1e-2))
def test_the_lower_bound_is_a_gaussian_that_has_the_guarantee(rho, delta):
    event = rdpkit.ZeroConcentrated(rho=rho, adjacency=ADD)
    lower, _ = rdpkit.lower_bound(event, delta=delta, adjacency=ADD)
    gaussian = unit.gaussian(math.sqrt(0.5 / rho))
    exact = rdpkit.epsilon(gaussian, delta=delta, adjacency=ADD)
    assert lower.epsilon <= exact.epsilon
    # The noise is rounded up by 1e-14, and the grids of the two bounds are finite.
    assert lower.epsilon == pytest.approx(exact.epsilon, rel=1e-3, abs=1e-6)
    assert lower.epsilon <= rdpkit.epsilon(event, delta=delta, adjacency=ADD).epsilon


def test_a_claim_that_the_guarantee_does_not_imply_is_refuted():
    # 10 releases of rho = 0.1 each have the epsilon of one with rho = 1, which is above 4 at 1e-5.
    event = rdpkit.ZeroConcentrated(rho=0.1, adjacency=ADD) * 10
    found = rdpkit.check(event, epsilon=4.0, delta=1e-5, adjacency=ADD)
    assert found.soundness == "refuted"
    with pytest.raises(ValueError, match="zero_concentrated"):
        rdpkit.lower_bound(event, delta=1e-5, adjacency="replace_one")
