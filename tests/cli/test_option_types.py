"""Words of the command line that stand for names, numbers and relations."""

import math

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdpkit.adjacency import SPELLINGS
from rdpkit.cli.option_types import ADJACENCY, INTEGER, NUMBER, NameType, integer, number


@given(st.integers(-(10**15), 10**15), st.integers(1, 10**15))
def test_a_fraction_is_the_nearest_float(above, below):
    assert number(f"{above}/{below}") == above / below
    assert number(f" {above} / {below} ") == above / below


@given(st.floats(allow_nan=False))
def test_floats_are_read_as_they_are(value):
    assert number(repr(value)) == value
    assert number(value) == value


@pytest.mark.parametrize(
    "word",
    [
        *("1/0", "1/0e0", "1/2/3", "/", "1/", "a/b", "inf/1", "nan/1"),
        *("1e999999999/1", "1/1e-999999999", "1e-400/1", "1/" + "9" * 200),
    ],
)
def test_other_fractions_are_refused_at_once(word):
    with pytest.raises(click.BadParameter, match="is not a valid float"):
        NUMBER.convert(word, None, None)


@given(st.integers(-(10**15), 10**15))
def test_integers_are_read_as_they_are(value):
    assert integer(str(value)) == value
    assert integer(f"{value:_}") == value


@given(st.integers(1, 99), st.integers(0, 13))
def test_an_integer_may_have_an_exponent(mantissa, exponent):
    assert integer(f"{mantissa}e{exponent}") == mantissa * 10**exponent
    assert integer(f"{mantissa}.0") == mantissa


@pytest.mark.parametrize(
    "word", ["1.5", "1e-3", "1e999999999", "nan", "inf", "", "x", "9" * 5000, "1e40"]
)
def test_other_words_are_no_integers(word):
    with pytest.raises(click.BadParameter, match="is not a valid integer, like 10000"):
        INTEGER.convert(word, None, None)


def test_numbers_that_are_no_words_stay():
    assert number(0.5) == 0.5
    assert math.isnan(number("nan"))
    assert integer(7) == 7


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_the_command_line_understands_what_the_library_does(spelling):
    assert ADJACENCY.convert(spelling, None, None) == SPELLINGS[spelling].value
    assert ADJACENCY.convert(f" {spelling.title()} ", None, None) == SPELLINGS[spelling].value


def test_bounded_is_explained():
    with pytest.raises(click.BadParameter, match="name the relation itself"):
        ADJACENCY.convert("bounded", None, None)


def test_names_are_completed_from_their_beginning():
    kind = NameType.of("colour", ["dark-red", "dark_blue", "green"])
    ctx, option = click.Context(click.Command("x")), click.Option(["--colour"])
    found = [item.value for item in kind.shell_complete(ctx, option, "dark_")]
    assert found == ["dark-red", "dark-blue"]
    assert {item.value for item in ADJACENCY.shell_complete(ctx, option, "r")} == {"replace-one"}
