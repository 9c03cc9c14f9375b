"""Enclosures in integers against mpmath with more digits."""

from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdpkit.kernel import intervals
from rdpkit.kernel.intervals import Enclosed, normal_tail, of
from rdpkit.kernel.pairs import TAILS

BITS = st.sampled_from([40, 64, 110, 180, 300, 900])
NUMBERS = st.fractions(min_value=-30, max_value=30, max_denominator=10**12)
# How many units of the last place an enclosure of an exact number may be wide.
WIDE = 6


def encloses(found: Enclosed, exact: mpmath.mpf) -> bool:
    unit = mpmath.mpf(2) ** found.bits
    return found.lo / unit <= exact <= found.hi / unit


def setup_function() -> None:
    intervals.LEFT[0] = 10**9


def laplace_tail(x: Enclosed) -> Enclosed:
    found: Enclosed = TAILS["laplace"]((Fraction(0),), x)
    return found


@settings(max_examples=25, deadline=None)
@given(value=NUMBERS, bits=BITS)
def test_exponentials_tails_logarithms_and_roots(value, bits):
    intervals.LEFT[0] = 10**9
    with mpmath.workprec(2200):
        low = (value.numerator << bits) // value.denominator
        place = Enclosed(low, low, bits)
        x = mpmath.mpf(place.lo) / mpmath.mpf(2) ** bits
        assert encloses(place.exp(), mpmath.exp(x))
        found = normal_tail(place)
        assert encloses(found, mpmath.erfc(x / mpmath.sqrt(2)) / 2)
        assert found.hi - found.lo <= WIDE
        half = mpmath.exp(-abs(x)) / 2
        assert encloses(laplace_tail(place), half if x > 0 else 1 - half)
        if place.lo > 0:
            assert encloses(place.log(), mpmath.log(x))
            assert encloses(place.root(), mpmath.sqrt(x))


@pytest.mark.thorough
@settings(max_examples=60, deadline=None)
@given(value=NUMBERS, width=st.integers(0, 30), bits=BITS)
def test_functions_of_wide_enclosures_hold_those_of_both_ends(value, width, bits):
    intervals.LEFT[0] = 10**9
    low = (value.numerator << bits) // value.denominator
    whole = Enclosed(low, low + (1 << min(width, bits - 2)), bits)
    for function in (Enclosed.exp, normal_tail, laplace_tail):
        found = function(whole)
        for end in (whole.lo, whole.hi):
            exact = function(Enclosed(end, end, bits))
            assert found.lo <= exact.hi
            assert exact.lo <= found.hi


@settings(max_examples=40)
@given(a=NUMBERS, b=NUMBERS, bits=BITS)
def test_arithmetic_encloses_the_exact_result(a, b, bits):
    def holds(found: Enclosed, exact: Fraction) -> bool:
        unit = 1 << found.bits
        return Fraction(found.lo, unit) <= exact <= Fraction(found.hi, unit)

    x, y = of(a, bits), of(b, bits)
    assert holds(x + y, a + b)
    assert holds(x - y, a - b)
    assert holds(x * y, a * b)
    if y.lo > 0:
        assert holds(x / y, a / b)


def test_work_of_a_tail_is_counted_before_it_is_done():
    intervals.LEFT[0] = 10**6
    with pytest.raises(ValueError, match="more work"):
        normal_tail(Enclosed(52 << 20000, 52 << 20000, 20000))


def test_work_of_a_logarithm_is_counted_before_it_is_done():
    intervals.LEFT[0] = 10**6
    with pytest.raises(ValueError, match="more work"):
        Enclosed(3, 3, 200_001).log()
