"""Poisson sampling under replace-one: the theorem in the plane."""

import math

import numpy as np
import pytest
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import rdpkit
from rdpkit.accountants.losses.kinds import kind_of
from rdpkit.events.losses import Step
from tests.bounds.strategies import log_uniform
from tests.events import unit

REPLACE = "replace_one"


def plane_divergence(x, y, q, epsilon):
    """Hockey stick of (1-q) N(0) + q N(x) against (1-q) N(0) + q N(y) in the plane, unit noise.

    By brute force, which knows nothing of the proof: a sum over a grid, good to about 5e-4 because
    the integrand has a kink.
    """
    u = np.arange(-9.0, 9.0, 0.04)
    xs, ys = np.meshgrid(u, u, indexing="ij")

    def density(mean):
        return np.exp(-0.5 * ((xs - mean[0]) ** 2 + (ys - mean[1]) ** 2)) / (2.0 * math.pi)

    common = (1.0 - q) * density((0.0, 0.0))
    gap = common + q * density(x) - math.exp(epsilon) * (common + q * density(y))
    return float(np.maximum(gap, 0.0).sum() * 0.04**2)


@settings(max_examples=15)
@given(
    st.tuples(st.floats(0.0, 1.0), st.floats(0.0, 1.0), st.floats(0.0, math.pi)),
    log_uniform(0.4, 2.0),
    st.floats(0.02, 0.98),
    st.floats(0.0, 3.0),
    st.floats(0.3, 2.0),
)
def test_no_pair_in_the_plane_is_beyond_it(triangle, norm, q, epsilon, spread):
    """|x|, |x'| <= norm, |x - x'| <= spread norm; noise 1."""
    size, other, angle = triangle
    x = np.array([size * norm, 0.0])
    y = other * norm * np.array([math.cos(angle), math.sin(angle)])
    distance = min(spread, 2.0) * norm
    apart = float(np.linalg.norm(x - y))
    if apart > distance:
        y = x + (y - x) * (distance / apart)
    step = Step(
        kind="replaced",
        noise_multiplier=1.0 / norm,
        sampling_probability=q,
        other=max(1.0 - distance / norm, -1.0),
    )
    bound = float(kind_of(step).curve(step, True)(arb(epsilon)).upper())
    assert plane_divergence(x, y, q, epsilon) <= bound * (1.0 + 1e-3) + 1e-6


@pytest.mark.parametrize("spread", [0.5, 1.0, 1.7, 2.0])
def test_the_collinear_pair_attains_it(spread):
    x, y = np.array([1.2, 0.0]), np.array([1.2 * (1.0 - spread), 0.0])
    step = Step(
        kind="replaced", noise_multiplier=1.0 / 1.2, sampling_probability=0.3, other=1.0 - spread
    )
    for epsilon in (0.0, 0.2, 0.7):
        bound = float(kind_of(step).curve(step, True)(arb(epsilon)).mid())
        assert_allclose(plane_divergence(x, y, 0.3, epsilon), bound, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize(("z", "most", "least"), [(1.0, 11.97, 11.94), (2.0, 4.915, 4.89)])
def test_numbers_of_training_under_replace_one(z, most, least):
    """17.17 and 5.70 were printed here: looser by 44 and 16 per cent."""
    event = unit.poisson(z, 0.01) * 10_000
    above = rdpkit.epsilon(event, delta=1e-6, adjacency=REPLACE)
    below = rdpkit.epsilon(event, delta=1e-6, adjacency=REPLACE, bound="pair-lower")
    assert least <= below.epsilon <= above.epsilon <= most
    assert above.enclosure.rigorous
    assert below.enclosure.rigorous
