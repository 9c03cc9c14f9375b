"""Guarantees compare by their epsilon, refuse nonsense, and turn into JSON."""

from __future__ import annotations

import dataclasses
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdpkit import Adjacency, Enclosure, Guarantee, Kind
from rdpkit.formats.records import as_plain

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


@given(epsilons.flatmap(lambda e: st.tuples(st.just(e), epsilons.filter(lambda o: o != e))))
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
    found = make(epsilon, order=order, enclosure=enclosure, notes=("a",)).as_dict()
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert found["adjacency"] == "replace_one"
    assert found["kind"] == "upper"
    assert float(found["epsilon"]) == epsilon
    assert ("order" in found) is (order is not None)
    assert ("enclosure" in found) is (enclosure is not None)


def test_infinities_are_words():
    assert as_plain(math.inf) == "inf"
    assert as_plain(-math.inf) == "-inf"
    assert as_plain(1) == 1.0
