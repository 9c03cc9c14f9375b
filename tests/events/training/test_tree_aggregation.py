"""Tree aggregation: as many nodes as trees that are written out have, and one Gaussian."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rdpkit
from rdpkit import Adjacency


def nodes(steps):
    """For each step, in how many complete aligned subtrees of a running sum it is."""
    found = np.zeros(steps, dtype=int)
    size = 1
    while size <= steps:
        for start in range(0, steps - size + 1, size):
            found[start : start + size] += 1
        size *= 2
    return found


@given(st.integers(1, 300))
def test_nodes_of_a_record(steps):
    event = rdpkit.TreeAggregation(noise_std=1.0, record_norm=1.0, steps=steps)
    assert event.nodes_of_a_record == nodes(steps).max()
    power = 1 << (steps - 1).bit_length()
    filled = rdpkit.TreeAggregation(noise_std=1.0, record_norm=1.0, steps=steps, completed=True)
    assert filled.nodes_of_a_record == nodes(power).max()


@pytest.mark.thorough
@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=5), st.floats(0.5, 50.0), st.booleans())
def test_it_is_one_gaussian(steps, noise, completed):
    event = rdpkit.TreeAggregation(
        noise_std=noise, record_norm=1.5, record_diameter=2.0, steps=steps, completed=completed
    )
    moved = math.sqrt(event.nodes_of_a_record)
    plain = rdpkit.Gaussian(noise_std=noise, record_norm=1.5 * moved, record_diameter=2.0 * moved)
    for adjacency in (Adjacency.ZERO_OUT, Adjacency.REPLACE_ONE):
        one, other = (rdpkit.epsilon(e, delta=1e-6, adjacency=adjacency) for e in (event, plain))
        assert one.epsilon == pytest.approx(other.epsilon, rel=1e-12)
        lower = rdpkit.lower_bound(event, delta=1e-6, adjacency=adjacency)[0]
        assert one.epsilon * (1 - 1e-9) <= lower.epsilon <= one.epsilon


def test_published_number():
    """dp-accounting's formula: order times (floor(log2 n) + 1) over twice the noise squared."""
    event = rdpkit.TreeAggregation(noise_std=2.0, record_norm=1.0, steps=[20, 8])
    curve = rdpkit.RdpCurve.of(event, orders=[3.0], adjacency="zero_out")
    assert curve.values[0] == pytest.approx(3.0 * 5 / 8.0)


@pytest.mark.parametrize("inside", [lambda e: e, lambda e: e * 2])
def test_a_record_that_comes_or_goes_is_refused(inside):
    event = inside(rdpkit.TreeAggregation(noise_std=2.0, record_norm=1.0, steps=7))
    with pytest.raises(ValueError, match="'replace_one' or 'zero_out', under which TreeAgg"):
        rdpkit.epsilon(event, delta=1e-5, adjacency="add_or_remove_one")


def test_a_record_that_moves_between_parts_is_not_taken_for_one_that_stays():
    part = rdpkit.TreeAggregation(noise_std=2.0, record_norm=1.0, steps=7)
    parts = rdpkit.Parallel(events=[part, part])
    assert rdpkit.epsilon(parts, delta=1e-5, adjacency="replace_one").epsilon == math.inf
    with pytest.raises(ValueError, match="under which TreeAggregation is described"):
        rdpkit.epsilon(parts, delta=1e-5, adjacency="zero_out")
