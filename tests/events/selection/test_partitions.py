"""Partitions of a table: more of them, and what is refused."""

import math
from fractions import Fraction

import pytest

import rdpkit
from rdpkit import Adjacency
from tests.oracles import semantics

ADDED = Adjacency.ADD_OR_REMOVE_ONE


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


def test_thresholds_or_deltas():
    for wrong in ({}, {"threshold": 3.0, "delta": 0.1}):
        with pytest.raises(ValueError, match="Expected threshold to be given, or delta"):
            rdpkit.ThresholdedCounts(noise="laplace", noise_scale=1.0, **wrong)
    with pytest.raises(ValueError, match=r"Expected delta to be in \(0, 1\)"):
        rdpkit.PartitionSelection(epsilon=1.0, delta=0.0)
    with pytest.raises(ValueError, match="Nothing is known about groups"):
        rdpkit.Group(event=rdpkit.PartitionSelection(epsilon=1.0, delta=0.1), size=2)
    assert Fraction(1, 2) == rdpkit.PartitionSelection(epsilon=1.0, delta=0.5).delta


@pytest.mark.parametrize("epsilon", [0.0, 0.05, 0.4, 1.1])
@pytest.mark.parametrize("delta", [1e-3, 0.1])
def test_few_people_in_one_partition_attain_the_lower_bound(delta, epsilon):
    event = rdpkit.PartitionSelection(epsilon=1.0, delta=delta)
    exact, _ = semantics.truth(semantics.ways(event, ADDED), epsilon)
    lower = rdpkit.lower_bound(event, epsilon=epsilon, adjacency=ADDED)[0].delta
    assert lower == pytest.approx(float(exact), rel=1e-9)
