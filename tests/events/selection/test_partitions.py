"""Partitions of a table: the strategy's recursion, the noise's tails, all numbers of people."""

import math
from fractions import Fraction
from itertools import pairwise

import mpmath as mp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rdpkit
from rdpkit import Adjacency
from tests.bounds.strategies import log_uniform

ADDED, REPLACED, ZEROED = Adjacency
EPSILONS = (0.0, 0.05, 0.4, 1.1, 3.0)


def kept(epsilon, delta):
    """Probabilities of the optimal strategy for 0, 1, ... people, step by step in 60 digits."""
    with mp.workdps(60):
        found, grown = [mp.mpf(0)], mp.exp(epsilon)
        while found[-1] < 1 and len(found) < 3000:
            last = found[-1]
            found.append(min(grown * last + delta, 1 - (1 - last - delta) / grown, mp.mpf(1)))
        return found


def hockey_stick(outcomes, epsilon):
    return mp.fsum(max(mp.mpf(0), p - mp.exp(epsilon) * q) for p, q in outcomes)


def largest(outcomes, epsilon):
    exchanged = [(q, p) for p, q in outcomes]
    return max(hockey_stick(outcomes, epsilon), hockey_stick(exchanged, epsilon))


@pytest.mark.thorough
@settings(max_examples=8, deadline=None)
@given(log_uniform(0.05, 4.0), log_uniform(1e-9, 0.3))
def test_no_number_of_people_leaks_more_in_one_partition(epsilon, delta):
    event = rdpkit.PartitionSelection(epsilon=epsilon, delta=delta)
    probabilities = kept(mp.mpf(epsilon), mp.mpf(delta))
    for at in EPSILONS:
        most = max(largest([(b, a), (1 - b, 1 - a)], at) for a, b in pairwise(probabilities))
        for relation in (ADDED, ZEROED)[: 1 + (at == 1.1)]:
            above = rdpkit.delta(event, epsilon=at, adjacency=relation).delta
            below = rdpkit.lower_bound(event, epsilon=at, adjacency=relation)[0].delta
            assert below <= float(most) * (1 + 1e-12) + 1e-300
            assert float(most) <= above * (1 + 1e-12)
    # What is stated is attained.
    at = rdpkit.lower_bound(event, epsilon=epsilon, adjacency=ADDED)[0].delta
    assert at == pytest.approx(delta, rel=1e-9)


@pytest.mark.parametrize("relation", [ADDED, REPLACED])
def test_two_partitions_with_any_numbers_of_people(relation):
    event = rdpkit.PartitionSelection(epsilon=1.5, delta=0.02, max_partitions=2)
    delta = 1 - mp.sqrt(1 - mp.mpf(0.02))
    pairs = [((b, 1 - b), (a, 1 - a)) for a, b in pairwise(kept(mp.mpf(0.75), delta))]
    times = 2 if relation is REPLACED else 1
    for at in (0.0, 0.5, 1.5, 2.5):
        above = rdpkit.delta(event, epsilon=at, adjacency=relation).delta
        for one in pairs[:6]:
            for other in pairs[:6]:
                outcomes = [(p * r, q * s) for p, q in zip(*one) for r, s in zip(*other)]
                if times == 2:
                    outcomes = [(p * s, q * r) for p, q in outcomes for r, s in outcomes]
                assert float(largest(outcomes, at)) <= above * (1 + 1e-12)


def test_more_partitions_people_and_noise():
    """Monotone in what is spent, and in delta; from 0 to 1e-100; a million partitions."""
    ask = {"delta": 1e-5, "adjacency": ADDED}
    found = [
        rdpkit.epsilon(rdpkit.PartitionSelection(epsilon=e, delta=1e-7), **ask).epsilon
        for e in (0.1, 0.5, 1.0, 4.0)
    ]
    assert found == sorted(found)
    counts = [
        rdpkit.ThresholdedCounts(noise="gaussian", noise_scale=1e4, delta=1e-7, max_partitions=k)
        for k in (1, 100, 10**6, 10**8)
    ]
    found = [rdpkit.epsilon(event, **ask).epsilon for event in counts]
    assert found == sorted(found)
    event = rdpkit.PartitionSelection(epsilon=1.0, delta=1e-100, max_partitions=10**6)
    tight = rdpkit.epsilon(event, delta=2e-100, adjacency=ADDED)
    assert tight.epsilon == pytest.approx(0.022, abs=2e-3)
    assert rdpkit.epsilon(event, delta=1e-101, adjacency=ADDED).epsilon == math.inf
    assert rdpkit.epsilon(event, delta=0.0, adjacency=ADDED).epsilon == math.inf


