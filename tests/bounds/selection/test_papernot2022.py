"""The best of a random number of runs: exact laws of small selections, and the paper's formulas."""

import math

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.special import logsumexp

import rdpkit
from rdpkit.accountants.event_tree import UpperBounds
from rdpkit.bounds.base import InnerDivergences
from rdpkit.bounds.selection import papernot2022
from rdpkit.numerics.balls import float_above, float_below
from rdpkit.numerics.number_of_runs import log_inverse_parameter, mean_number
from tests.bounds.strategies import log_uniform
from tests.events import unit

ADD = rdpkit.Adjacency.ADD_OR_REMOVE_ONE
SHAPES = [-0.5, 0.0, 0.5, 1.0, 3.0, math.inf]
ORDERS = np.array([1.01, 1.3, 2.0, 3.5, 8.0, 40.0])
GIVEN = tuple(1.0 + np.geomspace(1e-3, 1e6, 200))
CHANCES = st.lists(log_uniform(1e-4, 1.0), min_size=3, max_size=3)


def divergence(p, q, order):
    return float(logsumexp(order * np.log(p) - (order - 1.0) * np.log(q))) / (order - 1.0)


def generating(x, mean, shape):
    """The probability generating function of the number of runs, from its definition."""
    if math.isinf(shape):
        return np.exp(mean * (x - 1.0))
    g = math.exp(-log_inverse_parameter(mean, shape))
    if mean == 1.0:
        return np.asarray(x)
    rest = 1.0 - (1.0 - g) * x
    if shape == 0.0:
        return np.log(rest) / math.log(g)
    return (rest**-shape - 1.0) / (g**-shape - 1.0)


def selected(p, mean, shape):
    """The law of the largest answer; the last entry is that there was no run."""
    below = np.concatenate([[0.0], np.cumsum(p)])
    below[-1] = 1.0
    values = generating(below, mean, shape)
    law = np.append(np.diff(values), values[0])
    return law[law > 0.0]


def curve_of(p, q):
    values = [max(divergence(p, q, a), divergence(q, p, a), 0.0) for a in GIVEN if a < 500.0]
    largest = float(np.abs(np.log(p / q)).max())
    values += [largest] * (len(GIVEN) - len(values))
    values = np.maximum.accumulate(values) * (1.0 + 1e-9)
    return rdpkit.CustomRdp(orders=GIVEN, values=tuple(values), adjacency=ADD)


@pytest.mark.thorough
@pytest.mark.parametrize("shape", SHAPES)
@settings(max_examples=25)
@given(CHANCES, CHANCES, log_uniform(1.0, 300.0))
def test_exact_laws_of_selections_stay_below(shape, one, two, mean):
    p, q = (np.array(found) / np.sum(found) for found in (one, two))
    event = rdpkit.RepeatAndSelect(event=curve_of(p, q), mean=mean, shape=shape)
    bounds = UpperBounds().rdp(event, ORDERS, ADD)
    a, b = selected(p, mean, shape), selected(q, mean, shape)
    if a.shape != b.shape:
        return
    for order, bound in zip(ORDERS.tolist(), bounds.tolist(), strict=True):
        for x, y in ((a, b), (b, a)):
            assert divergence(x, y, order) <= bound * (1.0 + 1e-9) + 1e-12


def test_the_bound_is_nearly_attained_at_small_orders():
    """Near order 1 the bound is the mean number of runs times the divergence of one run."""
    p, q = np.array([1.0 - 1e-6, 1e-6]), np.array([1.0 - 1e-6 * math.e, 1e-6 * math.e])
    event = rdpkit.RepeatAndSelect(event=curve_of(p, q), mean=10.0, shape=math.inf)
    bound = float(UpperBounds().rdp(event, np.array([1.01]), ADD)[0])
    found = divergence(selected(q, 10.0, math.inf), selected(p, 10.0, math.inf), 1.01)
    assert 0.97 * bound < found <= bound


