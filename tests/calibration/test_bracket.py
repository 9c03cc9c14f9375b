"""Bracketing searches on functions whose zero is known: any start, any shape, any direction."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdpkit.calibration import bracket
from tests.bounds.strategies import log_uniform

SHAPES = {
    "line": lambda u: -2.0 * u,
    "bent": lambda u: math.expm1(-u) if u > -30 else 1e13,
    "flat at first": lambda u: -math.expm1(u) if u < 30 else -1e13,
    "cubic": lambda u: -(u**3) - 1e-3 * u,
    "jump": lambda u: 1.0 if u < 0 else -1.0,
    "infinite, then a line": lambda u: math.inf if u < -0.3 else -u,
    "rough": lambda u: -u + 0.3 * math.sin(40.0 * u) * min(abs(u), 1.0) ** 2,
}


class Counted:
    """A score that counts, and remembers what it was asked."""

    def __init__(self, function):
        self.function = function
        self.asked = {}

    def __call__(self, t):
        self.asked[t] = self.function(t)
        return self.asked[t]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("private", [1, -1])
@settings(max_examples=25)
@given(zero=log_uniform(1e-6, 1e6), start=log_uniform(1e-9, 1e9))
def test_numbers(shape, private, zero, start):
    score = Counted(lambda t: SHAPES[shape](private * math.log(t / zero)))
    found = bracket.numbers(
        score, start=start, lowest=1e-20, highest=1e20, private=private, tolerance=1e-6
    )
    assert score.asked[found.meets] <= 0.0 < score.asked[found.misses]
    # Its two ends are in order, and within the tolerance of one another.
    assert 0.0 < private * math.log(found.meets / found.misses) <= 1.0001e-6
    if shape not in ("rough", "jump", "infinite, then a line"):
        assert len(score.asked) < 60
    assert len(score.asked) < 150


@settings(max_examples=40)
@given(zero=log_uniform(1e-3, 1e3), start=log_uniform(0.1, 10.0))
def test_smooth_scores_take_few_steps(zero, start):
    """What calibration meets: almost a line with the slope -2, and far away a steeper one."""
    score = Counted(
        lambda t: math.log(math.expm1(min((zero / t) ** 2, 600.0))) - math.log(math.e - 1.0)
    )
    found = bracket.numbers(
        score, start=start * zero, lowest=1e-20, highest=1e20, private=1, tolerance=1e-6
    )
    assert found.meets == pytest.approx(zero, rel=1e-6)
    assert len(score.asked) <= 14


@pytest.mark.parametrize("private", [1, -1])
@settings(max_examples=60)
@given(zero=st.integers(1, 10**9), start=st.integers(1, 10**9), power=st.floats(0.3, 3.0))
def test_integers(private, zero, start, power):
    """The last integer that meets, and its neighbour; the zero is between the two."""
    score = Counted(lambda t: -private * power * (math.log(t) - math.log(zero + 0.5)))
    found = bracket.integers(score, start=start, lowest=1, highest=2 * 10**9, private=private)
    assert (found.meets, found.misses) == ((zero + 1, zero) if private > 0 else (zero, zero + 1))
    assert len(score.asked) <= 40


def test_a_score_that_rises_is_still_bracketed():
    """Whatever the function, what is returned was evaluated on both sides."""
    score = Counted(lambda t: math.sin(3.0 * math.log(t)))
    found = bracket.numbers(score, start=2.0, lowest=1e-3, highest=1e3, private=1, tolerance=1e-9)
    assert score.asked[found.meets] <= 0.0 < score.asked[found.misses]
