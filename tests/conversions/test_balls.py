"""Conversions in balls: the oracle's numbers inside, and the certificate against any point.

Reference values: tests/oracles/optimal_conversion.py (mp.dps = 50).
"""

import math

import pytest
from flint import arb, ctx
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from rdpkit.conversions import balls as conversion_balls
from rdpkit.conversions.balls import Interval
from tests.bounds.strategies import ORDERS, log_uniform
from tests.oracles.table import load

ENTRIES = load("optimal_conversion")
EPSILONS = [e for e in ENTRIES if list(e)[2] == "delta"]
DELTAS = [e for e in ENTRIES if list(e)[2] == "epsilon"]


def point(value):
    return Interval(lower=value, upper=value)


def name(entry):
    return "-".join(str(value)[:8] for value in list(entry.values())[:3])


@pytest.mark.parametrize("entry", EPSILONS, ids=name)
def test_optimal_epsilons_are_enclosed(entry):
    exact = float(entry["epsilon"])
    found = conversion_balls.epsilon("optimal", entry["order"], point(entry["rdp"]), entry["delta"])
    # The oracle's digits are exact; a negative epsilon is reported as 0.
    assert found.lower <= max(exact, 0.0) * (1.0 + 1e-15)
    assert found.upper >= max(exact, 0.0) * (1.0 - 1e-15)
    # Where the optimum is 0 or less no point is there to draw a line at: Balle's number is used.
    assert exact < 0.0 or found.upper <= exact * (1.0 + 1e-6) + 1e-9


# At a small epsilon the optimum is the corner p + q = 1, where both constraints bind.
CORNERS = {(2.0, 0.5, 0.0), (1.01, 0.3, 0.1), (64.0, 5.0, 2.0), (8.0, 1e-6, 0.0)}


def at_a_corner(entry):
    return (entry["order"], entry["rdp"], entry["epsilon"]) in CORNERS


@pytest.mark.parametrize("entry", DELTAS, ids=name)
def test_optimal_deltas_are_enclosed(entry):
    """No single constraint's line supports a corner: there Balle's delta is what is certified."""
    exact = float(entry["delta"])
    found, balle = (
        conversion_balls.delta(name, entry["order"], point(entry["rdp"]), entry["epsilon"])
        for name in ("optimal", "balle2020")
    )
    assert found.lower <= exact * (1.0 + 1e-15)
    assert found.upper >= exact * (1.0 - 1e-15)
    closely = balle.upper if at_a_corner(entry) else exact * (1.0 + 1e-4)
    assert found.upper <= min(closely, balle.upper)


@pytest.mark.parametrize("conversion", ["mironov2017", "balle2020"])
@settings(max_examples=30)
@given(ORDERS, log_uniform(1e-6, 20.0), log_uniform(1e-12, 0.5))
def test_closed_forms_are_enclosed(conversion, order, rdp, delta):
    found = conversion_balls.epsilon(conversion, order, point(rdp), delta)
    back = conversion_balls.delta(conversion, order, point(rdp), 1.0)
    with mp.workdps(60):
        a, r = mpf(order), mpf(rdp)
        exact = r - mp.log(mpf(delta)) / (a - 1)
        exponent = (a - 1) * (r - 1)
        if conversion == "balle2020":
            exact += mp.log(1 - 1 / a) - mp.log(a) / (a - 1)
            exponent += (a - 1) * mp.log(1 - 1 / a) - mp.log(a)
        assert mpf(found.lower) <= max(exact, 0) <= mpf(found.upper)
        assert mpf(back.lower) <= min(mp.exp(exponent), 1) <= mpf(back.upper)


@settings(max_examples=40)
@given(ORDERS, log_uniform(1e-4, 10.0), log_uniform(1e-10, 0.3))
def test_optimal_is_between_nothing_and_balle(order, rdp, delta):
    optimal = conversion_balls.epsilon("optimal", order, point(rdp), delta)
    balle = conversion_balls.epsilon("balle2020", order, point(rdp), delta)
    assert 0.0 <= optimal.lower <= optimal.upper <= balle.upper


@settings(max_examples=100)
@given(
    ORDERS,
    log_uniform(1e-4, 5.0),
    st.tuples(st.floats(1e-4, 0.999), log_uniform(1e-4, 5.0)),
    st.tuples(st.floats(1e-4, 1.0 - 1e-4), st.floats(1e-4, 1.0 - 1e-4)),
    st.booleans(),
)
def test_any_supporting_line_is_above_the_region(order, rdp, drawn, other, reflected):
    """Wherever the line is drawn, no pair that (order, rdp) allows lies above it."""
    p, q = drawn[0], drawn[0] * math.exp(-drawn[1])
    with ctx.workprec(200):
        a = arb(order)
        limit = ((a - 1) * arb(rdp)).exp()
        growth, delta = conversion_balls._supporting_line(
            a, limit, arb(p), arb(q), reflected=reflected
        )
        assume(growth > 0)
        x, y = arb(other[0]), arb(other[1])
        forward = conversion_balls._constraint(a, x, y)[0]
        backward = conversion_balls._constraint(a, y, x)[0]
        assume(forward <= limit and backward <= limit)
        assert x - growth * y <= delta


def test_ends_of_the_range():
    zero, infinite = point(0.0), point(math.inf)
    assert conversion_balls.epsilon("optimal", 2.0, zero, 1e-5) == point(0.0)
    assert conversion_balls.epsilon("optimal", 2.0, infinite, 1e-5).upper == math.inf
    assert conversion_balls.delta("optimal", 2.0, zero, 1.0) == point(0.0)
    assert conversion_balls.delta("optimal", 2.0, infinite, 1.0).upper == 1.0


def test_a_wider_divergence_gives_a_wider_epsilon():
    narrow = conversion_balls.epsilon("optimal", 8.0, point(0.5), 1e-5)
    wide = conversion_balls.epsilon("optimal", 8.0, Interval(lower=0.4, upper=0.6), 1e-5)
    assert wide.lower < narrow.lower <= narrow.upper < wide.upper
