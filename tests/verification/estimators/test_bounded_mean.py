import itertools
import math

import numpy as np
import pytest

from rdpkit.verification.estimators.bounded_mean import bounded_mean_interval, mean_lower_bounds


@pytest.mark.parametrize("p", [0.02, 0.1, 0.3, 0.5, 0.8, 0.97])
@pytest.mark.parametrize("failure", [0.05, 0.3])
def test_lower_bounds_fail_no_more_often_than_stated_on_every_sequence_of_ten_coins(p, failure):
    """Exact: all 1024 sequences, because bets depend on the order."""
    rows = np.array(list(itertools.product([0.0, 1.0], repeat=10)))
    mass = np.prod(np.where(rows == 1.0, p, 1.0 - p), axis=1)
    for top in (1.0, None):
        bounds = mean_lower_bounds(rows, failure=failure, top=top)
        assert float(mass[bounds > p].sum()) <= failure + 1e-12


def test_interval_is_about_as_wide_as_a_gaussian_one():
    """Values with a spread far below the range: a bound from the range alone would be 30 wide."""
    rng = np.random.default_rng(5)
    values = np.clip(rng.normal(0.4, 0.01, 20_000), 0.0, 1.0)
    found = bounded_mean_interval(values, lower=0.0, upper=1.0, confidence=0.95)
    gaussian = 2.0 * 1.96 * 0.01 / math.sqrt(values.size)
    assert 0.4 in found
    assert gaussian < found.width < 2.0 * gaussian


def test_interval_moves_and_scales_with_the_range():
    values = np.random.default_rng(6).random(500)
    one = bounded_mean_interval(values, lower=0.0, upper=1.0, confidence=0.9)
    other = bounded_mean_interval(10.0 * values - 3.0, lower=-3.0, upper=7.0, confidence=0.9)
    # Bisection and rounding end within some 1e-15 of the range.
    assert other.lower == pytest.approx(10.0 * one.lower - 3.0, abs=1e-12)
    assert other.upper == pytest.approx(10.0 * one.upper - 3.0, abs=1e-12)


def test_without_a_bound_from_above_the_upper_end_is_infinite():
    values = np.random.default_rng(7).exponential(2.0, 5000)
    found = bounded_mean_interval(values, lower=0.0, upper=math.inf, confidence=0.95)
    assert 1.7 < found.lower < 2.0
    assert found.upper == math.inf


@pytest.mark.parametrize("values", [[0.5], [0.0, 0.0, 0.0], [1.0, 1.0], [0.0]])
def test_few_or_constant_values_make_a_valid_interval(values):
    found = bounded_mean_interval(values, lower=0.0, upper=1.0, confidence=0.9)
    assert 0.0 <= found.lower <= float(np.mean(values)) <= found.upper <= 1.0
    assert found.width > 0.1
    unbounded = bounded_mean_interval(values, lower=0.0, upper=math.inf, confidence=0.9)
    assert unbounded.lower <= float(np.mean(values))


def test_scale_of_unbounded_values_does_not_come_from_values_that_are_bet_on():
    """Late values change no bet, so the bound is monotone in the last one alone."""
    rng = np.random.default_rng(8)
    values = rng.exponential(1.0, 400)
    bounds = []
    for last in (0.0, 1.0, 10.0):
        values[-1] = last
        found = bounded_mean_interval(values, lower=0.0, upper=math.inf, confidence=0.9)
        bounds.append(found.lower)
    assert bounds[0] < bounds[1] < bounds[2]


def test_nan_and_values_out_of_range_raise():
    with pytest.raises(ArithmeticError, match="nan"):
        bounded_mean_interval([0.1, math.nan], lower=0.0, upper=1.0, confidence=0.9)
    for bad in ([-0.1, 0.5], [0.5, 1.1]):
        with pytest.raises(ValueError, match="values"):
            bounded_mean_interval(bad, lower=0.0, upper=1.0, confidence=0.9)
    for shape in ([], [[0.5]]):
        with pytest.raises(ValueError, match="values"):
            bounded_mean_interval(shape, lower=0.0, upper=1.0, confidence=0.9)
    with pytest.raises(ValueError, match="lower"):
        bounded_mean_interval([0.5], lower=1.0, upper=0.0, confidence=0.9)