@pytest.mark.thorough
@settings(max_examples=6, deadline=None)
@given(
    st.sampled_from(["laplace", "gaussian"]),
    log_uniform(0.5, 20.0),
    st.floats(0.0, 30.0),
    st.integers(1, 5),
    log_uniform(0.1, 4.0),
)
def test_what_one_person_alone_shows(noise, scale, threshold, k, most):
    """A person who is alone in k partitions: some are released with a probability, else none."""
    event = rdpkit.ThresholdedCounts(
        noise=noise,
        noise_scale=scale,
        threshold=threshold,
        max_partitions=k,
        max_per_partition=most,
    )
    with mp.workdps(400):
        place = (mp.mpf(threshold) - mp.mpf(most)) / mp.mpf(scale)
        if noise == "gaussian":
            tail = mp.erfc(place / mp.sqrt(2)) / 2
        else:
            tail = mp.exp(-place) / 2 if place >= 0 else 1 - mp.exp(place) / 2
        alone = float(1 - (1 - tail) ** k)
    for relation in (ADDED, REPLACED):
        for at in (1.0, 20.0):
            assert rdpkit.delta(event, epsilon=at, adjacency=relation).delta >= alone * (1 - 1e-12)
            below = rdpkit.lower_bound(event, epsilon=at, adjacency=relation)[0].delta
            assert below >= alone * (1 - 1e-12)
    stated = rdpkit.ThresholdedCounts(
        noise=noise, noise_scale=scale, delta=0.01, max_partitions=k, max_per_partition=most
    )
    above = rdpkit.epsilon(stated, delta=0.01, adjacency=ADDED).epsilon
    assert (above < math.inf) is (noise == "laplace")


@pytest.mark.thorough
@settings(max_examples=10, deadline=None)
@given(log_uniform(0.5, 5.0), st.integers(0, 6), st.integers(0, 3), st.floats(0.5, 6.0))
def test_a_thresholded_geometric_count_of_few_people(scale, others, mine, threshold):
    """Laplace noise in cells: one partition with others in it, or none, and one person's count."""
    event = rdpkit.ThresholdedCounts(
        noise="laplace", noise_scale=scale, threshold=threshold, max_per_partition=3.0
    )

    def below(x):
        return mp.exp(x) / 2 if x < 0 else 1 - mp.exp(-x) / 2

    def law(count, there):
        if not there:
            return [mp.mpf(1), *[mp.mpf(0)] * 41]
        cuts = [threshold + j / 4 for j in range(41)]
        values = [below((cut - count) / mp.mpf(scale)) for cut in cuts]
        return [values[0], *[b - a for a, b in pairwise(values)], 1 - values[-1]]

    outcomes = list(
        zip(law(others + mine, others + mine > 0), law(others, others > 0), strict=True)
    )
    for at in EPSILONS:
        above = rdpkit.delta(event, epsilon=at, adjacency=ADDED).delta
        assert float(largest(outcomes, at)) <= above * (1 + 1e-12) + 1e-30


def test_thresholds_or_deltas():
    for wrong in ({}, {"threshold": 3.0, "delta": 0.1}):
        with pytest.raises(ValueError, match="Expected threshold to be given, or delta"):
            rdpkit.ThresholdedCounts(noise="laplace", noise_scale=1.0, **wrong)
    with pytest.raises(ValueError, match=r"Expected delta to be in \(0, 1\)"):
        rdpkit.PartitionSelection(epsilon=1.0, delta=0.0)
    with pytest.raises(ValueError, match="Nothing is known about groups"):
        rdpkit.Group(event=rdpkit.PartitionSelection(epsilon=1.0, delta=0.1), size=2)
    assert Fraction(1, 2) == rdpkit.PartitionSelection(epsilon=1.0, delta=0.5).delta
