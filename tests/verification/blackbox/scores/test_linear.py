"""Linear scores."""

import numpy as np
import pytest

from rdpkit.verification.blackbox.scores.linear import linear


def noise(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape)


def separation(score, p, q):
    """The gap of the means in standard deviations; positive if p is where it should be."""
    return (score(p).mean() - score(q).mean()) / score(q).std()


def shifted(shift, runs, seeds=(1, 2, 3, 4)):
    """Training outputs on both sides, and as many to test."""
    sides = [noise(seed, runs, shift.size) for seed in seeds]
    return sides[0] + shift, sides[1], sides[2] + shift, sides[3]


def test_many_small_differences_add_up():
    # 0.06 of a deviation in each of 300 columns is nothing in any, and 1.04 along their sum.
    p, q, p_test, q_test = shifted(np.full(300, 0.06), 400)
    assert separation(linear(p, q), p_test, q_test) > 0.5


def test_one_large_difference_among_many_columns_is_not_drowned():
    shift = np.zeros(300)
    shift[17] = -1.0
    p, q, p_test, q_test = shifted(shift, 400)
    score = linear(p, q)
    assert np.flatnonzero(score.weights).tolist() == [17]
    assert separation(score, p_test, q_test) == pytest.approx(1.0, abs=0.2)


def test_few_columns_are_whitened():
    # The noise of the second column, which no record touches, is taken away from the first.
    common = noise(5, 2, 1000, 1)
    p, q = (common[side] + 0.1 * noise(side, 1000, 2) for side in (0, 1))
    p[:, 0] += 0.3
    assert separation(linear(p, q), p, q) > 1.5
    assert linear(p, q).weights == pytest.approx([1.0, -1.0], abs=0.1)


@pytest.mark.parametrize("width", [3, 200])
def test_a_constant_column_that_rounds_is_constant(width):
    # The mean of so many times 0.1 is not 0.1; a gap of rounding over no variance is no evidence.
    p, q, p_test, q_test = shifted(np.full(width, 0.5), 300)
    for side in (p, q, p_test, q_test):
        side[:, 1] = 0.1
    score = linear(p, q)
    assert score.weights[1] == 0.0
    assert separation(score, p_test, q_test) > 0.5


@pytest.mark.parametrize("size", [1e-300, 1e-170, 1e170, 1e300])
@pytest.mark.parametrize("width", [3, 200])
def test_columns_whose_variance_is_no_double_count_as_others_do(width, size):
    p, q, p_test, q_test = shifted(np.full(width, 0.5), 300)
    plain = separation(linear(p, q), p_test, q_test)
    for side in (p, q, p_test, q_test):
        side[:, 0] *= size / np.abs(side[:, 0]).max()
    score = linear(p, q)
    assert separation(score, p_test, q_test) == pytest.approx(plain, rel=0.3)
    assert np.isfinite(score(np.full((2, width), 1e300) * [[1.0], [-1.0]])).all()


@pytest.mark.parametrize("width", [3, 200])
def test_a_constant_that_differs_says_everything(width):
    p, q = noise(1, 300, width), noise(2, 300, width)
    p[:, 2], q[:, 2] = 0.1, 0.2
    score = linear(p, q)
    assert np.flatnonzero(score.weights).tolist() == [2]
    assert score(p).max() - score(q).min() == pytest.approx(0.01, rel=1e-12)
