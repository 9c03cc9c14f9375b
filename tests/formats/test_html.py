"""Pieces of pages in notebooks: escaped, well formed, and drawn whatever the numbers are."""

import math
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdpkit.formats import html

numbers = st.floats(0, 1e6, allow_subnormal=False)
points = st.lists(st.tuples(numbers, st.floats(0, 1), st.none() | st.floats(0, 1)), max_size=8)


@pytest.mark.thorough
@given(st.text())
def test_no_text_is_markup(text):
    shown = html.escaped(text)
    assert not set(shown) & set("<>\"'")
    root = ElementTree.fromstring(html.block(html.table({text: {text: text}})))
    assert {one.tag for one in root.iter()} <= {"div", "table", "tr", "td"}


def test_long_texts_are_cut():
    assert len(html.escaped("a" * 10_000)) == 400


@given(points, numbers, st.floats(0, 1), st.none() | numbers)
def test_a_profile_is_drawn_inside_of_its_frame(profile, epsilon, delta, lower):
    drawing = html.profile_drawing(
        sorted(profile, key=lambda p: p[0]), epsilon=epsilon, delta=delta, lower=lower
    )
    if not drawing:
        return
    for shape in ElementTree.fromstring(drawing).iter():
        for x in (shape.get(name) for name in ("cx", "x")):
            assert x is None or 0 <= float(x) <= html.WIDTH
        for y in (shape.get(name) for name in ("cy", "y")):
            assert y is None or 0 <= float(y) <= html.HEIGHT


@pytest.mark.thorough
@given(st.lists(st.tuples(st.text(), st.sampled_from(["upper", "lower"]), st.floats(0, math.inf))))
def test_bounds_are_drawn_side_by_side(rows):
    drawing = html.bars_drawing(rows)
    finite = [row for row in rows if math.isfinite(row[2])]
    assert bool(drawing) == bool(finite)
    if drawing:
        root = ElementTree.fromstring(drawing)
        marks = [one for one in root.iter() if one.tag.endswith("circle")]
        assert len(marks) == len(finite)
        assert all(10 <= float(mark.get("cx")) <= html.WIDTH - 10 for mark in marks)


def test_bounds_that_are_far_apart_are_drawn():
    drawing = html.bars_drawing([("a", "upper", 5.786e298), ("b", "upper", 3.576e-10)])
    assert "nan" not in drawing


def test_a_page_shows_texts_as_texts():
    found = html.page("<b>", ["a <i>"], {"left out": [], "list": ["<u>"], "made": "<hr>"})
    assert "<title>&lt;b&gt;</title>" in found
    assert '<p class="answer">a &lt;i&gt;</p>' in found
    assert "<h2>list</h2>\n<ul><li>&lt;u&gt;</li></ul>\n<h2>made</h2>\n<hr>" in found
    assert "left out" not in found


def test_fewer_than_two_points_are_not_drawn():
    assert html.profile_drawing([(1.0, 0.1, None)], epsilon=1.0, delta=0.1, lower=None) == ""
