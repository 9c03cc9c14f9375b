"""Skellam noise: vectors of integers by brute force, and its tails."""

import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

import rdpkit
from rdpkit import Adjacency
from rdpkit.numerics import skellam as tails
from tests.bounds.strategies import log_uniform

ADDED, REPLACED, _ = Adjacency


def law(variance):
    """Probabilities around 0, far out."""
    reach = int(12 * math.sqrt(variance)) + 25
    k = np.arange(-reach, reach + 1)
    return special.ive(np.abs(k), variance)


def shifted(one, moved):
    """The law and the same law moved, on common places."""
    far = np.zeros(abs(moved))
    sides = np.concatenate([one, far]), np.concatenate([far, one])
    return sides if moved >= 0 else sides[::-1]


def excess(vector, variance, epsilon):
    """The hockey-stick divergence of 0 and a vector of integers, over all outcomes."""
    first, second = np.ones(1), np.ones(1)
    for moved in vector:
        p, q = shifted(law(variance), moved)
        first, second = np.outer(first, p).ravel(), np.outer(second, q).ravel()
    return float(np.maximum(first - math.exp(epsilon) * second, 0.0).sum())


VECTORS = st.lists(st.integers(-2, 2), min_size=2, max_size=3).filter(any)


@pytest.mark.thorough
@settings(max_examples=12, deadline=None)
@given(log_uniform(0.5, 6.0), VECTORS, st.sampled_from([0.1, 1.0, 3.0]))
def test_vectors_leak_no_more_than_the_theorem_says(variance, vector, epsilon):
    length = math.sqrt(sum(x * x for x in vector))
    event = rdpkit.Skellam(
        variance=variance,
        record_norm=length,
        dimension=len(vector),
        record_l1_norm=float(sum(map(abs, vector))),
    )
    truth = excess(vector, variance, epsilon)
    above = rdpkit.delta(event, epsilon=epsilon, adjacency=ADDED).delta
    assert truth <= above + 1e-9
    assert rdpkit.lower_bound(event, epsilon=epsilon, adjacency=ADDED)[0].delta <= above
    opposite = excess([2 * x for x in vector], variance, epsilon)
    assert opposite <= rdpkit.delta(event, epsilon=epsilon, adjacency=REPLACED).delta + 1e-9


@pytest.mark.parametrize("relation", [ADDED, REPLACED])
def test_ones_in_many_coordinates(relation):
    event = rdpkit.Skellam(variance=50.0, record_norm=3.0, dimension=3)
    apart = 2 if relation is REPLACED else 1
    truth = excess([apart] * 3, 50.0, 1.0)
    below = rdpkit.lower_bound(event, epsilon=1.0, adjacency=relation)[0].delta
    # Both a record of ones and one of 3 along an axis are within the norm.
    longest = excess([3 * apart], 50.0, 1.0)
    assert max(truth, longest) * (1 - 1e-3) <= below <= max(truth, longest) * (1 + 1e-9)
    far = rdpkit.Skellam(variance=1e4, record_norm=30.0, dimension=10**4)
    ask = {"delta": 1e-5, "adjacency": relation}
    assert rdpkit.epsilon(far, **ask).epsilon <= 1.11 * rdpkit.lower_bound(far, **ask)[0].epsilon


@settings(max_examples=20, deadline=None)
@given(log_uniform(0.05, 3000.0), st.integers(-4, 6))
def test_tails_are_those_of_a_difference_of_two_counts(variance, place):
    m = round(place * math.sqrt(variance))
    found = float(tails.upper_tail(m, variance))
    assert found == pytest.approx(
        stats.skellam.sf(m, variance / 2, variance / 2), rel=1e-6, abs=1e-12
    )


def test_a_tail_far_out_in_forty_digits():
    with mp.workdps(40):
        terms = [mp.besseli(k, 9) for k in range(31, 200)]
        exact = mp.exp(-9) * mp.fsum(terms)
    assert float(tails.upper_tail(30, 9.0)) == pytest.approx(float(exact), rel=1e-13)


def test_noise_that_is_too_large_to_list():
    event = rdpkit.Skellam(variance=1e12, record_norm=1e5, dimension=10**6)
    assert 0.0 < rdpkit.epsilon(event, delta=1e-5, adjacency=ADDED).epsilon < 1.0
    with pytest.raises(ValueError, match="No privacy loss distribution is known"):
        rdpkit.lower_bound(event, delta=1e-5, adjacency=ADDED)


def test_a_vector_shorter_than_one_is_no_record():
    event = rdpkit.Skellam(variance=1.0, record_norm=0.9)
    assert rdpkit.delta(event, epsilon=0.0, adjacency=ADDED).delta == 0.0
