"""The best Renyi order: a grid that grows while it pays, then refined."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rdpkit.bounds.base import OrderRange

Array = NDArray[np.float64]

SMALLEST_ORDER = 1.0 + 1e-6
LARGEST_ORDER = 1e5

# Orders minus one: where the search starts, and by how much it grows towards an edge that wins.
_FIRST_SPAN = (1e-2, 255.0)
_POINTS = 60
_GROWTH = 32.0
_ZOOM_POINTS = 17
_ZOOM_ROUNDS = 7
_ALL_INTEGERS = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class BestOrder:
    """The result of a search: the value, the order it is at, and whether that is an edge."""

    value: float
    order: float | None
    note: str | None


def minimise(
    objective: Callable[[Array], Array],
    allowed: OrderRange,
    *,
    smallest: float = SMALLEST_ORDER,
    largest: float = LARGEST_ORDER,
    refined: Callable[[Array], Array] | None = None,
) -> BestOrder:
    """Minimise ``objective`` over the allowed orders.

    Every order gives a valid bound, so a search that misses the exact minimum costs tightness,
    never soundness.

    Parameters
    ----------
    objective : callable
        Maps orders of shape (k,) to values of shape (k,); inf where nothing is known.
    allowed : OrderRange
        Where the theorem holds.
    smallest, largest : float
        Where the search may go.
    refined : callable, optional
        A dearer objective that is never above the first one, used once the region is known.
    """
    low, high = _limits(allowed, smallest, largest)
    if low > high:
        return BestOrder(value=math.inf, order=None, note="no order is allowed")
    final = refined or objective
    if allowed.integers_only:
        orders = _integer_candidates(objective, low, high)
        values = objective(orders)
        pick = int(np.argmin(values))
        around = np.unique(np.clip([orders[pick] - 1, orders[pick], orders[pick] + 1], low, high))
        return _result(final, around, low, high)
    u = _search_logarithm(objective, math.log(low - 1.0), math.log(high - 1.0))
    left, right = u - math.log(12.0), u + math.log(3.0)
    for _ in range(_ZOOM_ROUNDS):
        grid = np.linspace(left, right, _ZOOM_POINTS)
        grid = np.clip(grid, math.log(low - 1.0), math.log(high - 1.0))
        pick = int(np.argmin(final(1.0 + np.exp(grid))))
        left, right = grid[max(pick - 1, 0)], grid[min(pick + 1, _ZOOM_POINTS - 1)]
    best = 1.0 + math.exp(float(grid[pick]))
    # Bounds that interpolate between integers have their minima there.
    around = np.unique(np.clip([math.floor(best), best, math.ceil(best)], low, high))
    return _result(final, around, low, high)


def on_grid(objective: Callable[[Array], Array], grid: tuple[float, ...]) -> BestOrder:
    """The minimum over a fixed grid of orders, as some published numbers were computed."""
    return _result(objective, np.array(grid), min(grid), max(grid))


def _limits(allowed: OrderRange, smallest: float, largest: float) -> tuple[float, float]:
    low = max(allowed.lowest, smallest)
    if low == allowed.lowest and not allowed.includes_lowest:
        low = math.nextafter(low, math.inf)
    high = min(allowed.highest, largest)
    if high == allowed.highest and not allowed.includes_highest:
        high = math.nextafter(high, -math.inf)
    if allowed.integers_only:
        low, high = math.ceil(low), math.floor(high)
    return low, high


def _search_logarithm(objective: Callable[[Array], Array], low: float, high: float) -> float:
    """The best log(order - 1) on a grid that is extended while its edge is the best point."""
    left = max(low, min(math.log(_FIRST_SPAN[0]), high - 1.0))
    right = min(high, max(math.log(_FIRST_SPAN[1]), low + 1.0))
    grid = np.linspace(left, right, _POINTS)
    values = objective(1.0 + np.exp(grid))
    while True:
        pick = int(np.argmin(values))
        step = math.log(_GROWTH)
        if values[pick] == 0.0:
            return float(grid[pick])  # nothing is smaller, and larger orders are dearer
        if grid[pick] == grid[0] and grid[0] > low:
            more = np.linspace(max(low, grid[0] - step), grid[0], 9)[:-1]
            grid = np.concatenate([more, grid])
            values = np.concatenate([objective(1.0 + np.exp(more)), values])
        elif grid[pick] == grid[-1] and grid[-1] < high:
            more = np.linspace(grid[-1], min(high, grid[-1] + step), 9)[1:]
            grid = np.concatenate([grid, more])
            values = np.concatenate([values, objective(1.0 + np.exp(more))])
        else:
            return float(grid[pick])


def _integer_candidates(objective: Callable[[Array], Array], low: float, high: float) -> Array:
    """All integers up to 256, and beyond them a refined geometric grid if the largest wins."""
    orders = np.arange(low, min(high, low + _ALL_INTEGERS) + 1.0)
    if high <= orders[-1] or int(np.argmin(objective(orders))) < orders.size - 1:
        return orders
    left, right = float(orders[-1]), float(high)
    grid = orders
    while right - left > 2.0:
        grid = np.unique(np.round(np.geomspace(left, right, _ZOOM_POINTS)))
        pick = int(np.argmin(objective(grid)))
        new = float(grid[max(pick - 1, 0)]), float(grid[min(pick + 1, grid.size - 1)])
        if new == (left, right):
            break
        left, right = new
    return grid


def _result(
    objective: Callable[[Array], Array], orders: Array, low: float, high: float
) -> BestOrder:
    values = objective(orders)
    pick = int(np.argmin(values))
    value, order = float(values[pick]), float(orders[pick])
    if value == math.inf:
        return BestOrder(value=value, order=None, note="the bound is infinite at every order")
    note = None
    if order - 1.0 <= (low - 1.0) * (1.0 + 1e-9):
        note = f"the best order, {order:.6g}, is the smallest one allowed"
    elif order >= high * (1.0 - 1e-9):
        note = f"the best order, {order:.6g}, is the largest one allowed"
    return BestOrder(value=value, order=order, note=note)
