"""Events made of events: sums, repetitions, disjoint parts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import rdpkit
from rdpkit.accountants.event_tree import UpperBounds, leaves, sound_bounds
from tests.bounds.strategies import NOISE
from tests.events import unit

ADD = rdpkit.Adjacency.ADD_OR_REMOVE_ONE
REPLACE = rdpkit.Adjacency.REPLACE_ONE
BOTH = st.sampled_from([ADD, REPLACE])
ORDERS = np.array([1.25, 2.0, 17.0])


def gaussian(noise):
    return unit.gaussian(noise)


def sampled(noise, sample=10):
    return unit.fixed_size(noise, sample, 100)


def rdp(event, adjacency):
    return UpperBounds().rdp(event, ORDERS, adjacency)


@settings(max_examples=30)
@given(st.lists(NOISE, min_size=1, max_size=4), BOTH)
def test_composed_is_the_sum(noises, adjacency):
    found = rdp(rdpkit.Composed(events=tuple(gaussian(z) for z in noises)), adjacency)
    assert_allclose(found, sum(rdp(gaussian(z), adjacency) for z in noises), rtol=1e-14)


@settings(max_examples=30)
@given(st.lists(NOISE, min_size=2, max_size=4))
def test_parallel_under_replace_has_two_ends(noises):
    """Either the record stays in its part, or it leaves one part and joins another."""
    found = rdp(rdpkit.Parallel(events=tuple(gaussian(z) for z in noises)), REPLACE)
    one, two = sorted(noises)[:2]
    moved = rdp(gaussian(one), ADD) + rdp(gaussian(two), ADD)
    assert_allclose(found, np.maximum(rdp(gaussian(one), REPLACE), moved), rtol=1e-14)


def test_two_ends_can_decide():
    """With a small diameter staying is cheap: distance 0.1, against 1 + 1 for moving."""
    part = unit.gaussian(1.0, record_diameter=0.1)
    found = rdp(rdpkit.Parallel(events=(part, part)), REPLACE)
    assert_allclose(found, ORDERS, rtol=1e-15)
    kept = rdp(rdpkit.Parallel(events=(part, part), record_keeps_its_part=True), REPLACE)
    assert_allclose(kept, ORDERS * 0.01 / 2.0, rtol=1e-13)


def test_parts_that_say_nothing():
    """A curve given for replace-one says nothing of a record that joins the part."""
    custom = rdpkit.CustomRdp(orders=(1.25, 2.0, 17.0), values=(0.1, 0.1, 0.1), adjacency=REPLACE)
    assert np.isinf(rdp(rdpkit.Parallel(events=(custom, custom)), REPLACE)).all()
    kept = rdpkit.Parallel(events=(custom, custom), record_keeps_its_part=True)
    assert rdp(kept, REPLACE).tolist() == [0.1, 0.1, 0.1]


def test_nesting():
    """Three times (the larger of two parts, one of them repeated) plus one release."""
    inside = rdpkit.Parallel(events=(gaussian(1.0), gaussian(4.0) * 20))
    event = rdpkit.Composed(events=(inside * 3, gaussian(5.0)))
    expected = 3 * np.maximum(ORDERS / 2.0, 20 * ORDERS / 32.0) + ORDERS / 50.0
    assert_allclose(rdp(event, ADD), expected, rtol=1e-14)


def test_what_recurs_is_computed_once():
    event = gaussian(1.0)
    for _ in range(10):
        event = rdpkit.Composed(events=(event, event))
    traces = []
    found = UpperBounds(traces=traces).rdp(event, ORDERS, ADD)
    assert_allclose(found, 2**10 * ORDERS / 2.0, rtol=1e-14)
    assert len(traces[0].theorems) == 1


@pytest.mark.parametrize("adjacency", [ADD, REPLACE])
def test_best_is_at_most_every_named_theorem(adjacency):
    event = sampled(5.0) * 10
    best = rdp(event, adjacency)
    for bound in sound_bounds(sampled(5.0), adjacency):
        only = UpperBounds({rdpkit.FixedSizeSampledGaussian: bound.id})
        found = only.rdp(event, ORDERS, adjacency)
        assert_allclose(found, 10 * bound.values(sampled(5.0), ORDERS, adjacency), rtol=1e-15)
        assert (best <= found).all()


def test_names_of_what_decides():
    event = rdpkit.Composed(events=(gaussian(1.0), sampled(5.0), gaussian(2.0)))
    names = UpperBounds().used(event, 4.0, ADD)
    assert names[0] == "gaussian"
    assert len(names) == 2
    assert UpperBounds({rdpkit.FixedSizeSampledGaussian: "swap-coupling"}).used(
        event, 4.0, ADD
    ) == ("gaussian", "swap-coupling")


def test_leaves():
    event = rdpkit.Composed(
        events=(gaussian(3.0) * 2, rdpkit.Parallel(events=(gaussian(1.0), sampled(2.0))))
    )
    assert {leaf for leaf, _ in leaves(event, ADD)} == {
        gaussian(3.0),
        gaussian(1.0),
        sampled(2.0),
    }
