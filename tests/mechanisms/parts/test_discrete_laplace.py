"""Discrete Laplace noise has the law that it states, and uses whole numbers only."""

import math

import numpy as np
import pytest

from rdpkit.mechanisms.parts.discrete_laplace import LARGEST_SCALE, discrete_laplace
from rdpkit.mechanisms.parts.noise import NoiseSource


def law(scale, reach):
    """Probabilities of -reach, ..., reach, by the formula."""
    p = math.exp(-1.0 / scale)
    return (1.0 - p) / (1.0 + p) * p ** np.abs(np.arange(-reach, reach + 1))


@pytest.mark.thorough
@pytest.mark.parametrize("scale", [1, 2, 7])
def test_the_law_is_that_of_the_formula(scale):
    """Seeded; with another seed one of the three fails in 3 of 10,000 cases."""
    from scipy.stats import chisquare

    count, reach = 6000, 4 * scale
    drawn = discrete_laplace(count, scale=scale, noise=NoiseSource.seeded(scale))
    expected = law(scale, reach) * count
    beyond = count - expected.sum()
    seen = np.array([np.sum(drawn == k) for k in range(-reach, reach + 1)])
    observed, wanted = [*seen, count - seen.sum()], [*expected, beyond]
    assert chisquare(observed, wanted).pvalue > 1e-4


def test_a_large_scale_is_drawn_as_well_and_a_larger_one_is_refused():
    drawn = discrete_laplace(50, scale=LARGEST_SCALE, noise=NoiseSource.seeded(0))
    # A single one is below 2^20 in absolute value in one of a million cases.
    assert np.abs(drawn).max() > 2**20
    with pytest.raises(ValueError, match="Expected scale"):
        discrete_laplace(1, scale=2 * LARGEST_SCALE, noise=NoiseSource.seeded(0))
    assert discrete_laplace(0, scale=1, noise=NoiseSource.seeded(0)).shape == (0,)
