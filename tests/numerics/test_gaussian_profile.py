"""The Gaussian's privacy profile in floats, against mpmath at 60 digits."""

import math

import numpy as np
import pytest
from mpmath import mp, mpf
from numpy.testing import assert_allclose

from rdpkit.numerics.gaussian_profile import log_delta
from tests.oracles import profile_sampling

NOISE = [0.05, 0.3, 1.0, 5.0, 100.0]


def exact_log_delta(eps, z):
    """At 60 digits; far in the tail erfc alone keeps them."""
    with mp.workdps(60):
        return float(mp.log(profile_sampling.delta(mpf(eps), mpf(z))))


@pytest.mark.parametrize("z", NOISE)
def test_every_digit_from_the_peak_to_the_tail(z):
    """The logarithm is good to 1e-12 of its size; where 1/z is small M(t) - M(t+s) loses 1/s."""
    epsilon = np.concatenate([[0.0], np.geomspace(1e-3, 30.0, 40)]) / z
    found = log_delta(epsilon, z)
    exact = [exact_log_delta(e, z) for e in epsilon]
    assert_allclose(found, exact, rtol=1e-12, atol=1e-15 * max(1.0, 100.0 * z))


@pytest.mark.parametrize("z", NOISE)
def test_it_falls_and_is_the_total_variation_at_zero(z):
    found = log_delta(np.linspace(0.0, 40.0 / z, 400), z)
    assert (np.diff(found) < 0.0).all()
    assert math.exp(found[0]) == pytest.approx(math.erf(0.5 / z / math.sqrt(2.0)), rel=1e-11)
