"""Laplace noise that is drawn again until the result is in a range."""

import mpmath as mp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rdpkit
from rdpkit import Adjacency
from tests.bounds.strategies import log_uniform
from tests.oracles import semantics

RELATIONS = tuple(Adjacency)


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


@pytest.mark.parametrize("epsilon", [0.0, 0.2, 0.6, 1.0])
def test_the_lower_bound_is_what_numbers_at_the_end_or_in_the_middle_leak(epsilon):
    event = rdpkit.BoundedLaplace(noise_scale=1.0, minimum=0.0, maximum=3.0, sensitivity=1.0)
    # Cells of a thousandth of the range, which take a little away.
    exact = float(semantics.truth(semantics.ways(event, RELATIONS[1]), epsilon)[0])
    lower = rdpkit.lower_bound(event, epsilon=epsilon, adjacency=RELATIONS[1])[0].delta
    assert 0.9 * exact <= lower <= 1.0001 * exact
