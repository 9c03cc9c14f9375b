"""Shuffled epochs: what happens to the records that are left over, and little noise."""

import pytest

import rdpkit
from rdpkit.adjacency import Adjacency
from tests.events import unit


def event_of(noise, size):
    return unit.shuffled(noise, 2, size)


def test_without_left_over_records_the_neighbour_has_one_more():
    exact, more = event_of(1.0, 4), event_of(1.0, 5)
    assert exact.presence(Adjacency.ADD_OR_REMOVE_ONE) == 4 / 5
    assert exact.presence(Adjacency.REPLACE_ONE) == 1.0
    one, two = (
        rdpkit.lower_bound(event, delta=1e-3, adjacency="add_or_remove_one")[0].epsilon
        for event in (exact, more)
    )
    assert one == two


@pytest.mark.thorough
def test_little_noise_takes_no_long_lattice():
    event = unit.shuffled(0.1, 256, 60_000)
    found = rdpkit.epsilon(event, delta=1e-5, adjacency="zero_out", lower=True)
    assert 91.0 < found.lower <= found.epsilon < 93.0
