"""Numbers for people: a format may drop digits, and then goes to the safe side."""

import math
from decimal import Decimal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rdpkit.formats.numbers import formatted, how_many, rounded_down, rounded_up

values = st.floats(0, 1e300, allow_subnormal=False)


@given(values, st.integers(0, 12), st.sampled_from("eEfFgG"), st.booleans())
@example(0.1, 1, "f", True)
@example(9.9996, 3, "f", True)
@example(9.9996, 4, "g", False)
@example(1e-300, 3, "f", True)
def test_digits_that_are_dropped_make_the_number_safer(value, digits, kind, up):
    text = formatted(value, f".{digits}{kind}", up=up)
    shown, exact = Decimal(text), Decimal(repr(value))
    # Beyond 15 digits a decimal is that of the nearest float, and near few digits it is these.
    slack = exact * Decimal("1e-14")
    assert shown >= exact - slack if up else shown <= exact + slack
    unit = Decimal(1).scaleb(-digits) if kind in "fF" else exact * Decimal(10) ** (1 - digits)
    assert abs(shown - exact) <= unit + slack


@given(st.floats(0, 1), st.integers(0, 8))
def test_per_cent(value, digits):
    text = formatted(value, f".{digits}%", up=True)
    assert text.endswith("%")
    assert Decimal(text[:-1]) >= Decimal(repr(value)) * 100 * (1 - Decimal("1e-14"))
    assert Decimal(text[:-1]) - Decimal(repr(value)) * 100 <= Decimal(1).scaleb(-digits)


def test_what_only_rounding_tells_from_few_digits_has_few():
    assert formatted(0.10000000000000019, ".5g", up=True) == rounded_up(0.1)[:3] == "0.1"
    assert rounded_down(1.9999999999999964) == "2.000"
    # What is more than rounding is rounded to the safe side.
    assert formatted(0.1000000000001, ".5g", up=True) == "0.10001"
    assert formatted(0.10000000000000019, ".17g", up=True) == "0.10000000000000019"


def test_width_sign_and_fill_are_those_of_floats():
    assert formatted(2.81624, "*>+10.3f", up=True) == "****+2.817"
    assert formatted(12345.678, ",.1f", up=False) == "12,345.6"
    assert formatted(0.0, ".2f", up=True) == "0.00"
    assert formatted(math.inf, "8.2f", up=True) == "     inf"


@pytest.mark.parametrize("specification", ["", ">20", "s", "d", ".3", "x<5", "f.3"])
def test_other_specifications_are_not_of_numbers(specification):
    assert formatted(1.0, specification, up=True) is None


@pytest.mark.parametrize(
    ("count", "words"), [(0, "0 claims"), (1, "1 claim"), (2, "2 claims"), (1000, "1000 claims")]
)
def test_one_thing_is_one_thing(count, words):
    assert how_many(count, "claim") == words
    assert how_many(1, "guess", "guesses") == "1 guess"
    assert how_many(3, "guess", "guesses") == "3 guesses"
