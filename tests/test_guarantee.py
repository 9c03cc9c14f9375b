"""Guarantees compare by their epsilon, refuse nonsense, and turn into JSON."""

import dataclasses
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdpkit import Adjacency, Comparison, Enclosure, Guarantee, Kind
from rdpkit.formats.records import as_plain
from rdpkit.formats.tables import guarantee_from_table

epsilons = st.floats(0, math.inf)


def make(epsilon=1.0, **changes):
    values = {
        "epsilon": epsilon,
        "delta": 1e-5,
        "adjacency": Adjacency.REPLACE_ONE,
        "bound": "gaussian",
        "kind": Kind.UPPER,
        **changes,
    }
    return Guarantee(**values)


@pytest.mark.parametrize("name", ["epsilon", "delta"])
@pytest.mark.parametrize("value", [math.nan, -1e-300, -1.0, -math.inf])
def test_nonsense_is_an_error_and_never_a_guarantee(name, value):
    with pytest.raises(ArithmeticError, match=f"{name} = {value!r}"):
        make(**{name: value})


@given(epsilons, epsilons)
def test_strict_order_is_that_of_the_epsilons(one, other):
    assert (make(one) < make(other)) is (one < other)
    assert (make(one) < other) is (one < other)
    assert (make(one) >= other) is (one >= other)


@given(st.tuples(epsilons, epsilons).filter(lambda pair: pair[0] != pair[1]))
def test_order_of_different_epsilons(pair):
    one, other = pair
    assert (make(one) > make(other)) is (one > other)
    assert (make(one) <= make(other)) is (one <= other)
    assert (make(one) <= other) is (one <= other)
    assert (make(one) > other) is (one > other)


def test_a_guarantee_is_at_most_its_own_epsilon():
    assert make(3.0) <= 3.0
    assert not make(3.0) > 3.0
    assert make(3.0) <= make(3.0, bound="another")
    assert not make(3.0) > make(3.0, bound="another")


def test_guarantees_do_not_compare_with_other_things():
    with pytest.raises(TypeError, match="not supported"):
        make() < "1"  # noqa: B015
    assert make() != 1.0
    assert make() == make()
    assert hash(make()) == hash(make())
    assert float(make(2.5)) == 2.5


def test_guarantees_do_not_change():
    with pytest.raises(dataclasses.FrozenInstanceError):
        make().epsilon = 0.0


@given(epsilons, st.none() | st.floats(1, 1e300), st.none() | st.tuples(epsilons, epsilons))
def test_every_guarantee_is_json(epsilon, order, ends):
    enclosure = None if ends is None else Enclosure(lower=min(ends), upper=max(ends))
    found = make(epsilon, order=order, computed=enclosure, notes=("a",)).as_dict()
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert found["adjacency"] == "replace_one"
    assert found["kind"] == "upper"
    assert float(found["epsilon"]) == epsilon
    assert ("order" in found) is (order is not None)
    assert ("computed" in found) is (enclosure is not None)


def test_infinities_are_words():
    assert as_plain(math.inf) == "inf"
    assert as_plain(-math.inf) == "-inf"
    assert as_plain(1) == 1.0


def test_print_shows_one_line_that_is_rounded_to_the_safe_side():
    proven = Enclosure(lower=2.81, upper=2.81621)
    upper = make(2.81621, computed=proven, lower=2.81519)
    assert str(upper) == (
        "epsilon <= 2.8163 at delta = 1e-05 (replace-one; certified; lower 2.8151)"
    )
    assert str(make(2.81621, kind=Kind.LOWER, computed=proven)) == (
        "epsilon >= 2.8162 at delta = 1e-05 (replace-one; certified)"
    )
    assert str(make(1.1, kind=Kind.PUBLISHED)) == (
        "epsilon = 1.1 at delta = 1e-05 (replace-one; published as gaussian)"
    )
    assert str(make(delta=1.23456789e-7, epsilon=1.0, asked="delta", computed=proven)) == (
        "delta <= 1.2346e-07 at epsilon = 1 (replace-one; certified)"
    )
    assert "nothing smaller is known" in str(make(math.inf))
    assert "not certified" in str(make(1.0))


@given(st.floats(1e-12, 1e12), st.integers(0, 6))
def test_formats_show_epsilon_rounded_to_the_safe_side(epsilon, digits):
    # What only rounding, 1e-14 of it, tells from a number of twelve digits is shown as that one.
    assert float(f"{make(epsilon):.{digits}f}") >= epsilon * (1 - 1.01e-14)
    assert float(f"{make(epsilon, kind=Kind.LOWER):.{digits}f}") <= epsilon * (1 + 1.01e-14)
    assert f"{make(epsilon)}" == str(make(epsilon))
    assert f"{make(epsilon):>200}".strip() == str(make(epsilon))


def test_a_format_that_is_neither_of_numbers_nor_of_texts_is_refused():
    with pytest.raises(ValueError, match="format"):
        f"{make():d}"


def test_guarantees_of_different_questions_are_not_compared():
    assert make(1.0) < make(2.0)
    assert make(1.0) <= 1.0
    for other in (make(2.0, delta=1e-6), make(2.0, adjacency=Adjacency.ADD_OR_REMOVE_ONE)):
        with pytest.raises(ValueError, match="compared at one delta and under one adjacency"):
            assert make(1.0) < other
        assert make(1.0) != other


def test_what_draws_the_profile_is_not_compared():
    assert make(profile=lambda: ()) == make()
    assert hash(make(profile=lambda: ())) == hash(make())


def test_a_notebook_shows_a_guarantee_without_markup_of_others():
    shown = make(notes=("<script>",), profile=lambda: [(0.5, 1e-3, 1e-4), (2.0, 1e-6, None)])
    text = shown._repr_html_()
    assert "<svg" in text
    assert "<script>" not in text
    assert "&lt;script&gt;" in text
    assert "<svg" not in make()._repr_html_()


def test_a_comparison_is_a_tuple_that_shows_itself():
    bounds = (make(1.1, kind=Kind.PUBLISHED, bound="<b>"), make(0.91), make(0.5, kind=Kind.LOWER))
    found = Comparison(bounds)
    assert found == bounds
    assert found.best is bounds[1]
    assert found.lower is bounds[2]
    assert str(found).splitlines() == [
        "epsilon at delta = 1e-05 (replace-one)",
        "<b>       published   = 1.1",
        "gaussian  upper      <= 0.91",
        "gaussian  lower      >= 0.5",
    ]
    assert "&lt;b&gt;" in found._repr_html_()
    assert "<b></td>" not in found._repr_html_()
    assert found.as_dicts()[0]["bound"] == "<b>"


def test_a_comparison_may_have_no_bounds():
    with pytest.raises(ValueError, match="an upper bound, got none"):
        _ = Comparison().best
    assert Comparison().lower is None
    assert str(Comparison()) == "no bounds"
    assert "no bounds" in Comparison()._repr_html_()


@given(epsilons, st.booleans(), st.none() | epsilons)
def test_what_was_asked_and_attained_survives_a_file(epsilon, about_delta, lower):
    asked = "delta" if about_delta else "epsilon"
    found = make(epsilon, asked=asked, lower=lower, computed=Enclosure(lower=0.0, upper=1.0))
    assert guarantee_from_table(found.as_dict()) == found
