"""rho of zCDP: at every order, against closed forms and against divergences at random orders."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rdpkit
from rdpkit.analysis import upper_rdp
from tests.events import unit
from tests.events.unit import training

REPLACE = rdpkit.Adjacency.REPLACE_ONE
ADD = rdpkit.Adjacency.ADD_OR_REMOVE_ONE


def pure(epsilon: float) -> rdpkit.Event:
    return rdpkit.CustomProfile(epsilons=[epsilon], deltas=[0.0], adjacency=REPLACE)


@pytest.mark.parametrize("z", [1e-3, 1.0, 1e6])
def test_gaussian(z):
    event = unit.gaussian(z)
    found = rdpkit.zcdp(event, adjacency=ADD)
    assert found.lower <= 0.5 / z**2 <= found.rho
    assert found.rho == pytest.approx(0.5 / z**2, rel=1e-13)
    assert float(rdpkit.zcdp(event, adjacency=REPLACE)) == pytest.approx(2 / z**2, rel=1e-13)


def test_sampling_is_worth_nothing_at_large_orders():
    found = rdpkit.zcdp(training(1e-3, 2.0, 100), adjacency=ADD)
    assert found.lower == pytest.approx(12.5, rel=1e-12)
    assert found.rho == pytest.approx(12.5, rel=1e-12)
    other = rdpkit.zcdp(training(1e-3, 2.0, 100), adjacency=REPLACE)
    assert (other.lower, other.rho) == (pytest.approx(12.5), pytest.approx(50.0))


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 3.0])
def test_pure_differential_privacy(epsilon):
    """The divergence of randomised response over the order is largest at order 1."""
    found = rdpkit.zcdp(pure(epsilon), adjacency=REPLACE)
    exact = epsilon * math.tanh(epsilon / 2)
    assert exact <= found.rho <= exact * 1.0005
    assert found.rho <= epsilon**2 / 2 * (1 + 1e-15)


@pytest.mark.thorough
def test_stated_zcdp_and_sums():
    stated = rdpkit.ZeroConcentrated(rho=0.1, xi=0.05, adjacency=REPLACE)
    assert rdpkit.zcdp(stated, adjacency=REPLACE).rho == pytest.approx(0.15)
    both = rdpkit.Composed(
        events=[
            rdpkit.ZeroConcentrated(rho=0.1, adjacency=REPLACE),
            unit.gaussian(2.0),
        ]
    )
    assert rdpkit.zcdp(both, adjacency=REPLACE).rho == pytest.approx(0.6)


@pytest.mark.parametrize(
    "event",
    [
        rdpkit.CustomProfile(epsilons=[1.0], deltas=[1e-9], adjacency=REPLACE),
        rdpkit.CustomRdp(orders=[2.0, 1e6], values=[0.1, 5e4], adjacency=REPLACE),
        rdpkit.Composed(
            events=[
                unit.gaussian(1.0),
                rdpkit.CustomProfile(epsilons=[1.0], deltas=[1e-9], adjacency=REPLACE),
            ]
        ),
    ],
)
def test_what_is_unknown_at_large_orders_has_no_rho(event):
    found = rdpkit.zcdp(event, adjacency=REPLACE)
    assert found.rho == math.inf
    assert "large orders" in found.notes[0]
    assert found.as_dict()["rho"] == "inf"


@pytest.mark.thorough
@settings(max_examples=30)
@given(
    epsilon=st.floats(0.01, 5.0),
    count=st.integers(1, 50),
    z=st.floats(0.5, 50.0),
    log_order=st.floats(-6.0, 8.0),
)
def test_every_order_is_below(epsilon, count, z, log_order):
    order = 1.0 + math.exp(log_order)
    many = pure(epsilon) * count
    for event in (many, rdpkit.Composed(events=[many, unit.gaussian(z)])):
        rho = rdpkit.zcdp(event, adjacency=REPLACE).rho
        assert upper_rdp(event, order=order, adjacency=REPLACE)[0] <= rho * order * (1 + 1e-9)


def test_a_lower_bound_from_a_pair():
    """zCDP with a smaller rho would contradict what a pair attains."""
    step = unit.fixed_size(1.0, 10, 100)
    found = rdpkit.zcdp(step * 10, adjacency=REPLACE)
    assert 0.0 < found.lower <= found.rho


def test_a_contradiction_is_not_returned():
    with pytest.raises(ArithmeticError, match="one of the two is false"):
        rdpkit.ConcentratedDP(rho=1.0, lower=1.1, adjacency=ADD)
