"""Zero-out: a record that becomes one which contributes nothing (theory page "Zero-out")."""

import math

import numpy as np
import pytest
from scipy.integrate import trapezoid
from scipy.stats import norm

import rdpkit
from rdpkit import Adjacency
from rdpkit.events.data_sets import SPECIAL
from tests.events import of_papers, unit

ZERO, ADD = Adjacency.ZERO_OUT, Adjacency.ADD_OR_REMOVE_ONE
POISSON = unit.poisson(1.0, 0.01)
FIXED = unit.fixed_size(1.0, 10, 1000)
DPCDA = of_papers.dpcda([900, 1000], 30, 10, noise=0.3)


def hockey_stick(first, second, std, ratio):
    """E_ratio of two uniform mixtures of Gaussians, by the trapezoid rule."""
    ends = [*first, *second]

    x = np.linspace(min(ends) - 9.0 * std, max(ends) + 9.0 * std, 40_001)[:, None]
    p = norm.pdf(x, first, std).mean(axis=1)
    q = norm.pdf(x, second, std).mean(axis=1)
    return float(trapezoid(np.maximum(p - ratio * q, 0.0), x[:, 0]))


@pytest.mark.parametrize("diameter", [0.4, 1.0, 1.7, 2.0])
def test_the_bound_is_attained_where_three_points_are_apart_as_far_as_allowed(diameter):
    """One release, D and D' with the member at the far end: the curve is not just an upper one."""
    std, size = 0.8, 1
    event = unit.fixed_size(std, size, 3, record_diameter=diameter)  # fmt: skip
    member = 1.0 - max(diameter, 1.0)
    bound = rdpkit.delta(event, epsilon=0.7, adjacency=ZERO, bound="pld-upper").delta
    found = hockey_stick([member, member, 1.0], [member, member, 0.0], std, math.exp(0.7))
    assert found == pytest.approx(bound, rel=1e-6)
    lower = rdpkit.lower_bound(event, epsilon=0.7, adjacency=ZERO)[0].delta
    assert 0.9 * found <= lower <= found * (1.0 + 1e-6)


def test_parts_that_keep_the_place_of_a_record():
    moves = rdpkit.Parallel(events=[FIXED, FIXED])
    keeps = rdpkit.Parallel(events=[FIXED, FIXED], record_keeps_its_part=True)

    def epsilon(event, adjacency):
        return rdpkit.epsilon(event, delta=1e-5, adjacency=adjacency)

    assert epsilon(moves, ZERO).epsilon == epsilon(FIXED, ADD).epsilon
    assert epsilon(keeps, ZERO).epsilon == epsilon(FIXED, ZERO).epsilon
    rdp = rdpkit.epsilon(moves, delta=1e-5, adjacency=ZERO, bound="best-rdp")
    assert rdp.bound == rdpkit.epsilon(moves, delta=1e-5, adjacency=ADD, bound="best-rdp").bound


def test_the_special_record_is_in_no_class_where_there_is_one_alone():
    event = of_papers.dpcda([900], 30, 10, noise=0.3)
    zeroed, removed = (
        rdpkit.epsilon(event, delta=1e-5, adjacency=one).epsilon for one in (ZERO, ADD)
    )
    assert zeroed == removed


def test_a_curve_holds_under_its_own_relation_alone():
    profile = rdpkit.CustomProfile(epsilons=[0.5], deltas=[0.0], adjacency="zero-out")
    assert rdpkit.epsilon(profile, delta=1e-5, adjacency=ZERO).epsilon <= 0.5
    assert rdpkit.epsilon(profile, delta=1e-5, adjacency=ADD).epsilon == math.inf
    inside = rdpkit.Parallel(events=[profile, profile])
    assert rdpkit.epsilon(inside, delta=1e-5, adjacency=ZERO).epsilon == math.inf


SYNTHESIS = unit.synthesis(1000, 10, 3, 0.1)


@pytest.mark.parametrize(
    "ask",
    [
        lambda event: rdpkit.epsilon(event, delta=1e-5, adjacency=ZERO),
        lambda event: rdpkit.delta(event, epsilon=1.0, adjacency=ZERO),
        lambda event: rdpkit.compare(event, delta=1e-5, adjacency=ZERO),
        lambda event: rdpkit.lower_bound(event, delta=1e-5, adjacency=ZERO),
        lambda event: rdpkit.worst_pair(event, delta=1e-5, adjacency=ZERO),
        lambda event: rdpkit.RdpCurve.of(event, orders=[2.0], adjacency=ZERO),
        lambda event: rdpkit.calibrate(
            event * 3, target_epsilon=1.0, delta=1e-5, adjacency=ZERO,
            parameter="count"
        ),
    ]
)  # fmt: skip
def test_an_event_that_does_not_know_it_says_what_it_knows(ask):
    wanted = "'add_or_remove_one' or 'replace_one', under which GaussianSynthesis is described, got"
    with pytest.raises(ValueError, match=wanted):
        ask(SYNTHESIS)


def test_the_data_sets_hold_the_special_record():
    for event in (rdpkit.Gaussian(noise_std=2.0, record_norm=1.5), POISSON, FIXED, DPCDA):
        pair = rdpkit.worst_pair(event, adjacency=ZERO, delta=1e-5)
        assert len(pair.first) == len(pair.second)
        sides = [SPECIAL in side.groups for side in (pair.first, pair.second)]
        assert sorted(sides) == [False, True]
        assert "the special record, which contributes nothing" in "\n".join(pair.describe())
    features, labels = pair.second.arrays(np.array([1.0, 0.0]))
    assert (features[-1] == 0.0).all()
    assert labels[-1] == -1


def test_dpmix_attains_its_lower_bound_where_all_records_are_equal():
    event = of_papers.dpmix(60, 10, 6, noise=1.0, shape=(16, 3))
    pair = rdpkit.worst_pair(event, adjacency=ZERO, delta=1e-5)
    assert SPECIAL in pair.first.groups
    assert {group.position for group in pair.second.groups} == {4.0}


def test_sweeps_know_it_for_poisson_samples_alone():
    numbers = {"noise_multiplier": 1.0, "sampling_probability": 0.01, "steps": 100, "delta": 1e-5}
    found = rdpkit.sweep_epsilon(**numbers, adjacency=ZERO)
    assert found.epsilon == rdpkit.sweep_epsilon(**numbers, adjacency=ADD).epsilon
    with pytest.raises(ValueError, match="'add_or_remove_one' or 'replace_one' for fixed-size"):
        rdpkit.sweep_epsilon(**numbers, adjacency=ZERO, sampling="fixed_size")
