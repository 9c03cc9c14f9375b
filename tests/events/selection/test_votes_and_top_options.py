"""Several options at once, and votes: every order of a few options, enumerated or integrated."""

from __future__ import annotations

import math
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rdpkit
from rdpkit import Adjacency
from tests.bounds.strategies import log_uniform

REPLACED = Adjacency.REPLACE_ONE
EPSILONS = (0.0, 0.1, 0.5, 1.5)
MOVES = st.lists(st.sampled_from([-1.0, 0.0, 1.0]), min_size=4, max_size=4)
SCORES = st.lists(st.floats(-3.0, 3.0), min_size=4, max_size=4)


def softmax_orders(scores, count):
    """Probabilities of all orders of the first ``count``, by the exponential mechanism."""
    found = {}
    for order in permutations(range(len(scores)), count):
        left, mass = list(scores), 1.0
        weights = {i: math.exp(v) for i, v in enumerate(left)}
        for i in order:
            mass *= weights[i] / sum(weights.values())
            del weights[i]
        found[order] = mass
    return found


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
@settings(max_examples=12, deadline=None)
@given(SCORES, MOVES, log_uniform(0.5, 8.0), st.integers(1, 3), st.booleans())
def test_gumbel_noise_of_few_options(scores, moves, scale, count, monotone):
    moves = [abs(v) for v in moves] if monotone else moves
    event = rdpkit.TopOptions(
        noise="gumbel", noise_scale=scale, sensitivity=1.0, options=count, monotone_scores=monotone
    )
    other = [v + m for v, m in zip(scores, moves, strict=True)]
    laws = [softmax_orders([v / scale for v in some], count) for some in (scores, other)]
    for epsilon in EPSILONS:
        above = rdpkit.delta(event, epsilon=epsilon, adjacency=REPLACED).delta
        for one, two in (laws, laws[::-1]):
            assert excess(one, two, epsilon) <= above + 1e-13


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


@pytest.mark.thorough
@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("noise", ["gumbel", "laplace"])
def test_many_options_of_two_kinds_are_what_lower_bounds_say(noise, count):
    """With more and more options the leak comes as near to the lower bound as one likes."""
    event = rdpkit.TopOptions(noise=noise, noise_scale=2.0, sensitivity=1.0, options=count)
    below = rdpkit.lower_bound(event, epsilon=0.2, adjacency=REPLACED)[0].delta
    found = []
    for many in (1, 4, 64, 1024):
        kinds = [kinds_of_options(noise, many, place, count) for place in (-0.5, 0.0, 0.25, 0.5)]
        found.append(max(excess(*some, 0.2) for pair in kinds for some in (pair, pair[::-1])))
    assert max(found) >= below * (1 - 3e-3)
    assert rdpkit.delta(event, epsilon=0.2, adjacency=REPLACED).delta >= max(found) - 1e-6


def kinds_of_options(noise, many, place, count):
    """Laws of the kinds of those chosen, of as many options of either kind, on two data sets.

    The scores of one kind are ``place`` above those of the other one, or 1 further up.
    """
    found = []
    for moved in (place + 0.5, place - 0.5):
        if noise == "gumbel":
            found.append(gumbel_kinds(many, math.exp(moved), count))
        else:
            found.append(laplace_kinds(many, moved, count))
    return found


def gumbel_kinds(many, odds, count):
    found = {}
    for kinds in product((0, 1), repeat=count):
        left, mass = [many, many], 1.0
        for kind in kinds:
            share = left[0] * odds / (left[0] * odds + left[1])
            mass *= (share, 1.0 - share)[kind]
            left[kind] -= 1
        found[kinds] = mass
    return found


def laplace_kinds(many, moved, count):
    grid, width = np.linspace(-30.0, 60.0, 180001, retstep=True)
    places = (moved, 0.0)
    density = [0.5 * np.exp(-np.abs(grid - v)) for v in places]
    below = [np.where(grid < v, d, 1.0 - d) for v, d in zip(places, density, strict=True)]
    found = {}
    for kinds in product((0, 1), repeat=count):
        used = [kinds.count(0), kinds.count(1)]
        if max(used) > many:
            continue
        upto = below[0] ** (many - used[0]) * below[1] ** (many - used[1])
        for kind in reversed(kinds):
            inside = density[kind] * upto * width
            upto = np.cumsum(inside) - inside / 2.0
        ways = math.perm(many, used[0]) * math.perm(many, used[1])
        found[kinds] = float(upto[-1]) * ways
    return found


@pytest.mark.thorough
@settings(max_examples=5, deadline=None)
@given(
    st.lists(st.integers(0, 6), min_size=3, max_size=3),
    log_uniform(0.7, 10.0),
    st.sampled_from(["gaussian", "laplace"]),
)
def test_a_vote_that_leaves_a_class_and_joins_another(counts, scale, noise):
    event = rdpkit.TeacherVotes(noise=noise, noise_scale=scale, queries=1)
    counts = [counts[0] + 1, *counts[1:]]
    moved = [counts[0] - 1, counts[1] + 1, counts[2]]
    laws = [winners(some, scale, noise) for some in (counts, moved)]
    for epsilon in EPSILONS:
        above = rdpkit.delta(event, epsilon=epsilon, adjacency=REPLACED).delta
        for one, two in (laws, laws[::-1]):
            assert excess(one, two, epsilon) <= above + 1e-6


def winners(counts, scale, noise):
    grid, width = np.linspace(-12.0 * scale - 8, 12.0 * scale + 16, 4001, retstep=True)
    found = {}
    if noise == "gaussian":
        erf = np.vectorize(math.erf)
        density = [np.exp(-0.5 * ((grid - c) / scale) ** 2) for c in counts]
        density = [d / (scale * math.sqrt(2.0 * math.pi)) for d in density]
        below = [0.5 * (1.0 + erf((grid - c) / (scale * math.sqrt(2.0)))) for c in counts]
    else:
        density = [np.exp(-np.abs(grid - c) / scale) / (2.0 * scale) for c in counts]
        below = [
            np.where(grid < c, d * scale, 1.0 - d * scale)
            for c, d in zip(counts, density, strict=True)
        ]
    for i in range(len(counts)):
        others = np.prod([below[j] for j in range(len(counts)) if j != i], axis=0)
        found[i] = float((density[i] * others).sum() * width)
    return found


def test_screening_is_paid_for_and_groups_are_teachers():
    plain = rdpkit.TeacherVotes(noise="gaussian", noise_scale=50.0, queries=100)
    screened = rdpkit.TeacherVotes(
        noise="gaussian", noise_scale=50.0, queries=100, screening_noise_std=200.0, screened=1000
    )
    both = 100 * rdpkit.Gaussian(noise_std=50.0, record_norm=math.sqrt(2.0)) + (
        1000 * rdpkit.Gaussian(noise_std=200.0, record_norm=1.0)
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
