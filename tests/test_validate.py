"""The checks on arguments: what they accept, what they return, and what they say."""

import math
import re
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdpkit import _validate as v

NOT_NUMBERS = [True, np.bool_(True), "1", b"1", None, [1.0], {}, 1j, math.nan, Decimal("NaN")]
SCALARS = {
    v.positive: "to be a finite number > 0",
    v.non_negative: "to be a finite number >= 0",
    v.probability: "in [0, 1]",
    v.open_probability: "in (0, 1)",
    v.order: "to be a finite Renyi order > 1",
}
OUTSIDE = {
    v.positive: [0, -0.0, -1, math.inf, 10**400, Decimal("1e-400")],
    v.non_negative: [-1, -5e-324, math.inf, -math.inf, 10**400, -(10**400)],
    v.probability: [-5e-324, 1 + 1e-15, math.inf, 10**400],
    v.open_probability: [0, -0.0, 1, Fraction(1), math.inf],
    v.order: [1, 1.0, 0.5, -2, math.inf, 10**400],
}
INSIDE = {
    v.positive: [5e-324, 1, 1.7e308, Fraction(1, 3), Decimal("0.1"), np.float32(0.5), np.int8(3)],
    v.non_negative: [0, 0.0, 5e-324, 1.7e308, Fraction(1, 3)],
    v.probability: [0, 1, 0.5, Fraction(1, 3)],
    v.open_probability: [5e-324, 0.5, 1 - 1e-16, Decimal("1e-5")],
    v.order: [1 + 1e-15, 2, np.int64(7), 1.7e308],
}


@pytest.mark.parametrize("check", SCALARS)
def test_scalars(check):
    for value in [*NOT_NUMBERS, *OUTSIDE[check]]:
        message = f"^Expected size {SCALARS[check]}, got "
        with pytest.raises(ValueError, match=re.escape(message).replace(r"\^", "^")):
            check("size", value)
    for value in INSIDE[check]:
        found = check("size", value)
        assert type(found) is float
        assert found == float(value)


def test_infinity_where_it_is_asked_for():
    assert v.non_negative("rdp", math.inf, finite=False) == math.inf
    with pytest.raises(ValueError, match="Expected rdp to be a number >= 0, got -inf"):
        v.non_negative("rdp", -math.inf, finite=False)


@given(st.one_of(st.floats(), st.integers(), st.fractions(), st.decimals(allow_nan=False)))
def test_what_passes_as_a_probability_is_one(value):
    try:
        found = v.open_probability("delta", value)
    except ValueError:
        # Refused: outside of (0, 1), or so close to an end that its float is the end.
        assert not 1e-300 < value < 1 - 1e-15
    else:
        assert 0.0 < found < 1.0


@pytest.mark.parametrize("value", [*NOT_NUMBERS, 1.0, Fraction(1), Decimal(1), 0, -1])
def test_integers_are_integers(value):
    with pytest.raises(ValueError, match="Expected count to be an integer >= 1, got "):
        v.integer("count", value)


def test_integers_have_a_range_and_may_be_numpy_s():
    assert type(v.integer("count", np.int64(3))) is int
    assert v.integer("count", 10**15) == 10**15
    assert v.integer("count", 2, minimum=2, maximum=2) == 2
    with pytest.raises(ValueError, match=r"count to be an integer in \[1, 10\^15\], got 1000"):
        v.integer("count", 10**15 + 1)
    for value in (1, 4):
        message = rf"Expected count to be an integer in \[2, 3\], got {value}\."
        with pytest.raises(ValueError, match=message):
            v.integer("count", value, minimum=2, maximum=3)


@pytest.mark.parametrize("value", [5, None, "12", b"12", [], (), np.array([])])
def test_sequences_of_integers_are_not_empty(value):
    message = "Expected sizes to be a non-empty sequence of integers >= 1"
    with pytest.raises(ValueError, match=message):
        v.integers("sizes", value)


def test_sequences_of_integers_name_the_wrong_one():
    assert v.integers("sizes", np.array([1, 2])) == (1, 2)
    assert v.integers("sizes", (i for i in (1, 2))) == (1, 2)
    with pytest.raises(ValueError, match=r"Expected sizes\[1\] to be an integer >= 1, got 2\.0"):
        v.integers("sizes", [1, 2.0])


@pytest.mark.parametrize("value", ["c", "", None, 1, ["a"], {"a"}])
def test_choices(value):
    with pytest.raises(ValueError, match="Expected way to be one of 'a', 'b', got "):
        v.choice("way", value, ("a", "b"))
    assert v.choice("way", "b", ("a", "b")) == "b"


@pytest.mark.parametrize(
    "value",
    [
        1, 1.0, 0.5, -2, 0, math.nan, math.inf, "2", None, 2 + 1j, {}, {2.0}, True, [], [1],
        [2.0, 1.0], [2, math.nan], [2, math.inf], ["2"], [[2]], [2, [3]], [[2.0, 3.0]], [True],
        [2.0, None], [[2.0], [3.0, 4.0]], np.ones((2, 2)) * 2,
    ],
)  # fmt: skip
def test_orders(value):
    with pytest.raises(
        ValueError, match=r"Expected orders to be finite Renyi orders > 1, of shape"
    ):
        v.orders("orders", value)


def test_orders_are_an_array_of_floats():
    for value in (2, [2, Decimal("2.5")], np.array([2, 3]), (10**25, Fraction(5, 2))):
        found = v.orders("orders", value)
        assert found.dtype == np.float64
        assert found.ndim == 1


@pytest.mark.parametrize("value", [[1], [1, 2, 3], [1, -1e-300], [1, math.nan], "12", [[1, 2]]])
def test_divergences_match_the_orders(value):
    message = r"Expected rdp to be divergences >= 0, of shape \(2,\) as orders has, got "
    with pytest.raises(ValueError, match=message):
        v.divergences("rdp", value, like=np.array([2.0, 3.0]))


def test_infinite_divergences_say_nothing_and_are_accepted():
    assert v.divergences("rdp", [0, math.inf], like=np.array([2.0, 3.0])).tolist() == [0, math.inf]


def test_instances():
    assert v.one_of_a_kind("flag", True, bool) is True
    with pytest.raises(ValueError, match="Expected flag to be bool or int, got 'x'"):
        v.one_of_a_kind("flag", "x", (bool, int))


def test_a_long_value_is_cut():
    message = str(v.fail("x", "to be short", "y" * 10**5))
    assert message.startswith("Expected x to be short, got 'yyy")
    assert message.endswith("....")
    assert len(message) < 300


@pytest.mark.parametrize("value", [10**101, np.float64(1e101), Fraction(1, 10**101)])
def test_noise_beyond_floats_is_shown_as_it_was_given(value):
    shown = re.escape(repr(value))
    with pytest.raises(ValueError, match=rf"p \(noise over sensitivity\) in .*, got {shown}"):
        v.noise_multiplier("p", value)
