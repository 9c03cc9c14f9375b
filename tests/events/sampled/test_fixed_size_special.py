"""A sample of fixed size in which a record becomes the special one: the pair by integration."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

import rdpkit
from tests.bounds.strategies import log_uniform

ZEROED = rdpkit.Adjacency.ZERO_OUT


def excess(q, z, first, second, epsilon):
    """H of (1-q) N(0) + q N(first) and (1-q) N(0) + q N(second), standard deviation z."""

    far = 12 * z
    x = np.linspace(min(0.0, first, second) - far, max(0.0, first, second) + far, 400_001)
    both = (1 - q) * norm.pdf(x, 0.0, z)
    p, other = (both + q * norm.pdf(x, mean, z) for mean in (first, second))
    return float(np.maximum(p - math.exp(epsilon) * other, 0.0).sum() * (x[1] - x[0]))


@pytest.mark.thorough
@settings(max_examples=5, deadline=None)
@given(
    log_uniform(0.3, 4.0), st.integers(1, 9), st.floats(1.05, 2.0), st.sampled_from([0.0, 0.2, 1.0])
)
def test_the_record_the_special_one_and_all_others_on_a_line(z, size, diameter, epsilon):
    event = rdpkit.FixedSizeSampledGaussian(
        noise_std=z,
        record_norm=1.0,
        record_diameter=diameter,
        sample_size=size,
        population_size=10,
        release="sum",
    )
    truth = excess(size / 10, z, diameter, diameter - 1.0, epsilon)
    back = excess(size / 10, z, diameter - 1.0, diameter, epsilon)
    above = rdpkit.delta(event, epsilon=epsilon, adjacency=ZEROED).delta
    below = rdpkit.lower_bound(event, epsilon=epsilon, adjacency=ZEROED)[0].delta
    # The sum does not know where the integrand has a kink.
    assert below <= max(truth, back) + 1e-6
    assert max(truth, back) <= above + 1e-6
    assert below >= 0.97 * max(truth, back) - 1e-6


@pytest.mark.thorough
@pytest.mark.parametrize("release", ["sum", "mean"])
def test_both_bounds_are_near_each_other(release):
    event = rdpkit.FixedSizeSampledGaussian(
        noise_std=1.0 if release == "sum" else 1.0 / 60,
        record_norm=1.0,
        sample_size=60,
        population_size=6000,
        release=release,
    )
    for count, apart in ((1, 1.001), (1000, 1.12)):
        ask = {"delta": 1e-5, "adjacency": ZEROED}
        above = rdpkit.epsilon(event * count, **ask).epsilon
        below = rdpkit.lower_bound(event * count, **ask)[0].epsilon
        assert below <= above <= apart * below
    assert math.isfinite(above)
