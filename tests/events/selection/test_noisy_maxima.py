"""Noisy maxima: every option's probability, by integration over the largest noisy score."""

import math

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
