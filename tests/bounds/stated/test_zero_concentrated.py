"""zCDP as it is stated, and its relatives."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings

import rdpkit
from rdpkit.accountants.event_tree import UpperBounds
from tests.bounds.strategies import log_uniform

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
    gaussian = rdpkit.Gaussian(noise_std=noise, record_norm=1.0)
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


def test_holds_under_its_own_adjacency_only():
    event = rdpkit.ZeroConcentrated(rho=0.1, adjacency="replace_one")
    assert rdpkit.epsilon(event, delta=1e-5, adjacency=ADD).epsilon == math.inf


@pytest.mark.parametrize(
    ("name", "value"), [("rho", -0.1), ("rho", math.inf), ("xi", -1.0), ("xi", math.nan)]
)
def test_bad_parameters(name, value):
    good = {"rho": 0.1, "xi": 0.0, "adjacency": ADD}
    with pytest.raises(ValueError, match=f"Expected {name} to be a finite number >= 0"):
        rdpkit.ZeroConcentrated(**{**good, name: value})


@settings(max_examples=20)
@given(log_uniform(1e-6, 100.0), log_uniform(1e-12, 1e-2))
def test_the_lower_bound_is_a_gaussian_that_has_the_guarantee(rho, delta):
    event = rdpkit.ZeroConcentrated(rho=rho, adjacency=ADD)
    lower, _ = rdpkit.lower_bound(event, delta=delta, adjacency=ADD)
    gaussian = rdpkit.Gaussian(noise_std=math.sqrt(0.5 / rho), record_norm=1.0)
    exact = rdpkit.epsilon(gaussian, delta=delta, adjacency=ADD)
    assert lower.epsilon <= exact.epsilon
    # The noise is rounded up by 1e-14, and the grids of the two bounds are finite.
    assert lower.epsilon == pytest.approx(exact.epsilon, rel=1e-3, abs=1e-6)
    assert lower.epsilon <= rdpkit.epsilon(event, delta=delta, adjacency=ADD).epsilon


def test_a_claim_that_the_guarantee_does_not_imply_is_refuted():
    # 10 releases of rho = 0.1 each have the epsilon of one with rho = 1, which is above 4 at 1e-5.
    event = rdpkit.Repeated(event=rdpkit.ZeroConcentrated(rho=0.1, adjacency=ADD), count=10)
    found = rdpkit.check(event, epsilon=4.0, delta=1e-5, adjacency=ADD)
    assert found.soundness == "refuted"
    with pytest.raises(ValueError, match="zero_concentrated"):
        rdpkit.lower_bound(event, delta=1e-5, adjacency="replace_one")


@pytest.mark.parametrize("rho", [pytest.param(1e-300, marks=pytest.mark.thorough), 1e-9, 1.0, 1e6])
@pytest.mark.parametrize("delta", [1e-5, 1e-100])
def test_the_bounds_are_in_order_far_past_the_range_of_use(rho, delta):
    event = rdpkit.ZeroConcentrated(rho=rho, adjacency=ADD)
    many = rdpkit.Repeated(event=event, count=10**9)
    lower, _ = rdpkit.lower_bound(many, delta=delta, adjacency=ADD)
    assert lower.epsilon <= rdpkit.epsilon(many, delta=delta, adjacency=ADD).epsilon