@pytest.mark.parametrize("shape", SHAPES)
@settings(max_examples=4)
@given(log_uniform(0.3, 100.0), log_uniform(1.0, 1e9), log_uniform(1e-2, 1e4))
def test_never_above_what_the_paper_says(shape, noise, mean, gap):
    """Theorems 2 and 6 with the best free order of a grid, without the sharper form."""
    order, rho = 1.0 + gap, 0.5 / noise**2
    event = rdpkit.RepeatAndSelect(event=unit.gaussian(noise), mean=mean, shape=shape)
    free = 1.0 + np.geomspace(1e-4, 1e10, 281)
    if math.isinf(shape):
        e = math.log1p(1.0 / (order - 1.0))
        log_delta = (free - 1.0) * (rho * free - e + np.log1p(-1.0 / free)) - np.log(free)
        constant = mean * math.exp(min(log_delta.min(), 0.0))
    else:
        x = log_inverse_parameter(mean, shape)
        cost = (1.0 - 1.0 / free) * rho * free + x / free
        constant = (1.0 + shape) * cost.min()
    paper = rho * order + constant + math.log(mean) / (order - 1.0)
    found = float(UpperBounds().rdp(event, np.array([order]), ADD)[0])
    assert found <= paper * (1.0 + 1e-9)
    ball = UpperBounds().ball(event, order, ADD)
    assert ball is not None
    assert float_below(ball) * (1.0 - 1e-9) <= found <= float_above(ball) * (1.0 + 1e-9)


@pytest.mark.parametrize("shape", SHAPES[:-1])
def test_one_run_is_one_run(shape):
    run = unit.gaussian(1.0)
    event = rdpkit.RepeatAndSelect(event=run, mean=1.0, shape=shape)
    found = UpperBounds().rdp(event, ORDERS, ADD)
    assert found == pytest.approx(0.5 * ORDERS, rel=1e-12)


@pytest.mark.parametrize("shape", SHAPES[:-1])
@given(log_uniform(1.0, 1e12))
@settings(max_examples=40)
def test_the_parameter_is_safe_and_close(shape, mean):
    x = log_inverse_parameter(mean, shape)
    with ctx.workprec(256):
        assert float_below(mean_number(x, shape)) >= mean or x == 0.0
        # A little less would give a mean that is too small: a relative 1e-9 of the parameter.
        if mean > 1.0 + 1e-6:
            assert float_above(mean_number(x * (1.0 - 1e-9), shape)) < mean


def test_the_mean_is_that_of_the_definition():
    """Sums of the definition's weights at g = 0.2."""
    g, k = 0.2, np.arange(1, 400)
    for shape in (0.5, 1.0, 3.0):
        weights = np.array(
            [math.exp(math.lgamma(i + shape) - math.lgamma(i + 1)) * (1 - g) ** i for i in k]
        )
        mean = float((k * weights).sum() / weights.sum())
        assert float(mean_number(-math.log(g), shape)) == pytest.approx(mean, rel=1e-10)
    weights = (1 - g) ** k / k
    mean = float((k * weights).sum() / weights.sum())
    assert float(mean_number(-math.log(g), 0.0)) == pytest.approx(mean, rel=1e-10)


@pytest.mark.parametrize("mean", [1e9, 1e30])
@pytest.mark.parametrize("shape", SHAPES)
def test_far_past_the_range_of_use(mean, shape):
    run = unit.gaussian(1e4)
    event = rdpkit.RepeatAndSelect(event=run, mean=mean, shape=shape)
    found = rdpkit.epsilon(event * 10**6, delta=1e-100, adjacency="replace_one")
    assert found.epsilon > 0.0
    assert found.enclosure is not None or math.isinf(found.epsilon)


def test_nested_selections_and_compositions_name_their_theorems():
    run = unit.gaussian(20.0)
    inner = rdpkit.RepeatAndSelect(event=run * 3, mean=5.0, shape=1.0)
    outer = rdpkit.RepeatAndSelect(event=inner, mean=5.0, shape=0.0)
    found = rdpkit.epsilon(outer, delta=1e-6, adjacency="add_or_remove_one")
    assert found.bound == "papernot2022 + gaussian"
    assert found.enclosure is not None
    assert len(found.assumptions) == 2


