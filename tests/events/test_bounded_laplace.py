"""Laplace noise that is drawn again until the result is in a range."""

from itertools import pairwise

import mpmath as mp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rdpkit
from rdpkit import Adjacency
from tests.bounds.strategies import log_uniform

RELATIONS = tuple(Adjacency)


def excess(one, other, b, width, epsilon):
    """The hockey-stick divergence for two numbers in [0, width], integrated piece by piece."""
    one, other, b, width = map(mp.mpf, (one, other, b, width))

    def left(x):
        return 1 - (mp.exp(-x / b) + mp.exp(-(width - x) / b)) / 2

    def value(y):
        p = mp.exp(-abs(y - one) / b) / (2 * b * left(one))
        q = mp.exp(-abs(y - other) / b) / (2 * b * left(other))
        return p - mp.exp(epsilon) * q

    # The ratio falls, or rises, between the two numbers: the sign changes there at most once.
    low, high = sorted((one, other))
    cuts = [mp.mpf(0), low, high, width]
    if value(low) * value(high) < 0:
        cuts.append(mp.findroot(value, (low, high), solver="anderson", tol=1e-25))
    cuts = sorted(set(cuts))
    return float(mp.fsum(max(mp.quad(value, [u, v]), 0) for u, v in pairwise(cuts)))


@pytest.mark.thorough
@settings(max_examples=20, deadline=None)
@given(
    log_uniform(0.3, 8.0),
    log_uniform(0.5, 20.0),
    st.floats(0.05, 1.0),
    st.tuples(st.floats(0.0, 1.0), st.floats(0.0, 1.0)),
    st.sampled_from([0.0, 0.2, 1.0, 2.0]),
)
def test_no_two_numbers_leak_more(b, width, part, places, epsilon):
    moved = part * width
    event = rdpkit.BoundedLaplace(noise_scale=b, minimum=0.0, maximum=width, sensitivity=moved)
    place, nearer = places
    first = place * (width - moved)
    above = rdpkit.delta(event, epsilon=epsilon, adjacency=RELATIONS[0]).delta
    for one, other in ((0.0, moved), (first, first + moved), (first, first + nearer * moved)):
        if one == other:
            continue
        for pair in ((one, other), (other, one)):
            assert excess(*pair, b, width, epsilon) <= above + 1e-12
    below = rdpkit.lower_bound(event, epsilon=epsilon, adjacency=RELATIONS[0])[0].delta
    at_ends = max(excess(0.0, moved, b, width, epsilon), excess(moved, 0.0, b, width, epsilon))
    middle = (width - moved) / 2
    assert below <= max(at_ends, excess(middle, middle + moved, b, width, epsilon)) + 1e-12


@settings(max_examples=20, deadline=None)
@given(log_uniform(0.05, 50.0), log_uniform(0.1, 100.0), st.floats(0.01, 1.0))
def test_the_scale_of_holohan(b, width, part):
    """Holohan et al. 2018, Theorem 3.5, at delta = 0: b >= s / (epsilon - log ratio)."""
    moved = part * width
    event = rdpkit.BoundedLaplace(
        noise_scale=b, minimum=2.0, maximum=2.0 + width, sensitivity=moved
    )

    def left(x):
        return 1 - (mp.exp(-x / mp.mpf(b)) + mp.exp(-(width - x) / mp.mpf(b))) / 2

    stated = float(mp.mpf(moved) / b + mp.log(left(mp.mpf(moved)) / left(mp.mpf(0))))
    for relation in RELATIONS:
        ask = {"delta": 0.0, "adjacency": relation}
        assert rdpkit.epsilon(event, **ask).epsilon == pytest.approx(stated, rel=1e-9)
    assert 1.0 * moved / b <= stated * (1 + 1e-9)
    assert stated <= 2.0 * moved / b * (1 + 1e-9)


def test_both_bounds_are_near_each_other():
    event = rdpkit.BoundedLaplace(noise_scale=2.0, minimum=0.0, maximum=10.0, sensitivity=1.0)
    for delta in (0.0, 1e-9, 1e-6):
        ask = {"delta": delta, "adjacency": RELATIONS[1]}
        assert (
            rdpkit.epsilon(event, **ask).epsilon
            <= 1.01 * rdpkit.lower_bound(event, **ask)[0].epsilon
        )


def test_a_range_that_is_empty_is_refused():
    with pytest.raises(ValueError, match=r"Expected maximum to be above minimum = 1\.0"):
        rdpkit.BoundedLaplace(noise_scale=1.0, minimum=1.0, maximum=1.0, sensitivity=1.0)


def test_a_number_that_may_be_anything_in_the_range():
    wide = rdpkit.BoundedLaplace(noise_scale=1.0, minimum=0.0, maximum=1.0, sensitivity=50.0)
    same = rdpkit.BoundedLaplace(noise_scale=1.0, minimum=0.0, maximum=1.0, sensitivity=1.0)
    for epsilon in (0.0, 0.5):
        ask = {"epsilon": epsilon, "adjacency": RELATIONS[1]}
        assert rdpkit.delta(wide, **ask).delta == rdpkit.delta(same, **ask).delta
