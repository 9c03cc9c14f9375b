"""RdpCurve: values on orders that compose."""

import dataclasses
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

import rdpkit
from tests.events import unit

ADD = rdpkit.Adjacency.ADD_OR_REMOVE_ONE


def curve(values=(0.1, 0.2, 0.9), orders=(2.0, 4.0, 8.0), adjacency=ADD, source="test"):
    return rdpkit.RdpCurve(orders=orders, values=values, adjacency=adjacency, source=source)


def test_holds_arrays_that_cannot_change():
    given = np.array([0.1, 0.2, 0.9])
    found = curve(values=given)
    given[0] = 7.0
    assert found.values.tolist() == [0.1, 0.2, 0.9]
    with pytest.raises(ValueError, match="read-only"):
        found.values[0] = 0.0
    with pytest.raises(ValueError, match="read-only"):
        found.orders[0] = 3.0
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.source = "other"


def test_of_an_event():
    event = unit.gaussian(2.0)
    found = rdpkit.RdpCurve.of(event, orders=[2, 8], adjacency="replace_one")
    assert_allclose(found.values, [1.0, 4.0], rtol=1e-15)
    assert found.adjacency is rdpkit.Adjacency.REPLACE_ONE
    assert "noise_std=2.0" in found.source


def test_addition():
    found = curve() + curve(values=(1.0, 0.0, math.inf), source="other")
    assert_allclose(found.values, [1.1, 0.2, math.inf])
    assert found.source == "test + other"
    assert found.adjacency is ADD


def test_multiplication_from_both_sides():
    assert (3 * curve()) == (curve() * 3)
    assert_allclose((3 * curve()).values, [0.3, 0.6, 2.7], rtol=1e-15)
    assert (curve() * np.int64(2)) == (curve() + curve())


def test_parallel_is_the_larger():
    found = curve().parallel(curve(values=(0.05, 0.3, 0.9)))
    assert found.values.tolist() == [0.1, 0.3, 0.9]


def test_as_event_and_back():
    one = curve()
    again = rdpkit.RdpCurve.of(one.as_event(), orders=one.orders, adjacency=ADD)
    # The chord's formula rounds at its own ends too.
    assert_allclose(again.values, one.values, rtol=5e-16)
    both = rdpkit.Composed(events=(one.as_event(), unit.gaussian(1.0)))
    summed = rdpkit.RdpCurve.of(both, orders=one.orders, adjacency=ADD)
    assert_allclose(summed.values, one.values + one.orders / 2.0, rtol=1e-15)


def test_equality():
    assert curve() == curve(source="elsewhere")
    assert curve() != curve(values=(0.1, 0.2, 0.8))
    assert curve() != curve(orders=(2.0, 4.0, 9.0))
    assert curve() != curve(adjacency="replace_one")
    assert curve() != "curve"
    with pytest.raises(TypeError, match="unhashable"):
        hash(curve())


def test_epsilon_over_its_own_orders():
    found = curve().epsilon(delta=1e-5)
    value, order = rdpkit.rdp_to_epsilon([2.0, 4.0, 8.0], [0.1, 0.2, 0.9], delta=1e-5)
    assert (found.epsilon, found.order, found.delta) == (value, order, 1e-5)
    assert found.kind is rdpkit.Kind.UPPER
    assert found.bound == "test"
    assert found.conversion == "balle2020"
    assert found.notes == ("the best order, 8, is at the edge of the curve",)


def test_epsilon_inside_of_the_curve_has_no_note():
    orders = np.arange(2.0, 100.0)
    found = curve(orders=orders, values=orders / 8.0).epsilon(delta=1e-5, conversion="optimal")
    assert found.notes == ()
    balle = curve(orders=orders, values=orders / 8.0).epsilon(delta=1e-5)
    assert found.epsilon <= balle.epsilon


def test_epsilon_of_a_curve_that_says_nothing():
    found = curve(values=(math.inf,) * 3).epsilon(delta=1e-5)
    assert found.epsilon == math.inf
    assert found.order is None


@pytest.mark.parametrize("operation", [lambda a, b: a + b, lambda a, b: a.parallel(b)])
@pytest.mark.parametrize(
    ("other", "message"),
    [
        (curve(adjacency="replace_one"), "adjacency to be 'add_or_remove_one' for both curves"),
        (curve(orders=(2.0, 4.0, 9.0)), r"orders to be \[2.0, 4.0, 8.0\] for both curves"),
        (curve(orders=(2.0,), values=(0.1,)), "orders to be"),
    ],
)
def test_curves_that_do_not_match(operation, other, message):
    with pytest.raises(ValueError, match="Expected " + message):
        operation(curve(), other)


def test_adding_something_else():
    with pytest.raises(TypeError, match="unsupported operand"):
        curve() + 1.0


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("orders", (4.0, 2.0, 8.0), "orders to be strictly increasing"),
        ("orders", (1.0, 2.0, 8.0), "orders to be finite Renyi orders > 1"),
        ("values", (0.1, 0.2), r"values to be divergences >= 0, of shape \(3,\)"),
        ("values", (0.1, 0.2, -0.9), "values to be divergences >= 0"),
        ("adjacency", "bounded", "adjacency to be one of 'add_or_remove_one', 'replace_one'"),
    ],
)
def test_bad_arguments(name, value, message):
    with pytest.raises(ValueError, match="Expected " + message):
        curve(**{name: value})


def test_of_something_that_is_no_event():
    with pytest.raises(ValueError, match="Expected event to be Event"):
        rdpkit.RdpCurve.of("gaussian", orders=[2.0], adjacency=ADD)
