"""Special functions against scipy's."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import special as oracle

from rdpkit.numerics import special

WIDE = np.concatenate([-np.geomspace(1e-9, 1e9, 400), [0.0], np.geomspace(1e-9, 1e9, 400)])


@pytest.mark.parametrize("name", ["expit", "log_expit", "log_ndtr"])
def test_functions_of_one_number(name):
    found, expected = getattr(special, name)(WIDE), getattr(oracle, name)(WIDE)
    assert_allclose(found, expected, rtol=1e-12, atol=1e-307)


def test_mills_ratio():
    x = WIDE[WIDE > -30.0]
    expected = math.sqrt(0.5 * math.pi) * oracle.erfcx(x * math.sqrt(0.5))
    assert_allclose(special.mills_ratio(x), expected, rtol=1e-12)
    assert special.mills_ratio(np.array([-1e3])) == math.inf


def test_log_factorials():
    for count in (1, 2, 3000):
        expected = oracle.gammaln(np.arange(count) + 1.0)
        assert_allclose(special.log_factorials(count), expected, rtol=1e-14)


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_logsumexp(axis):
    values = np.random.default_rng(1).normal(0.0, 300.0, (5, 7))
    values[2] = -math.inf
    values[3, 1] = math.inf
    found = special.logsumexp(values, axis=axis)
    assert_allclose(found, oracle.logsumexp(values, axis=axis), rtol=1e-13)
