"""Certified numbers: every enclosure contains the number at 60 digits, and its upper end is it."""

import pytest
from flint import arb, ctx
from mpmath import mp, mpf
from numpy.testing import assert_allclose

import rdpkit
from rdpkit.accountants.event_tree import UpperBounds
from rdpkit.adjacency import Adjacency
from rdpkit.numerics.balls import float_above, float_below, over_rounded_inputs
from tests.events import unit

ADD = Adjacency.ADD_OR_REMOVE_ONE
REPLACE = Adjacency.REPLACE_ONE

GAUSSIAN = unit.gaussian(2.0)
POISSON = unit.poisson(1.0, 0.01) * 100
FIXED = unit.fixed_size(4.0, 20, 1000, record_norm=0.5) * 50
PARTS = rdpkit.Parallel(events=(POISSON, GAUSSIAN))
EVENTS = {
    "gaussian": GAUSSIAN,
    "poisson": POISSON,
    "fixed": FIXED,
    "parts": PARTS,
    "composed": rdpkit.Composed(events=(FIXED, GAUSSIAN)),
}


@pytest.mark.thorough
@pytest.mark.parametrize("adjacency", [ADD, REPLACE])
@pytest.mark.parametrize("event", EVENTS.values(), ids=EVENTS)
def test_the_upper_end_is_the_number_and_the_floats_are_inside(event, adjacency):
    for options in ({"delta": 1e-5}, {"epsilon": 1.0}):
        ask = rdpkit.epsilon if "delta" in options else rdpkit.delta
        certified = ask(event, adjacency=adjacency, bound="best-rdp", **options)
        floats = ask(event, adjacency=adjacency, bound="best-rdp", certify=False, **options)
        assert floats.computed is None
        assert certified.computed.rigorous
        number, near = (
            (certified.epsilon, floats.epsilon)
            if "delta" in options
            else (certified.delta, floats.delta)
        )
        assert certified.computed.lower <= number == certified.computed.upper
        # The floats' own bracket is 1e-9 wide, and an epsilon's error counts (order - 1) times.
        assert_allclose(near, number, rtol=1e-5)
        assert certified.computed.upper <= certified.computed.lower * (1.0 + 1e-4)


@pytest.mark.parametrize("conversion", ["mironov2017", "balle2020"])
@pytest.mark.parametrize(("noise", "delta"), [(0.5, 1e-5), (2.0, 1e-9), (30.0, 1e-2)])
def test_gaussian_epsilon_at_sixty_digits(noise, delta, conversion):
    event = unit.gaussian(noise)
    found = rdpkit.epsilon(
        event, delta=delta, adjacency=ADD, bound="gaussian", conversion=conversion
    )
    with mp.workdps(60):
        a, z = mpf(found.order), mpf(noise)
        exact = a / (2 * z * z) - mp.log(mpf(delta)) / (a - 1)
        if conversion == "balle2020":
            exact += mp.log(1 - 1 / a) - mp.log(a) / (a - 1)
        assert max(mpf(found.computed.lower), 0) <= max(exact, 0) <= mpf(found.computed.upper)
    assert found.computed.upper <= found.computed.lower * (1.0 + 1e-12) + 1e-12


def test_a_finite_sum_of_fixed_size_sampling_at_sixty_digits():
    """Under add-or-remove-one at an integer order: the binomial sum with exact arguments."""
    event = FIXED.event
    for order in (2, 5, 16):
        ball = UpperBounds().ball(event, float(order), ADD)
        with mp.workdps(60):
            q, z = mpf(20) / 1000, mpf(4)
            total = mp.fsum(
                mp.binomial(order, k)
                * q**k
                * (1 - q) ** (order - k)
                * mp.exp(k * (k - 1) / (2 * z * z))
                for k in range(order + 1)
            )
            exact = mp.log(total) / (order - 1)
            assert mpf(float_below(ball)) <= exact <= mpf(float_above(ball))


def test_rounded_inputs_are_enclosed():
    """sample/population and noise/sensitivity are rounded: what they stand for is inside."""
    with ctx.workprec(128):
        ball = over_rounded_inputs(lambda z, q: arb(q) / arb(z), 0.1 * 3.0, 1.0 / 3.0)
        assert ball.contains(arb(1) / 3 / (arb(3) / 10))


@pytest.mark.thorough
def test_losses_are_certified():
    for bound in ("best", "pld-upper", "pair-lower"):
        found = rdpkit.epsilon(POISSON, delta=1e-5, adjacency=ADD, bound=bound)
        assert isinstance(found.computed, rdpkit.Enclosure)
        assert found.computed.rigorous
        assert found.as_dict()["rigorous"] is True
        assert found.computed.lower <= found.epsilon <= found.computed.upper
    upper = rdpkit.epsilon(POISSON, delta=1e-5, adjacency=ADD, bound="pld-upper")
    assert upper.epsilon == upper.computed.upper
    lower = rdpkit.epsilon(POISSON, delta=1e-5, adjacency=ADD, bound="pair-lower")
    assert lower.epsilon == lower.computed.lower
    certified = rdpkit.epsilon(POISSON, delta=1e-5, adjacency=ADD, bound="best-rdp")
    assert certified.as_dict()["rigorous"] is True
