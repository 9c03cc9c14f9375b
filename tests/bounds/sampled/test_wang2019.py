"""Theorems 9 and 27 in balls, and Theorem 9 for samples of fixed size of a zCDP mechanism."""

import math

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st

import rdpkit
from rdpkit.bounds.sampled import wang2019
from rdpkit.bounds.sampled.wang2019 import rdp_ball
from tests.bounds.strategies import log_uniform
from tests.events import unit
from tests.oracles.table import load

ENTRIES = [entry for entry in load("fixed_size") if "order" in entry]
THEOREMS = ("theorem9", "theorem27", "minimum")


@pytest.mark.parametrize("terms", THEOREMS)
def test_the_ball_agrees_with_the_oracle(terms):
    # tests/oracles/fixed_size.py, 30 digits; its gamma is the float nearest to l/n, ours is l/n:
    # the difference is at most 2^-53 relative times the order.
    for entry in ENTRIES:
        ball = rdp_ball(
            entry["order"], entry["z"], entry["sample"], entry["population"], terms=terms
        )
        with ctx.workprec(200):
            relative = (ball / arb(entry[terms]) - 1).abs_upper()
        assert relative < 1.2e-16 * max(2.0, entry["order"]) + 1e-17, (entry, terms)


def test_the_fraction_is_a_ratio_not_a_float():
    third = rdp_ball(2.0, 5.0, 1, 3, terms="theorem9", bits=200)
    with ctx.workprec(256):
        base = (arb(1) / 25).expm1()
        exact = (arb(1) / 9 * 4 * base).log1p()
    assert third.overlaps(exact)
    assert third.rel_accuracy_bits() >= 200


def test_the_whole_population_is_allowed():
    ball = rdp_ball(4.0, 2.0, 7, 7, terms="minimum")
    value = wang2019.rdp(np.array([4.0]), 2.0, 7, 7, terms="minimum")[0]
    assert float(ball.mid()) == pytest.approx(value, rel=1e-13)


REPLACE = "replace_one"


def sampled(rho, size=50, population=1000, **more):
    return rdpkit.FixedSizeSampled(
        event=rdpkit.ZeroConcentrated(rho=rho, adjacency=REPLACE, **more),
        sample_size=size,
        population_size=population,
    )


@pytest.mark.thorough
@settings(max_examples=10)
@given(log_uniform(0.01, 3.0), st.integers(1, 400), log_uniform(1e-9, 1e-3))
def test_it_is_the_theorem_for_any_base_mechanism(rho, size, delta):
    z = 1.0 / math.sqrt(2.0 * rho)
    # A swap moves a sum of records in a ball of diameter 1 by 1.
    gaussian = unit.fixed_size(z, size, 1000, record_diameter=1.0)
    ours = rdpkit.epsilon(sampled(rho, size), delta=delta, adjacency=REPLACE)
    theirs = rdpkit.epsilon(gaussian, delta=delta, adjacency=REPLACE, bound="wang2019-thm9")
    assert ours.bound == "wang2019-zcdp"
    assert ours.epsilon == pytest.approx(theirs.epsilon, rel=1e-9)


def test_a_gaussian_in_the_sample_is_a_sampled_gaussian():
    gaussian = unit.gaussian(2.0)
    event = rdpkit.FixedSizeSampled(event=gaussian, sample_size=50, population_size=1000)
    assert type(event.expand()) is rdpkit.FixedSizeSampledGaussian
    whole = rdpkit.FixedSizeSampled(event=gaussian, sample_size=10, population_size=10)
    assert whole.expand() == gaussian


@pytest.mark.parametrize("event", [sampled(0.5, xi=0.1)], ids=["xi"])
def test_no_amplification_is_claimed_where_none_is_known(event):
    whole = rdpkit.epsilon(event.event, delta=1e-5, adjacency=REPLACE)
    assert rdpkit.epsilon(event, delta=1e-5, adjacency=REPLACE).epsilon == whole.epsilon
    assert math.isinf(rdpkit.epsilon(event, delta=1e-5, adjacency="add_or_remove_one").epsilon)
