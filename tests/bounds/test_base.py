"""Order ranges, and the rule that a failure is never passed on as a number."""

import dataclasses
import math

import numpy as np
import pytest

from rdpkit import BOUNDS, Adjacency, Kind
from rdpkit.bounds import gaussian
from rdpkit.bounds.base import OrderRange
from tests.events import unit

EVENT = unit.gaussian(1.0)
ADD = Adjacency.ADD_OR_REMOVE_ONE


def test_open_range():
    found = OrderRange(lowest=1.0, highest=4.0).contains(np.array([1.0, 1.5, 4.0, 5.0]))
    assert found.tolist() == [False, True, False, False]


def test_closed_integer_range():
    allowed = OrderRange(
        lowest=2.0, highest=4.0, includes_lowest=True, includes_highest=True, integers_only=True
    )
    found = allowed.contains(np.array([1.0, 2.0, 2.5, 4.0, 5.0]))
    assert found.tolist() == [False, True, False, True, False]
    assert allowed.describe() == "integers in [2, 4]"


def test_check_names_the_theorem_and_the_order():
    with pytest.raises(ValueError, match=r"Expected orders in \(1, 4\), where T holds, got 4\.0"):
        OrderRange(highest=4.0).check("orders", np.array([2.0, 4.0]), "T")
    OrderRange(highest=4.0).check("orders", np.array([2.0, 3.999]), "T")


def with_values(values, allowed=None):
    return dataclasses.replace(
        gaussian.BOUND,
        id="made-up",
        rdp=lambda event, orders, adjacency: np.full(orders.shape, values),
        order_range=lambda event, adjacency: allowed or OrderRange(),
    )


@pytest.mark.parametrize("bad", [math.nan, -1e-300, -1.0, -math.inf])
def test_nan_and_negative_divergences_raise(bad):
    with pytest.raises(ArithmeticError, match=r"made-up could not be computed at order 2\.0"):
        with_values(bad).values(EVENT, np.array([2.0, 3.0]), ADD)


def test_outside_of_the_range_nothing_is_claimed():
    bound = with_values(0.25, OrderRange(highest=3.0))
    assert bound.values(EVENT, np.array([2.0, 3.0, 4.0]), ADD).tolist() == [0.25, np.inf, np.inf]


def test_applies_only_to_its_own_event_and_adjacency():
    replace_only = dataclasses.replace(gaussian.BOUND, adjacencies=(Adjacency.REPLACE_ONE,))
    assert replace_only.applies(EVENT, Adjacency.REPLACE_ONE)
    assert not replace_only.applies(EVENT, ADD)
    assert not gaussian.BOUND.applies(object(), ADD)


def test_registered_bounds_are_identified_and_sourced():
    keys = [(bound.id, bound.event_type) for bound in BOUNDS]
    assert len(set(keys)) == len(keys)
    for bound in BOUNDS:
        assert bound.source
        assert bound.title
        assert bound.adjacencies
        assert bound.kind in (Kind.PUBLISHED, Kind.UPPER)
