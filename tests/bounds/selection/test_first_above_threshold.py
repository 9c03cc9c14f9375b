"""Selection with a known threshold: exact laws of small series, and what is attained."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rdpkit
from rdpkit.accountants.event_tree import UpperBounds
from tests.bounds.selection.test_papernot2022 import CHANCES, ORDERS, curve_of, divergence
from tests.bounds.strategies import log_uniform
from tests.events import unit

ADD = rdpkit.Adjacency.ADD_OR_REMOVE_ONE
STOP = log_uniform(1e-4, 1.0)


def until(run, good, stop):
    """The law of what is released, by adding up runs one after the other."""
    chance = run[:good].sum()
    released, alive = np.zeros(good + 1), 1.0
    for _ in range(200_000):
        released[:good] += alive * run[:good]
        released[good] += alive * (1.0 - chance) * stop
        alive *= (1.0 - chance) * (1.0 - stop)
        if alive < 1e-16:
            break
    return released / released.sum()


@pytest.mark.thorough
@settings(max_examples=40, deadline=None)
@given(CHANCES, CHANCES, STOP, st.integers(1, 3))
def test_divergences_of_exact_laws_stay_below(one, two, stop, good):
    p, q = (np.array(found) / np.sum(found) for found in (one, two))
    event = rdpkit.FirstAboveThreshold(event=curve_of(p, q), stopping_probability=stop)
    bounds = UpperBounds().rdp(event, ORDERS, ADD)
    a, b = until(p, good, stop), until(q, good, stop)
    kept = (a > 0.0) & (b > 0.0)
    for order, bound in zip(ORDERS.tolist(), bounds.tolist(), strict=True):
        for x, y in ((a, b), (b, a)):
            assert divergence(x[kept], y[kept], order) <= bound * (1.0 + 1e-9) + 1e-9


@settings(max_examples=30, deadline=None)
@given(CHANCES, st.lists(st.floats(-1.0, 1.0), min_size=3, max_size=3), STOP, st.integers(1, 3))
def test_pure_runs_stay_below_the_bounded_range(one, losses, stop, good):
    p = np.array(one) / np.sum(one)
    q = p * np.exp(np.array(losses))
    q /= q.sum()
    largest = float(np.abs(np.log(p / q)).max()) * (1 + 1e-9) + 1e-9
    run = rdpkit.EpsilonDelta(epsilon=largest, delta=0.0, adjacency=ADD)
    event = rdpkit.FirstAboveThreshold(event=run, stopping_probability=stop)
    a, b = until(p, good, stop), until(q, good, stop)
    for epsilon in (0.0, 0.5 * largest, largest, 1.7 * largest):
        bound = rdpkit.delta(event, epsilon=epsilon, adjacency=ADD, bound="pld-upper").delta
        for x, y in ((a, b), (b, a)):
            assert np.maximum(x - math.exp(epsilon) * y, 0.0).sum() <= bound * (1 + 1e-9) + 1e-9
    assert rdpkit.epsilon(event, delta=0.0, adjacency=ADD).epsilon == pytest.approx(2 * largest)


RUNS = (
    unit.gaussian(2.0),
    unit.gaussian(10.0) * 10,
    unit.laplace(2.0),
    rdpkit.EpsilonDelta(epsilon=0.5, delta=0.0, adjacency=ADD),
)


@pytest.mark.thorough
@pytest.mark.parametrize("run", RUNS, ids=repr)
@pytest.mark.parametrize("stop", [0.001, 0.1])
def test_two_data_sets_attain_much_of_it(run, stop):
    event = rdpkit.FirstAboveThreshold(event=run, stopping_probability=stop)
    ask = {"delta": 1e-5, "adjacency": ADD}
    above, below = rdpkit.epsilon(event, **ask).epsilon, rdpkit.lower_bound(event, **ask)[0].epsilon
    assert below <= above <= 1.45 * below
    # Less than the best of a geometric number of runs with the same mean, and more than one run.
    best = rdpkit.RepeatAndSelect(event=run, mean=1.0 / stop, shape=1.0)
    assert above <= rdpkit.epsilon(best, **ask).epsilon
    assert rdpkit.epsilon(run, **ask).epsilon <= above


@pytest.mark.parametrize("run", RUNS, ids=repr)
@pytest.mark.parametrize("shape", [-0.5, 0.0, 1.0, math.inf])
def test_two_data_sets_attain_much_of_the_best_of_several_runs(run, shape):
    event = rdpkit.RepeatAndSelect(event=run, mean=10.0, shape=shape)
    ask = {"delta": 1e-5, "adjacency": ADD}
    above, below = rdpkit.epsilon(event, **ask).epsilon, rdpkit.lower_bound(event, **ask)[0].epsilon
    assert below <= above <= 1.55 * below


def test_a_run_of_which_no_pair_is_known_has_no_lower_bound():
    run = rdpkit.CustomRdp(orders=[2.0], values=[0.1], adjacency=ADD)
    event = rdpkit.FirstAboveThreshold(event=run, stopping_probability=0.5)
    with pytest.raises(ValueError, match="No privacy loss distribution is known"):
        rdpkit.lower_bound(event, delta=1e-5, adjacency=ADD)
