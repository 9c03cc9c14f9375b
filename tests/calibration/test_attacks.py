"""Calibration for attacks: what is proven never exceeds the target, nor falls far below it."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import norm

import rdpkit
from tests.events import unit
from tests.events.unit import training

ADD = "add_or_remove_one"
GAUSSIAN = unit.gaussian(1.0)


class TestClosedForms:
    @given(target=st.floats(1e-6, 0.999))
    @settings(max_examples=20)
    def test_advantage_of_a_gaussian(self, target):
        found = rdpkit.calibrate_attack(
            GAUSSIAN, adjacency=ADD, parameter="noise_std", target_advantage=target
        )
        assert found.reached <= target
        assert found.value >= 1 / (2 * norm.ppf((1 + target) / 2)) * (1 - 1e-9)
        assert found.value == pytest.approx(1 / (2 * norm.ppf((1 + target) / 2)), rel=2e-4)

    def test_tpr_of_a_gaussian(self):
        found = rdpkit.calibrate_attack(
            GAUSSIAN, adjacency=ADD, parameter="noise_std", target_tpr=0.05, at_fpr=0.01
        )
        mu = norm.isf(0.01) - norm.isf(0.05)
        assert 0.0 <= found.slack < 1e-4
        assert 1 / mu <= found.value <= 1 / mu * 1.0002

    def test_mu_of_many_gaussians(self):
        found = rdpkit.calibrate_attack(
            GAUSSIAN * 10, adjacency=ADD, parameter="count", target_mu=4
        )
        # mu is the square root of the count, and is rounded up.
        assert found.value == 15
        assert found.misses == {"count": 16}


@pytest.mark.thorough
@pytest.mark.parametrize(
    "target", [{"target_advantage": 0.1}, {"target_tpr": 0.03, "at_fpr": 0.01}, {"target_mu": 0.3}]
)
def test_dp_sgd(target):
    event = training(0.01, 1.0, 1000)
    found = rdpkit.calibrate_attack(event, adjacency=ADD, parameter="event.noise_std", **target)
    assert found.reached <= found.target
    worse = training(0.01, found.misses["event.noise_std"], 1000)
    if "target_mu" in target:
        assert rdpkit.gdp(found.event, adjacency=ADD).lower <= 0.3
        assert rdpkit.gdp(worse, adjacency=ADD).mu > 0.3
    elif "target_tpr" in target:
        assert rdpkit.tradeoff(found.event, adjacency=ADD).tpr(0.01).upper <= 0.03 * (1 + 1e-4)
        assert rdpkit.tradeoff(worse, adjacency=ADD).tpr(0.01).upper > 0.03 * (1 - 1e-4)
    else:
        assert rdpkit.delta(found.event, epsilon=0.0, adjacency=ADD).delta <= 0.1


def test_an_oracle_for_one_sampled_gaussian():
    """The advantage of one sampled Gaussian is q (2 Phi(1 / (2 z)) - 1)."""
    found = rdpkit.calibrate_attack(
        training(0.3, 1.0, 1), adjacency=ADD, parameter="event.noise_std", target_advantage=0.05
    )
    exact = brentq(lambda z: 0.3 * (2 * norm.cdf(1 / (2 * z)) - 1) - 0.05, 0.1, 100.0)
    assert exact * (1 - 1e-9) <= found.value <= exact * 1.0002


class TestErrors:
    def test_one_target(self):
        with pytest.raises(ValueError, match=r"exactly one of .* got none"):
            rdpkit.calibrate_attack(GAUSSIAN, adjacency=ADD, parameter="noise_std")
        with pytest.raises(ValueError, match="got target_advantage and target_mu"):
            rdpkit.calibrate_attack(
                GAUSSIAN,
                adjacency=ADD,
                parameter="noise_std",
                target_advantage=0.1,
                target_mu=1.0,
            )

    @pytest.mark.parametrize(
        ("given", "words"),
        [
            ({"target_tpr": 0.1}, "Expected at_fpr"),
            ({"target_tpr": 0.1, "at_fpr": 0.1}, "above at_fpr = 0.1, which guessing attains"),
            ({"target_advantage": 1.0}, r"Expected target_advantage in \(0, 1\)"),
            ({"target_advantage": 0.1, "at_fpr": 0.1}, "Expected at_fpr only with target_tpr"),
            ({"target_mu": math.inf}, "Expected target_mu to be a finite number > 0"),
        ],
    )
    def test_ranges(self, given, words):
        with pytest.raises(ValueError, match=words):
            rdpkit.calibrate_attack(GAUSSIAN, adjacency=ADD, parameter="noise_std", **given)

    @pytest.mark.thorough
    def test_out_of_reach(self):
        event = rdpkit.Composed(
            events=[
                GAUSSIAN,
                rdpkit.CustomProfile(epsilons=[1.0], deltas=[0.0], adjacency=ADD),
            ]
        )
        with pytest.raises(rdpkit.UnreachableTargetError, match="cannot be reached"):
            rdpkit.calibrate_attack(
                event, adjacency=ADD, parameter="events[0].noise_std", target_advantage=0.1
            )


def test_as_dict():
    found = rdpkit.calibrate_attack(
        GAUSSIAN, adjacency=ADD, parameter="noise_std", target_mu=1.0
    ).as_dict()
    assert found["measure"] == "mu for delta >= 1e-10"
    assert found["slack"] >= 0.0
