"""Tails of binomial distributions against sums of fractions."""

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdpkit.numerics.binomial import binomial_tail


@settings(max_examples=60)
@given(st.integers(1, 60), st.floats(0, 1), st.integers(-1, 61))
def test_the_enclosure_contains_the_sum(count, probability, least):
    p = Fraction(probability)
    exact = sum(
        math.comb(count, k) * p**k * (1 - p) ** (count - k) for k in range(max(least, 0), count + 1)
    )
    low, high = binomial_tail(count, probability, least)
    assert low <= exact <= high
    assert float(high) <= float(exact) * (1 + 1e-12) + 1e-300 or count == least


@pytest.mark.parametrize("count", [10**6, 10**9, 10**12])
def test_large_numbers_stay_sharp(count):
    low, high = binomial_tail(count, 100.0 / count, 200)
    # 100 of very many: a Poisson distribution of mean 100, for which the tail is 3.7e-19.
    assert 0.0 < low <= high <= low * (1 + 1e-9)
    assert 1e-20 < high < 1e-18
