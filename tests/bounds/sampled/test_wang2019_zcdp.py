"""Samples of fixed size of a zCDP mechanism: Theorem 9, and nothing where nothing is known."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rdpkit
from tests.bounds.strategies import log_uniform
from tests.events import unit

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
