"""Options by noisy scores: every option or order of a few options, integrated."""

import math
from itertools import permutations

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rdpkit
from rdpkit import Adjacency
from rdpkit.bounds import noise as noises
from rdpkit.events.selection import scores as options
from tests.bounds.strategies import log_uniform
from tests.events import unit

REPLACED = Adjacency.REPLACE_ONE
SCORES = st.lists(st.floats(-2.0, 2.0), min_size=2, max_size=6)
RANGES = next(one for one in noises.BOUNDS if one.title == "Noisy maximum")


def logs_of_chances(noise, scores):
    """Of every option, with noise of scale 1."""
    grid, width = np.linspace(-45.0, 60.0, 20_001, retstep=True)
    x = grid - np.array(scores)[:, None]
    if noise == "laplace":
        density = 0.5 * np.exp(-np.abs(x))
        below = np.where(x > 0.0, np.log1p(-density), np.log(density))
    else:
        below = -np.exp(-x)
        density = np.exp(below - x)
    whole = below.sum(axis=0)
    chances = (density * np.exp(np.maximum(whole - below, -700.0))).sum(axis=1) * width
    return np.log(np.maximum(chances, 1e-290))


@settings(max_examples=30, deadline=None)
@given(
    st.sampled_from(["laplace", "gumbel"]), SCORES, st.data(), log_uniform(0.05, 6.0), st.booleans()
)
def test_losses_lie_in_the_range_that_is_said(noise, scores, data, distance, monotone):
    same = st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=len(scores), max_size=len(scores))
    after = [x + distance * move for x, move in zip(scores, data.draw(same), strict=True)]
    # Scores that move by s at most, either way, are those that move from 0 to 2 s, and all by -s.
    event = unit.noisy_maximum(
        (1.0 if monotone else 2.0) / distance, noise, monotone_scores=monotone
    )
    first, second = logs_of_chances(noise, scores), logs_of_chances(noise, after)
    losses = first - second
    assert np.ptp(losses) <= event.range(REPLACED) * (1 + 1e-3) + 1e-4
    assert np.abs(losses).max() <= distance * (1 + 1e-3) + 1e-4
    for order in (1.2, 2.0, 10.0):
        bound = RANGES.rdp(event, np.array([order]), REPLACED)[0]
        whole = np.logaddexp.reduce(order * first + (1.0 - order) * second)
        assert whole / (order - 1.0) <= bound * (1 + 1e-3) + 1e-4


def product_of(first, second):
    found = {}
    for i, a in first.items():
        for j, b in second.items():
            found[i + j] = found.get(i + j, 0) + a * b
    return found


def largest(x, ours, others):
    """The probability that the first kind has the maximum: sums of exponentials, integrated."""
    x = mp.mpf(x)
    found = mp.mpf(0)
    for low, high in ((-mp.inf, min(x, 0)), (min(x, 0), max(x, 0)), (max(x, 0), mp.inf)):
        if low == high:
            continue
        # Factors in e^(i t), by i: the density of one of ours, and what is below.
        up, down = {1: mp.exp(-x) / 2}, {-1: mp.exp(x) / 2}
        whole = down if low >= x else up
        own = {0: mp.mpf(1), -1: -down[-1]} if low >= x else up
        other = {0: mp.mpf(1), -1: mp.mpf(-0.5)} if low >= 0 else {1: mp.mpf(0.5)}
        for factor in [own] * (ours - 1) + [other] * others:
            whole = product_of(whole, factor)
        for i, c in whole.items():
            found += c * ((mp.exp(i * high) - mp.exp(i * low)) / i if i else high - low)
    return ours * found


@settings(max_examples=60, deadline=None)
@given(st.floats(-75.0, 40.0), st.sampled_from(options._KINDS))
def test_two_kinds_of_options_with_laplace_noise(x, kinds):
    with mp.workdps(40):
        exact = largest(x, *kinds)
        assert abs(options._largest(x, *kinds) / exact - 1) < 2.0**-46


@pytest.mark.parametrize(
    ("noise", "scale", "count", "apart"),
    [
        ("laplace", 5.0, 1, 1.001),
        ("laplace", 20.0, 10, 1.27),
        ("gumbel", 20.0, 10, 1.05),
        ("gumbel", 100.0, 10, 1.1),
    ],
)
def test_noisy_maxima_attain_most_of_what_is_said(noise, scale, count, apart):
    event = count * unit.noisy_maximum(scale, noise)
    ask = {"delta": 1e-6, "adjacency": REPLACED}
    above, below = rdpkit.epsilon(event, **ask).epsilon, rdpkit.lower_bound(event, **ask)[0].epsilon
    assert below <= above <= apart * below


def test_far_apart_scores_have_an_answer():
    for scale in (0.5, 0.05, 1e-3):
        event = unit.noisy_maximum(scale, "laplace")
        above = rdpkit.epsilon(event, delta=1e-6, adjacency=REPLACED).epsilon
        below = rdpkit.lower_bound(event, delta=1e-6, adjacency=REPLACED)[0].epsilon
        assert 0.0 <= below <= above <= 2.0 / scale * (1 + 1e-9)
        assert not math.isnan(below)


EPSILONS = (0.0, 0.1, 0.5, 1.5)
MOVES = st.lists(st.sampled_from([-1.0, 0.0, 1.0]), min_size=4, max_size=4)
FOUR_SCORES = st.lists(st.floats(-3.0, 3.0), min_size=4, max_size=4)


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
@given(FOUR_SCORES, MOVES, log_uniform(1.0, 8.0), st.integers(1, 3), st.booleans())
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
