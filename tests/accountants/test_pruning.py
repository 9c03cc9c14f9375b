"""Parts that are left out do not decide: the numbers are those of the plain evaluation."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rdpkit
from rdpkit.accountants.event_tree import Focus, UpperBounds, deciding_parts
from rdpkit.adjacency import Adjacency
from tests.accountants.naive_tree import divergence
from tests.events import of_papers, unit

ORDERS = np.array([1.3, 2.0, 7.5, 40.0])
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
    found = UpperBounds().rdp(event, ORDERS, adjacency)
    np.testing.assert_array_equal(found, divergence(event, ORDERS, adjacency))


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
    worst = np.sort([divergence(p, ORDERS, BOTH[0]) for p in parts], axis=0)[-needed:]
    worst_kept = np.sort([divergence(p, ORDERS, BOTH[0]) for p in kept], axis=0)[-needed:]
    np.testing.assert_array_equal(worst, worst_kept)


@pytest.mark.parametrize("adjacency", BOTH)
def test_a_focus_gives_the_same_where_it_was_learnt(adjacency):
    event = of_papers.dpcda([900, 800, 1000], 40, 20, noise=0.1)
    traces = []
    values = UpperBounds(traces=traces).rdp(event, ORDERS, adjacency)
    np.testing.assert_array_equal(values, divergence(event, ORDERS, adjacency))
    focus = Focus.of(traces, 1.0, 10.0)
    near = UpperBounds(focus=focus).rdp(event, ORDERS[1:3], adjacency)
    # Other orders share other nodes: the last bits may differ.
    np.testing.assert_allclose(near, values[1:3], rtol=1e-13)
    # It left something out, or there was nothing to be gained.
    assert focus.theorems


def test_leaving_out_what_stays_in_its_part_is_a_lower_bound():
    event = rdpkit.Parallel(events=(fixed(40, 3, noise=0.3), fixed(50, 3, noise=0.3)))
    ends = UpperBounds(focus=Focus(theorems={}, ends_decide=True))
    whole = divergence(event, ORDERS, Adjacency.REPLACE_ONE)
    assert (ends.rdp(event, ORDERS, Adjacency.REPLACE_ONE) <= whole).all()
    stays = replace(event, record_keeps_its_part=True)
    np.testing.assert_array_equal(
        ends.rdp(stays, ORDERS, Adjacency.REPLACE_ONE),
        divergence(stays, ORDERS, Adjacency.REPLACE_ONE),
    )
