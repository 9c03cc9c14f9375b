"""Renyi theorems about batches: balls contain floats, and integrals stay below."""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import rdpkit
from rdpkit.adjacency import Adjacency
from rdpkit.bounds import BOUNDS
from tests.events import unit

ADD = Adjacency.ADD_OR_REMOVE_ONE
BY_ID = {bound.id: bound for bound in BOUNDS}


@pytest.mark.thorough
@settings(max_examples=10)
@given(
    st.floats(0.3, 10),
    st.floats(1e-4, 0.5),
    st.integers(10, 5000),
    st.floats(0.8, 2),
    st.floats(1.05, 200),
)
@example(noise=1.0, q=0.4375, size=1767, room=2.0, order=24.0)
def test_truncated_poisson_in_balls_and_in_floats(noise, q, size, room, order):
    event = unit.truncated(noise, q, max(1, int(room * q * size)), size)
    bound = BY_ID["truncated-poisson"]
    value = float(bound.values(event, np.array([order]), ADD)[0])
    ball = bound.ball(event, order, ADD)
    # Where a full sample is too rare for a normal float, its probability has few digits.
    width = float(ball.rad())
    assert value == pytest.approx(float(ball.mid()), rel=1e-6, abs=1e-12 + width)
    # It lies between a sample that is never full and one that always is.
    room_only, full = (
        rdpkit.sampled_gaussian_rdp([order], noise_multiplier=z, sampling_probability=p)[0]
        for z, p in ((noise, q * (1 - event.overflow[1])), (noise / 2, q))
    )
    assert room_only * (1 - 1e-6) <= value <= full * (1 + 1e-6)


@pytest.mark.parametrize("adjacency", list(Adjacency))
def test_an_epoch_in_which_the_batch_is_known_is_a_gaussian(adjacency):
    allocated = unit.allocated(3.0, 10)
    shuffled = unit.shuffled(3.0, 10, 105)
    single = 3.0 if adjacency is Adjacency.ZERO_OUT else 1.5
    expected = {
        "allocation-known": 3.0 if adjacency is not Adjacency.REPLACE_ONE else 1.5,
        "shuffled-epoch": single,
    }
    for event, name in ((allocated, "allocation-known"), (shuffled, "shuffled-epoch")):
        value = float(BY_ID[name].values(event, np.array([4.0]), adjacency)[0])
        assert value == pytest.approx(4.0 / (2 * expected[name] ** 2))
        assert float(BY_ID[name].ball(event, 4.0, adjacency)) == pytest.approx(value)


def test_renyi_bounds_are_above_loss_distributions():
    for event in (unit.allocated(2.0, 10), unit.truncated(2.0, 0.1, 12, 100)):
        many = event * 20
        best, renyi = (
            rdpkit.epsilon(many, delta=1e-5, adjacency=ADD, bound=name).epsilon
            for name in ("best", "best-rdp")
        )
        assert best <= renyi < math.inf
