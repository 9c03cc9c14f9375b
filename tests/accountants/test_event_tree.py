"""Events made of events: sums, repetitions, disjoint parts, and parts that do not decide."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import rdpkit
from rdpkit.accountants.event_tree import Focus, UpperBounds, deciding_parts, leaves, sound_bounds
from rdpkit.adjacency import Adjacency
from tests.events import of_papers, unit
from tests.events.unit import gaussian

ADD = rdpkit.Adjacency.ADD_OR_REMOVE_ONE
REPLACE = rdpkit.Adjacency.REPLACE_ONE
ORDERS = np.array([1.25, 2.0, 17.0])


def sampled(noise, sample=10):
    return unit.fixed_size(noise, sample, 100)


def rdp(event, adjacency):
    return UpperBounds().rdp(event, ORDERS, adjacency)


def test_parts_that_say_nothing():
    """A curve given for replace-one says nothing of a record that joins the part."""
    custom = rdpkit.CustomRdp(orders=(1.25, 2.0, 17.0), values=(0.1, 0.1, 0.1), adjacency=REPLACE)
    assert np.isinf(rdp(rdpkit.Parallel(events=(custom, custom)), REPLACE)).all()
    kept = rdpkit.Parallel(events=(custom, custom), record_keeps_its_part=True)
    assert rdp(kept, REPLACE).tolist() == [0.1, 0.1, 0.1]


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


BOTH_ENDS = rdpkit.Adjacency.ADD_OR_REMOVE_ONE


def divergence(event, orders, adjacency):
    """The best sound Renyi divergence at each order."""
    if isinstance(event, rdpkit.Repeated):
        return event.count * divergence(event.event, orders, adjacency)
    if isinstance(event, rdpkit.Composed):
        return sum(divergence(part, orders, adjacency) for part in event.events)
    if isinstance(event, rdpkit.Parallel):
        found = [divergence(part, orders, adjacency) for part in event.events]
        if event.record_may_move(adjacency):
            ends = [divergence(part, orders, BOTH_ENDS) for part in event.events]
            found += [one + other for one, other in itertools.combinations(ends, 2)]
        return np.maximum.reduce(found)
    rows = [bound.values(event, orders, adjacency) for bound in sound_bounds(event, adjacency)]
    expanded = event.expand()
    if expanded is not None:
        rows.append(divergence(expanded, orders, adjacency))
    return np.minimum.reduce(rows)


SEVERAL = np.array([1.3, 2.0, 7.5, 40.0])
BOTH = [Adjacency.ADD_OR_REMOVE_ONE, Adjacency.REPLACE_ONE]


def fixed(population, count, noise=2.0, sample=20):
    event = unit.fixed_size(noise, sample, population, record_norm=0.5)
    return event * count


def poisson(q, count, noise=2.0):
    event = unit.poisson(noise, q)
    return event * count


PARTS = st.one_of(
    st.builds(fixed, st.integers(21, 500), st.integers(1, 9), st.sampled_from([1.0, 2.0])),
    st.builds(poisson, st.floats(0.01, 0.5), st.integers(1, 9), st.sampled_from([1.0, 2.0])),
    st.builds(unit.gaussian, st.floats(1.0, 9.0)),
)
PARALLEL = st.builds(
    lambda events, stays: rdpkit.Parallel(events=tuple(events), record_keeps_its_part=stays),
    st.lists(PARTS, min_size=2, max_size=7),
    st.booleans(),
)


@settings(max_examples=25, deadline=None)
@given(PARALLEL, st.sampled_from(BOTH))
def test_same_divergences(event, adjacency):
    found = UpperBounds().rdp(event, SEVERAL, adjacency)
    np.testing.assert_array_equal(found, divergence(event, SEVERAL, adjacency))


@pytest.mark.parametrize("adjacency", BOTH)
def test_same_balls(adjacency):
    event = rdpkit.Parallel(events=(fixed(100, 3), fixed(120, 3), fixed(90, 2), poisson(0.1, 3)))
    ball = UpperBounds().ball(event, 7.5, adjacency)
    value = float(divergence(event, np.array([7.5]), adjacency)[0])
    assert float(ball.mid()) == pytest.approx(value, rel=1e-9)
    assert float(ball.rad()) <= 1e-9 * value


def test_what_is_kept():
    parts = (fixed(100, 3), fixed(90, 3), fixed(110, 3), fixed(300, 9), fixed(90, 3))
    # Of equal ones the first; a rarer sample stays if it is taken more often.
    assert deciding_parts(parts, 1) == (parts[1], parts[3])
    assert deciding_parts(parts, 2) == (parts[1], parts[3], parts[4])
    # Nothing is compared across kinds, or with what is not a primitive event.
    custom = rdpkit.CustomRdp(orders=(2.0,), values=(1.0,), adjacency="replace_one")
    mixed = (fixed(100, 1), poisson(0.5, 9), custom, fixed(100, 1, sample=10))
    assert deciding_parts(mixed, 1) == mixed[:3]  # a smaller sample of a sum leaks less


@settings(max_examples=25)
@given(st.lists(PARTS, min_size=1, max_size=12), st.sampled_from([1, 2]))
def test_what_is_dropped_is_dominated(parts, needed):
    kept = deciding_parts(tuple(parts), needed)
    assert len(kept) >= min(needed, len(parts))
    worst = np.sort([divergence(p, SEVERAL, BOTH[0]) for p in parts], axis=0)[-needed:]
    worst_kept = np.sort([divergence(p, SEVERAL, BOTH[0]) for p in kept], axis=0)[-needed:]
    np.testing.assert_array_equal(worst, worst_kept)


@pytest.mark.parametrize("adjacency", BOTH)
def test_a_focus_gives_the_same_where_it_was_learnt(adjacency):
    event = of_papers.dpcda([900, 800, 1000], 40, 20, noise=0.1)
    traces = []
    values = UpperBounds(traces=traces).rdp(event, SEVERAL, adjacency)
    np.testing.assert_array_equal(values, divergence(event, SEVERAL, adjacency))
    focus = Focus.of(traces, 1.0, 10.0)
    near = UpperBounds(focus=focus).rdp(event, SEVERAL[1:3], adjacency)
    # Other orders share other nodes: the last bits may differ.
    np.testing.assert_allclose(near, values[1:3], rtol=1e-13)
    # It left something out, or there was nothing to be gained.
    assert focus.theorems


def test_leaving_out_what_stays_in_its_part_is_a_lower_bound():
    event = rdpkit.Parallel(events=(fixed(40, 3, noise=0.3), fixed(50, 3, noise=0.3)))
    ends = UpperBounds(focus=Focus(theorems={}, ends_decide=True))
    whole = divergence(event, SEVERAL, Adjacency.REPLACE_ONE)
    assert (ends.rdp(event, SEVERAL, Adjacency.REPLACE_ONE) <= whole).all()
    stays = replace(event, record_keeps_its_part=True)
    np.testing.assert_array_equal(
        ends.rdp(stays, SEVERAL, Adjacency.REPLACE_ONE),
        divergence(stays, SEVERAL, Adjacency.REPLACE_ONE),
    )
