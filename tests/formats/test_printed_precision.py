"""Agreement of a computed number with a printed one, at the printed precision."""

import math
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdpkit.formats.printed_precision import agrees, agrees_rounded


@pytest.mark.parametrize(
    ("computed", "printed", "expected"),
    [
        (1.09997, "1.10", True),  # nearest, and up
        (1.0947, "1.10", True),  # up only
        (1.0953, "1.09", True),  # down only
        (1.0953, "1.08", False),
        (1.0953, "1.11", False),
        (1.0953, "1.1", True),
        (1.1000000001, "1.10", True),
        (1.1000000001, "1.1000", True),
        (1.1000000001, "1.0999", False),
        (11.597, "11.60", True),
        (0.98, "1", True),
        (2.0000001, "1", False),
        (3535.1659, "3535.17", True),
        (0.125, "0.13", True),
        (0.125, "0.12", True),
        (math.inf, "inf", True),
        (math.inf, "1e300", False),
        (1e308, "inf", False),
        (0.0, "0", True),
        (0.0, "0.0", True),
        (0.0, "1", False),
    ],
)
def test_a_printed_number_is_the_computed_one_rounded_either_way(computed, printed, expected):
    assert agrees(computed, Decimal(printed)) is expected


@given(st.floats(0, 1e15), st.integers(0, 12))
def test_agreement_is_being_less_than_one_unit_of_the_last_digit_away(computed, digits):
    exact = Fraction(computed) * 10**digits
    for steps in range(math.floor(exact) - 1, math.floor(exact) + 3):
        printed = Decimal(steps).scaleb(-digits)
        # Only nothing agrees with a printed 0.
        expected = abs(steps - exact) < 1 and (steps != 0 or exact == 0)
        assert agrees(computed, printed) is expected
        assert agrees_rounded(computed, printed) is (0 <= exact - steps < 1)


@pytest.mark.parametrize("printed", ["1e5", "1e1"])
def test_an_exponent_does_not_make_a_number_agree_with_anything_below_it(printed):
    assert not agrees(0.794, Decimal(printed))


def test_no_privacy_loss_at_all_is_not_a_rounded_privacy_loss():
    assert not agrees(0.794, Decimal(0))
