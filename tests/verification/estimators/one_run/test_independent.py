"""The bound by ranks: its p-values, what it attains, and how often it is wrong."""

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import binom

import rdpkit
from rdpkit.adjacency import Adjacency
from rdpkit.verification.estimators.one_run.families import GAUSSIAN
from rdpkit.verification.estimators.one_run.independent import RankTest
from rdpkit.verification.training.checks.run import EventLeaks

MU = GAUSSIAN


def _test(seed, mu, inside=200, others=1000, told=1.0):
    rng = np.random.default_rng(seed)
    scores = rng.normal(mu, 1.0, inside), rng.normal(0.0, 1.0, others)
    return RankTest(*scores, seed=seed, weights=MU, told=told)


@pytest.mark.thorough
def test_bound_is_below_the_truth_and_grows_with_it():
    found = [_test(1, mu).lower_bound(MU, failure=0.05, most=8.0) for mu in (0.0, 0.5, 1.0, 2.0)]
    assert found == sorted(found)
    assert 0.6 < found[2] <= 1.0
    assert 1.4 < found[3] <= 2.0


def test_p_value_increases_with_the_leak():
    test = _test(2, 1.0)
    values = [test.p_value(MU, leak) for leak in (0.0, 0.5, 0.8, 1.0, 1.2, 2.0)]
    assert values == sorted(values)
    assert values[0] < 0.01
    assert values[-1] > 0.9


def test_event_as_told_is_the_gaussian_of_all_updates():
    event = rdpkit.Repeated(
        event=rdpkit.Gaussian(noise_std=20.0, record_norm=1.0, record_diameter=2.0), count=100
    )
    leaks = EventLeaks(event, Adjacency.ADD_OR_REMOVE_ONE)
    rates = np.array([0.1, 0.5, 0.9])
    np.testing.assert_allclose(leaks.rates(1.0, rates), MU.rates(0.5, rates), rtol=1e-9)
    np.testing.assert_allclose(leaks.rates(2.0, rates), MU.rates(1.0, rates), rtol=1e-9)
    assert leaks.epsilon(2.0, 1e-5) > leaks.epsilon(1.0, 1e-5) > leaks.epsilon(0.0, 1e-5) == 0.0


def test_rates_of_a_sampled_event_are_attained_by_no_threshold():
    sampled = rdpkit.PoissonSampledGaussian(
        noise_std=0.5, record_norm=1.0, record_diameter=2.0, sampling_probability=0.2
    )
    leaks = EventLeaks(rdpkit.Repeated(event=sampled, count=1), Adjacency.ADD_OR_REMOVE_ONE)
    threshold = np.linspace(-1.0, 2.0, 13)
    false = ndtr(-threshold / 0.5)
    true = 0.8 * false + 0.2 * ndtr(-(threshold - 1.0) / 0.5)
    assert np.all(leaks.rates(1.0, true) <= false)
    assert np.all(leaks.rates(1.0, true) >= 0.5 * false)


@pytest.mark.statistical
@pytest.mark.parametrize("mu", [0.0, 0.5, 2.0])
def test_bound_is_seldom_above_the_truth(mu):
    """300 runs at a rate of 0.05; fails by chance with probability at most 1e-4."""
    wrong = sum(
        _test(seed, mu, inside=50, others=200).p_value(MU, mu) <= 0.05 for seed in range(300)
    )
    assert wrong <= binom.isf(1e-4, 300, 0.05)
    if mu:
        assert wrong >= 1
