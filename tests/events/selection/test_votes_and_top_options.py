"""Several options at once, and votes: every order of a few options, integrated."""

import math
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rdpkit
from rdpkit import Adjacency
from tests.bounds.strategies import log_uniform
from tests.events import unit

REPLACED = Adjacency.REPLACE_ONE
EPSILONS = (0.0, 0.1, 0.5, 1.5)
MOVES = st.lists(st.sampled_from([-1.0, 0.0, 1.0]), min_size=4, max_size=4)
SCORES = st.lists(st.floats(-3.0, 3.0), min_size=4, max_size=4)


def laplace_orders(scores, count):
    """The same with Laplace noise of scale 1: integrals on a grid, each density added up."""
    grid, width = np.linspace(-40.0, 40.0, 80001, retstep=True)
    densities = [0.5 * np.exp(-np.abs(grid - v)) for v in scores]
    below = [np.where(grid < v, d, 1.0 - d) for v, d in zip(scores, densities, strict=True)]
    found = {}
    for order in permutations(range(len(scores)), count):
        others = [i for i in range(len(scores)) if i not in order]
        upto = np.prod([below[i] for i in others], axis=0)
        for i in reversed(order):
            inside = densities[i] * upto * width
            upto = np.cumsum(inside) - inside / 2.0
        found[order] = float(upto[-1])
    return found


def excess(one, other, epsilon):
    return sum(max(p - math.exp(epsilon) * other[key], 0.0) for key, p in one.items())


@pytest.mark.thorough
@settings(max_examples=10, deadline=None)
@given(SCORES, MOVES, log_uniform(1.0, 8.0), st.integers(1, 3), st.booleans())
def test_laplace_noise_of_few_options(scores, moves, scale, count, monotone):
    moves = [abs(v) for v in moves] if monotone else moves
    event = rdpkit.TopOptions(
        noise="laplace", noise_scale=scale, sensitivity=1.0, options=count, monotone_scores=monotone
    )
    other = [v + m for v, m in zip(scores, moves, strict=True)]
    laws = [laplace_orders([v / scale for v in some], count) for some in (scores, other)]
    assert sum(laws[0].values()) == pytest.approx(1.0, abs=1e-5)
    for epsilon in EPSILONS:
        above = rdpkit.delta(event, epsilon=epsilon, adjacency=REPLACED).delta
        for one, two in (laws, laws[::-1]):
            assert excess(one, two, epsilon) <= above + 1e-5


def test_screening_is_paid_for_and_groups_are_teachers():
    plain = rdpkit.TeacherVotes(noise="gaussian", noise_scale=50.0, queries=100)
    screened = rdpkit.TeacherVotes(
        noise="gaussian", noise_scale=50.0, queries=100, screening_noise_std=200.0, screened=1000
    )
    both = 100 * rdpkit.Gaussian(noise_std=50.0, record_norm=math.sqrt(2.0)) + (
        1000 * unit.gaussian(200.0)
    )
    ask = {"delta": 1e-6, "adjacency": Adjacency.ADD_OR_REMOVE_ONE}
    assert rdpkit.epsilon(screened, **ask).epsilon == pytest.approx(
        rdpkit.epsilon(both, **ask).epsilon, rel=1e-9
    )
    assert rdpkit.epsilon(screened, **ask).epsilon > rdpkit.epsilon(plain, **ask).epsilon
    group = rdpkit.Group(event=plain, size=2)
    half = rdpkit.TeacherVotes(noise="gaussian", noise_scale=25.0, queries=100)
    assert rdpkit.epsilon(group, **ask).epsilon == pytest.approx(
        rdpkit.epsilon(half, **ask).epsilon, rel=1e-9
    )
    with pytest.raises(ValueError, match="Expected screened to be at least queries = 100"):
        rdpkit.TeacherVotes(
            noise="laplace", noise_scale=5.0, queries=100, screening_noise_std=1.0, screened=3
        )
