"""Staircases, truncated noise, trade-off curves and draws with replacement, at their ends."""

import math

import numpy as np
import pytest

import rdpkit
from rdpkit import Adjacency
from tests.events import unit

ADDED, REPLACED, _ = Adjacency


def test_a_large_epsilon_of_a_staircase():
    for epsilon in (19.0, 21.0, 500.0):
        event = rdpkit.Staircase(epsilon=epsilon)
        found = rdpkit.epsilon(event, delta=1e-6, adjacency=ADDED).epsilon
        assert found == pytest.approx(epsilon, abs=1e-5)
    assert rdpkit.delta(event, epsilon=500.0, adjacency=ADDED).delta == 0.0


def test_noise_that_two_numbers_have_not_in_common():
    event = rdpkit.TruncatedLaplace(noise_scale=1.0, noise_limit=1.0, record_norm=1.0)
    assert rdpkit.epsilon(event, delta=0.7, adjacency=ADDED).epsilon < math.inf
    with pytest.raises(ValueError, match="No privacy loss distribution is known"):
        rdpkit.lower_bound(event, delta=0.1, adjacency=REPLACED)
    limits = (3.0, 5.0, 10.0, 30.0)
    events = [
        rdpkit.TruncatedLaplace(noise_scale=1.0, noise_limit=limit, record_norm=1.0)
        for limit in limits
    ]
    for ask in ({"epsilon": 0.5}, {"epsilon": 0.99}, {"epsilon": 1.1}):
        found = [rdpkit.delta(event, adjacency=ADDED, **ask).delta for event in events]
        assert found == sorted(found, reverse=True)
    plain = unit.laplace(1.0)
    assert rdpkit.delta(events[-1], epsilon=0.5, adjacency=ADDED).delta == pytest.approx(
        rdpkit.delta(plain, epsilon=0.5, adjacency=ADDED).delta, rel=1e-9
    )


def test_a_curve_that_was_read_off_an_event_says_nearly_as_much():
    event = unit.gaussian(1.0)
    curve = rdpkit.tradeoff(event, adjacency=ADDED)
    rates = np.geomspace(1e-8, 0.5, 400)
    told = rdpkit.CustomTradeoff(
        false_positive_rates=rates,
        false_negative_rates=[curve.fnr(float(rate)).lower for rate in rates],
        adjacency=ADDED,
    )
    one, two = (rdpkit.epsilon(some, delta=1e-4, adjacency=ADDED).epsilon for some in (event, told))
    assert one <= two <= 1.03 * one
    with pytest.raises(ValueError, match="No privacy loss distribution"):
        rdpkit.lower_bound(told, delta=1e-5, adjacency=REPLACED)


def test_a_curve_from_below_and_from_above():
    rates = np.linspace(0.0, 1.0, 257) ** 2
    event = rdpkit.CustomTradeoff(
        false_positive_rates=rates, false_negative_rates=rates[::-1], adjacency=ADDED
    )
    shares = np.linspace(0.01, 0.99, 99)
    rough = rdpkit.CustomTradeoff(
        false_positive_rates=shares**3, false_negative_rates=(1 - shares) ** 3, adjacency=ADDED
    )
    assert rdpkit.lower_bound(rough, delta=0.1, adjacency=ADDED)[0].epsilon > 1.0
    for count in (1, 5):
        below = rdpkit.lower_bound(event * count, delta=0.05, adjacency=ADDED)[0].epsilon
        above = rdpkit.epsilon(event * count, delta=0.05, adjacency=ADDED).epsilon
        assert below <= above <= 1.2 * below


def test_trade_off_curves_that_no_mechanism_has():
    for rates, misses, words in (
        ([0.0, 0.5], [1.0, 0.6], "to be at most 1 - false_positive_rates"),
        ([0.5, 0.5], [0.1, 0.1], "strictly increasing"),
        ([0.0, 0.5], [0.1, 0.2], "nowhere increasing"),
        ([0.0, 0.5], [0.1], "nowhere increasing"),
    ):
        with pytest.raises(ValueError, match=words):
            rdpkit.CustomTradeoff(
                false_positive_rates=rates, false_negative_rates=misses, adjacency=ADDED
            )
    nothing = rdpkit.CustomTradeoff(
        false_positive_rates=[0.5], false_negative_rates=[0.5], adjacency=ADDED
    )
    assert rdpkit.epsilon(nothing, delta=0.0, adjacency=ADDED).epsilon == 0.0
    ends = rdpkit.CustomTradeoff(
        false_positive_rates=[0.0, 1.0], false_negative_rates=[1.0, 0.0], adjacency=ADDED
    )
    assert rdpkit.epsilon(ends, delta=0.1, adjacency=ADDED).epsilon == math.inf


def test_more_draws_and_larger_shares_are_worse():
    def found(draws, share, relation=REPLACED):
        event = rdpkit.SampledWithReplacementGaussian(
            noise_std=3.0, record_norm=1.0, draws=draws, largest_share=share
        )
        return rdpkit.delta(event, epsilon=0.5, adjacency=relation).delta

    assert found(1, 0.1) < found(2, 0.1) < found(20, 0.1) < found(20, 0.11) < found(200, 0.11)
    assert found(1, 1.0) == pytest.approx(found(1, 1.0 - 1e-12), rel=1e-6)
    assert found(5, 0.0) == 0.0
    with pytest.raises(ValueError, match="under which SampledWithReplacementGaussian is described"):
        found(5, 0.1, ADDED)
