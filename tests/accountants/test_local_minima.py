"""Valleys of a function of the order: smooth ones, kinks, cliffs, and several at once."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdpkit.accountants.local_minima import Minimum, lowest, settle

SPAN = (-5.0, 5.0)
GRID = np.linspace(*SPAN, 41)


def accepted(value):
    return 1e-9


def certain(valley):
    return valley.best - valley.bottom <= 1e-9


def find(function, grid=GRID):
    asked = []

    def counting(places):
        asked.append(places.size)
        return function(places)

    found = lowest(counting, (grid, function(grid)), SPAN, accepted, certain)
    return found, sum(asked)


@settings(max_examples=60)
@given(st.floats(-4.5, 4.5), st.floats(0.1, 10.0), st.floats(-0.05, 0.05))
def test_smooth_valley(bottom, curvature, skew):
    """The value at the bottom is 3; a parabola with a cubic part, monotone beside the valley."""

    def function(u):
        x = u - bottom
        return 3.0 + curvature * x * x * (1.0 + skew * x)

    found, asked = find(function)
    assert found.best == pytest.approx(3.0, abs=2e-9)
    assert abs(found.place - bottom) < 1e-3
    assert asked < 80


@settings(max_examples=40)
@given(st.floats(-4.5, 4.5), st.floats(0.2, 5.0), st.floats(0.2, 5.0))
def test_kink(bottom, left, right):
    """No parabola: the slopes on both sides decide, and the bottom is found by zooming alone."""
    found, _ = find(lambda u: np.where(u < bottom, left * (bottom - u), right * (u - bottom)))
    assert found.best <= 5e-9


@pytest.mark.parametrize("edge", [-3.3, 0.07, 2.51])
def test_cliff(edge):
    """Falling up to an edge, beyond which it jumps: a grid alone would miss the last bit."""
    found, _ = find(lambda u: np.where(u <= edge, -u, 30.0))
    assert found.best == pytest.approx(-edge, abs=1e-6)
    assert found.place <= edge


@settings(max_examples=40)
@given(st.floats(-4.0, -1.0), st.floats(1.0, 4.0), st.floats(0.0, 0.2))
def test_the_lowest_of_two_valleys(first, second, difference):
    """The right one is lower by less than the grid shows, and narrower."""

    def function(u):
        wide = (u - first) ** 2
        narrow = 20.0 * (u - second) ** 2 - difference - 1e-6
        return np.minimum(wide, narrow)

    found, _ = find(function)
    assert found.place == pytest.approx(second, abs=1e-3)
    assert found.best == pytest.approx(-difference - 1e-6, abs=1e-8)


def test_window_follows_a_valley_that_has_moved_away():
    moved = Minimum(
        centre=-2.0, width=0.01, place=-2.0, best=math.inf, vertex=-2.0, bottom=0.0, error=math.inf
    )
    found = settle(lambda u: (u - 3.0) ** 2 + 1.0, moved, SPAN, accepted, certain)
    assert found.best == pytest.approx(1.0, abs=2e-9)


def test_infinite_beside_the_valley():
    found, _ = find(lambda u: np.where(np.abs(u - 1.1) < 0.3, (u - 1.1) ** 2, np.inf))
    assert found.best <= 2e-9
