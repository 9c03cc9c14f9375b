"""The search for the best order: analytic optima, edges, integers."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rdpkit
from rdpkit.accountants.order_search import LARGEST_ORDER, SMALLEST_ORDER, minimise, on_grid
from rdpkit.bounds.base import OrderRange
from tests.bounds.strategies import log_uniform
from tests.events import unit

ANY = OrderRange()


@pytest.mark.parametrize("z", [0.05, 1.0, 30.0])
def test_through_the_front_door(z):
    event = unit.gaussian(z)
    found = rdpkit.epsilon(
        event,
        delta=1e-5,
        adjacency="add_or_remove_one",
        bound="gaussian",
        conversion="mironov2017",
    )
    root = math.sqrt(2.0 * math.log(1e5))
    assert found.epsilon == pytest.approx(0.5 / z**2 + root / z, rel=1e-10)
    assert found.order == pytest.approx(1.0 + z * root, rel=1e-3)
    assert found.notes == ()


@settings(max_examples=60)
@given(log_uniform(1e-5, 5e4), st.floats(0.2, 5.0))
def test_one_valley_anywhere(gap, power):
    """A valley in log(order - 1), flat or steep; the bottom is found to 1e-4 of a unit."""
    found = minimise(lambda orders: np.abs(np.log((orders - 1.0) / gap)) ** power, ANY)
    assert abs(math.log((found.order - 1.0) / gap)) < 1e-4


def test_smallest_edge_gives_a_note_and_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = minimise(lambda orders: orders, ANY)
    assert found.order == pytest.approx(SMALLEST_ORDER)
    assert found.note == "the best order, 1, is the smallest one allowed"


def test_largest_edge_gives_a_note_and_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = minimise(lambda orders: 1.0 / orders, ANY)
    assert found.order == pytest.approx(LARGEST_ORDER)
    assert found.note == "the best order, 100000, is the largest one allowed"


def test_limits_are_kept():
    asked = []

    def objective(orders):
        asked.append(orders)
        return 1.0 / orders

    found = minimise(objective, OrderRange(highest=7.5), smallest=1.5, largest=100.0)
    everything = np.concatenate(asked)
    assert everything.min() >= 1.5
    assert everything.max() < 7.5
    assert found.order == pytest.approx(7.5)
    assert "largest one allowed" in found.note


def test_a_closed_end_may_be_used():
    found = minimise(lambda a: 1.0 / a, OrderRange(highest=7.5, includes_highest=True))
    assert found.order == 7.5


def test_no_order_is_allowed():
    found = minimise(lambda orders: orders, OrderRange(highest=1.2), smallest=3.0)
    assert (found.value, found.order) == (math.inf, None)
    assert found.note == "no order is allowed"


def test_infinite_everywhere():
    found = minimise(lambda orders: np.full(orders.shape, np.inf), ANY)
    assert (found.value, found.order) == (math.inf, None)
    assert found.note == "the bound is infinite at every order"


def test_finite_in_a_window_only():
    """A theorem that holds in [3, 4]: the first grid must meet it."""
    found = minimise(lambda a: np.where((a >= 3.0) & (a <= 4.0), a, np.inf), ANY)
    assert 3.0 <= found.order < 3.001


@pytest.mark.parametrize("best", [2, 3, 57, 256, 257, 300, 5000, 99999])
def test_integers_only(best):
    """Near the bottom of a valley in the logarithm, neighbours are tried one by one."""
    allowed = OrderRange(lowest=2.0, includes_lowest=True, integers_only=True)
    asked = []

    def objective(orders):
        asked.append(orders)
        return np.abs(np.log(orders / best))

    found = minimise(objective, allowed)
    assert found.order == best
    everything = np.concatenate(asked)
    assert (everything == np.round(everything)).all()
    assert everything.min() >= 2.0


def test_integer_edges():
    allowed = OrderRange(
        lowest=3.0, highest=20.0, includes_lowest=True, includes_highest=True, integers_only=True
    )
    low, high = minimise(lambda a: a, allowed), minimise(lambda a: -a, allowed)
    assert (low.order, high.order) == (3.0, 20.0)
    assert "smallest" in low.note
    assert "largest" in high.note


def test_the_dearer_objective_decides():
    """It is used for the value, and its own minimum is found near that of the cheap one."""
    found = minimise(lambda a: (a - 10.0) ** 2 + 1.0, ANY, refined=lambda a: (a - 9.5) ** 2 + 0.5)
    assert found.value == pytest.approx(0.5, abs=1e-9)
    assert found.order == pytest.approx(9.5, abs=1e-3)


def test_fixed_grid():
    found = on_grid(lambda a: (a - 4.4) ** 2, (2.0, 4.0, 5.0))
    assert (found.order, found.note) == (4.0, None)
    assert "largest" in on_grid(lambda a: -a, (2.0, 4.0, 5.0)).note
