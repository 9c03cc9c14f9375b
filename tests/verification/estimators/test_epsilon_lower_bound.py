import math

import numpy as np
import pytest

from rdpkit.verification.estimators.base import DiagnosticKind, Direction
from rdpkit.verification.estimators.epsilon_lower_bound import epsilon_lower_bound


def test_laplace_mechanism_comes_near_its_epsilon_from_below():
    rng = np.random.default_rng(1)
    p, q = rng.laplace(1.0, 0.5, 50_000), rng.laplace(0.0, 0.5, 50_000)
    found = epsilon_lower_bound(p, q, delta=0.0, confidence=0.99)
    assert 1.85 < found.epsilon <= 2.0
    assert found.samples == (50_000, 50_000)
    assert found.diagnostics == ()


@pytest.mark.parametrize("swap", [False, True])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_right_one_of_four_kinds_of_events_is_found(swap, sign):
    """Only an event of probability 0.1 against 0.01, on one side and in one direction, shows it."""
    rng = np.random.default_rng(2)
    p = sign * np.where(rng.random(20_000) < 0.1, 1.0, -0.0)
    q = sign * np.where(rng.random(20_000) < 0.01, 1.0, -0.0)
    found = epsilon_lower_bound(*((q, p) if swap else (p, q)), delta=0.0, confidence=0.95)
    assert 1.9 < found.epsilon <= math.log(10.0)
    assert found.event.direction is (Direction.Q_OVER_P if swap else Direction.P_OVER_Q)
    assert found.event.above is (sign > 0.0)


def test_delta_is_taken_off():
    """P shows an atom with probability 0.1 that Q never shows: epsilon is infinite below 0.1."""
    rng = np.random.default_rng(3)
    p, q = np.where(rng.random(20_000) < 0.1, 5.0, 0.0), np.zeros(20_000)
    assert epsilon_lower_bound(p, q, delta=0.05, confidence=0.95).epsilon > 4.0
    assert epsilon_lower_bound(p, q, delta=0.11, confidence=0.95).epsilon == 0.0


@pytest.mark.parametrize("seed", range(5))
def test_equal_distributions_show_nothing(seed):
    rng = np.random.default_rng(seed)
    found = epsilon_lower_bound(rng.random(5000), rng.random(5000), delta=0.0, confidence=0.999)
    assert found.epsilon == 0.0
    assert found.event is None
    assert [diagnostic.kind for diagnostic in found.diagnostics] == [DiagnosticKind.NO_SEPARATION]


def test_more_confidence_is_a_smaller_bound():
    rng = np.random.default_rng(4)
    p, q = rng.normal(1.0, 1.0, 10_000), rng.normal(0.0, 1.0, 10_000)
    found = [
        epsilon_lower_bound(p, q, delta=1e-3, confidence=confidence).epsilon
        for confidence in (0.5, 0.95, 0.999999)
    ]
    assert found[0] > found[1] > found[2] > 0.0


def test_two_scores_a_side_are_enough_to_be_asked():
    assert epsilon_lower_bound([0.0, 1.0], [0.0, 1.0], delta=0.0, confidence=0.9).epsilon == 0.0


def test_nan_wrong_shapes_and_wrong_arguments_raise():
    good = [0.0, 1.0]
    with pytest.raises(ArithmeticError, match="nan"):
        epsilon_lower_bound([0.0, math.nan], good, delta=0.0, confidence=0.9)
    with pytest.raises(ValueError, match="p_scores"):
        epsilon_lower_bound([[0.0, 1.0]], good, delta=0.0, confidence=0.9)
    for wrong in ({"delta": 1.0}, {"confidence": 1.0}, {"training": 0.0}, {"events": 5}):
        with pytest.raises(ValueError, match="Expected"):
            epsilon_lower_bound(good, good, **{"delta": 0.0, "confidence": 0.9, **wrong})