def test_a_ball_needs_the_ball_of_the_run(monkeypatch):
    run = rdpkit.CustomRdp(orders=[2.0], values=[0.1], adjacency="replace_one")
    event = rdpkit.RepeatAndSelect(event=run, mean=2.0, shape=1.0)
    relation = rdpkit.Adjacency.REPLACE_ONE
    assert isinstance(UpperBounds().ball(event, 1.5, relation), arb)
    # Nothing is known under the other relation, nor above the curve's last order.
    assert UpperBounds().rdp(event, np.array([1.5]), ADD)[0] == math.inf
    assert UpperBounds().rdp(event, np.array([2.5]), relation)[0] == math.inf


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"mean": 0.5}, "Expected mean to be at least 1 unless shape is inf, got 0.5"),
        ({"mean": 0.0}, "Expected mean to be a finite number > 0"),
        ({"shape": -1.0}, "Expected shape to be a number > -1, or inf, got -1.0"),
        ({"shape": math.nan}, "Expected shape to be a number > -1, or inf"),
        ({"shape": "1"}, "Expected shape to be a number > -1, or inf"),
        ({"event": 1}, "Expected event to be Event"),
    ],
)
def test_bad_parameters(change, message):
    good = {"event": unit.gaussian(1.0), "mean": 2.0, "shape": 1.0}
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        rdpkit.RepeatAndSelect(**{**good, **change})


@pytest.mark.thorough
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("probability", [0.0, 1e-3, 1.0])
def test_runs_of_many_steps(shape, probability):
    """Divergences that are steep, and that vanish, at the orders of the search."""
    step = unit.poisson(1.0, probability)
    event = rdpkit.RepeatAndSelect(event=step * 1000, mean=10.0, shape=shape)
    found = rdpkit.epsilon(event, delta=1e-5, adjacency="add_or_remove_one")
    one = rdpkit.epsilon(event.event, delta=1e-5, adjacency="add_or_remove_one", bound="best-rdp")
    assert one.epsilon <= found.epsilon < math.inf
    assert found.enclosure is not None


@pytest.mark.parametrize(
    "run",
    [
        unit.gaussian(3.0),
        unit.gaussian(0.4),
        unit.laplace(2.0),
        rdpkit.EpsilonDelta(epsilon=0.7, delta=0.0, adjacency="add_or_remove_one"),
    ],
)
def test_no_event_is_likelier_on_the_neighbour_than_is_said(run):
    event = rdpkit.RepeatAndSelect(event=run, mean=20.0, shape=1.0)
    bounds = UpperBounds()
    inner = InnerDivergences(
        rdp=lambda orders: bounds.rdp(run, orders, ADD),
        ball=lambda order: bounds.ball(run, order, ADD),
    )
    v, most, _ = papernot2022._chances(event, inner)
    assert papernot2022._certified(event, inner)
    assert v[0] == 0.0
    assert v[-1] == most[-1] == 1.0
    if isinstance(run, rdpkit.Gaussian):
        exact = stats.norm.cdf(stats.norm.ppf(v) + 1.0 / run.noise_std)
    elif isinstance(run, rdpkit.Laplace):
        exact = stats.laplace.cdf(stats.laplace.ppf(v) + 1.0 / run.noise_scale)
    else:
        exact = np.minimum(math.exp(0.7) * v, 1.0 - math.exp(-0.7) * (1.0 - v))
    assert np.all(exact[1:] <= most[1:])
    # A chance that is a little less is not shown to be impossible.
    less = 0.5 * (v + exact)[400]
    orders = papernot2022._grid(inner)[0][papernot2022._USED].tolist()
    assert not any(
        papernot2022._impossible(arb(float(less)), arb(float(v[400])), order, inner)
        for order in orders
    )


@pytest.mark.thorough
def test_pure_runs_cost_what_is_attained_nearly():
    run = rdpkit.EpsilonDelta(epsilon=0.3, delta=0.0, adjacency="replace_one")
    for event in (
        rdpkit.RepeatAndSelect(event=run, mean=5.0, shape=1.0),
        rdpkit.RepeatAndSelect(event=run, mean=20.0, shape=0.0),
        rdpkit.FirstAboveThreshold(event=run, stopping_probability=0.2),
    ):
        ask = {"delta": 1e-5, "adjacency": "replace_one"}
        above = rdpkit.epsilon(event, **ask).epsilon
        below = rdpkit.lower_bound(event, **ask)[0].epsilon
        assert below <= above <= 1.06 * below
