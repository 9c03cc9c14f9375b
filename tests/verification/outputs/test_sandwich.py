"""Claimed, published, attained and proven on one axis of letters."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdpkit.verification.auditing.findings import Side
from rdpkit.verification.outputs.sandwich import ASCII, MEANINGS, NAMES, UNICODE, drawing
from tests.verification.finding_examples import finding, refuted, underspecified

WIDTHS = st.integers(min_value=48, max_value=200)
LOSSES = st.one_of(
    st.floats(min_value=0.0, max_value=1e300), st.just(math.inf), st.sampled_from([0.0, 1e-300])
)


def drawn(found, **settings):
    return drawing(found, **{"width": 60, **settings})


def test_each_number_has_its_name_on_its_side_of_the_axis():
    above, axis, below = drawn(refuted())
    assert "claimed 0.5" in above
    assert "attained 0.99" in above
    assert "published 1.099" in below
    assert "proven 1" in below
    assert axis.index(UNICODE.claimed) < axis.index(UNICODE.truth)


def test_a_sound_claim_stands_right_of_the_truth():
    _, axis, _ = drawn(finding(epsilon="2.0"))
    assert axis.index(UNICODE.truth) < axis.index(UNICODE.claimed)


def test_the_axis_begins_at_zero_and_is_linear():
    side = Side(bound="pld-upper", epsilon=10.0)
    found = replace(finding(epsilon="5"), upper=side, lower=None, published=None)
    _, axis, _ = drawn(found)
    assert axis.index(UNICODE.claimed) * 2 == pytest.approx(axis.index(UNICODE.truth), abs=1)


def test_what_is_infinite_stands_at_the_end():
    found = replace(finding(epsilon="inf"), published=None)
    _, axis, _ = drawn(found)
    assert axis.rstrip().endswith(UNICODE.claimed)


def test_nothing_known_is_not_drawn():
    assert drawn(underspecified()) == []


def test_a_terminal_without_those_letters_gets_others():
    assert "".join(drawn(refuted(), glyphs=ASCII)).isascii()


def test_every_word_of_a_drawing_is_explained():
    assert set(NAMES.values()) == set(MEANINGS)


@given(numbers=st.tuples(LOSSES, LOSSES, LOSSES), width=WIDTHS)
def test_no_line_is_too_long_and_no_label_is_lost(numbers, width):
    published, lower, upper = numbers
    found = replace(
        finding(),
        published=Side(bound="gaussian", epsilon=published),
        lower=Side(bound="pair-lower", epsilon=min(lower, upper)),
        upper=Side(bound="pld-upper", epsilon=upper),
    )
    lines = drawn(found, width=width)
    assert all(len(line) <= width for line in lines)
    text = "\n".join(lines)
    assert all(name in text for name in NAMES.values())
