"""The minimum of a function of the Renyi order: a grid that is extended, then refined."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rdpkit.bounds.base import Array, OrderRange

SMALLEST_ORDER = 1.0 + 1e-6
LARGEST_ORDER = 1e5

# Orders minus one: where the search starts, and by which factor it grows if an end is the best.
_FIRST_SPAN = (1e-2, 255.0)
_POINTS = 60
_GROWTH = 32.0
_ZOOM_POINTS = 17
# Points at which the slower conversion is tried: its best order less 1 is between a twelfth and
# three times that of the faster one.
_NEAR_POINTS = 25
# Logarithms of order - 1 this close give epsilons that differ by their square.
_NARROW = 3e-6
_ALL_INTEGERS = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class BestOrder:
    """The smallest value, the order at which it is, and a note if that order is an edge."""

    value: float
    order: float | None
    note: str | None


def minimise(
    # Maps orders of shape (k,) to values of shape (k,); inf where nothing is known.
    objective: Callable[[Array], Array],
    allowed: OrderRange,  # Where the theorem holds
    *,
    # Where the search may go.
    smallest: float = SMALLEST_ORDER,
    largest: float = LARGEST_ORDER,
    # A slower objective that is never above the first one, used once the region is known.
    refined: Callable[[Array], Array] | None = None,
) -> BestOrder:
    """Minimise ``objective`` over the allowed orders.

    Every order gives a valid bound, so a search that misses the exact minimum costs tightness,
    never soundness.
    """
    low, high = order_limits(allowed, smallest, largest)
    if low > high:
        return BestOrder(value=math.inf, order=None, note="no order is allowed")
    final = refined or objective
    if allowed.integers_only:
        orders = _integer_candidates(objective, low, high)
        values = objective(orders)
        pick = int(np.argmin(values))
        around = np.unique(np.clip([orders[pick] - 1, orders[pick], orders[pick] + 1], low, high))
        return _result(final, around, low, high)
    span = (math.log(low - 1.0), math.log(high - 1.0))
    grid, values = spread(lambda u: objective(1.0 + np.exp(u)), span)
    u = float(grid[int(np.argmin(values))])
    near = np.linspace(u - math.log(12.0), u + math.log(3.0), _NEAR_POINTS)
    best = 1.0 + math.exp(_refine(final, np.unique(np.clip(near, *span))))
    # Bounds that interpolate between integers have their minima there.
    around = np.unique(np.clip([math.floor(best), best, math.ceil(best)], low, high))
    return _result(final, around, low, high)


def on_grid(objective: Callable[[Array], Array], grid: tuple[float, ...]) -> BestOrder:
    """The minimum over a fixed grid of orders, as some published numbers were computed."""
    return _result(objective, np.array(grid), min(grid), max(grid))


def order_limits(allowed: OrderRange, smallest: float, largest: float) -> tuple[float, float]:
    """The lowest and the highest order to use; if no order is allowed, the first is the larger."""
    low = max(allowed.lowest, smallest)
    if low == allowed.lowest and not allowed.includes_lowest:
        low = math.nextafter(low, math.inf)
    high = min(allowed.highest, largest)
    if high == allowed.highest and not allowed.includes_highest:
        high = math.nextafter(high, -math.inf)
    if allowed.integers_only:
        low, high = math.ceil(low), math.floor(high)
    return low, high


def spread(
    # Maps places of shape (k,) to values of shape (k,); inf where nothing is known.
    function: Callable[[Array], Array],
    span: tuple[float, float],  # The ends of what is allowed
    *,
    also: Array | None = None,  # More places to evaluate
) -> tuple[Array, Array]:  # Shape (k,): ascending places, and the function there
    """A function of log(order - 1) on a grid that is extended while its edge is the best point."""
    low, high = span
    left = max(low, min(math.log(_FIRST_SPAN[0]), high - 1.0))
    right = min(high, max(math.log(_FIRST_SPAN[1]), low + 1.0))
    grid = np.linspace(left, right, _POINTS)
    if also is not None:
        grid = np.unique(np.concatenate([grid, np.clip(also, *span)]))
    values = function(grid)
    while True:
        pick = int(np.argmin(values))
        step = math.log(_GROWTH)
        if values[pick] in (0.0, -math.inf):
            return grid, values  # nothing is smaller, and larger orders take longer
        if grid[pick] == grid[0] and grid[0] > low:
            more = np.linspace(max(low, grid[0] - step), grid[0], 9)[:-1]
            grid = np.concatenate([more, grid])
            values = np.concatenate([function(more), values])
        elif grid[pick] == grid[-1] and grid[-1] < high:
            more = np.linspace(grid[-1], min(high, grid[-1] + step), 9)[1:]
            grid = np.concatenate([grid, more])
            values = np.concatenate([values, function(more)])
        else:
            return grid, values


def _refine(objective: Callable[[Array], Array], grid: Array) -> float:
    """The best log(order - 1) in any local minimum of a grid that may hold it."""
    values = objective(1.0 + np.exp(grid))
    place, lowest = float(grid[int(np.argmin(values))]), math.inf
    for value, k in sorted((float(values[k]), int(k)) for k in indices_of_minima(values)):
        around = [max(k - 1, 0), k, min(k + 1, grid.size - 1)]
        # A minimum is assumed to be no deeper below its grid point than the neighbours are above.
        if math.isinf(value) or 2.0 * value - values[around].max() >= lowest:
            continue
        found = _refine_one(objective, grid[around], values[around])
        if found[1] < lowest:
            place, lowest = found
    return place


def indices_of_minima(values: Array) -> NDArray[np.int64]:
    """Where a sequence is not above its neighbours."""
    padded = np.concatenate([[math.inf], values, [math.inf]])
    return np.flatnonzero((values <= padded[:-2]) & (values <= padded[2:]))


def _refine_one(
    objective: Callable[[Array], Array], known: Array, values: Array
) -> tuple[float, float]:
    """The best log(order - 1) between three of which the middle one is best, and the value."""
    while True:
        pick = int(np.argmin(values))
        around = np.clip([pick - 1, pick, pick + 1], 0, known.size - 1)
        known, values = known[around], values[around]
        if known[2] - known[0] <= _NARROW:
            return float(known[1]), float(values[1])
        fresh, _ = proposals(known[None, :], values[None, :])
        found = objective(1.0 + np.exp(fresh[0]))
        known, values = np.concatenate([known, fresh[0]]), np.concatenate([values, found])
        ranked = np.argsort(known)
        known, values = known[ranked], values[ranked]


def proposals(
    # Ascending points, and the objective there; shape (n, 3)
    points: Array,
    values: Array,
) -> tuple[Array, Array]:
    """Where to look next, between three points in each row of which the middle one is best.

    Returns the lowest point of the parabola through the three, and the middles of both gaps, which
    help where the objective has a sharp bend; the value of the parabola at its lowest point.
    """
    left, middle, right = points.T
    before, after = middle - left, right - middle
    with np.errstate(divide="ignore", invalid="ignore"):
        down = (values[:, 0] - values[:, 1]) / before
        up = (values[:, 2] - values[:, 1]) / after
        curvature = (down + up) / (before + after)
        slope = up - curvature * after
        shift = -slope / (2.0 * curvature)
    # If the new point were too close to the middle, the next parabola would be rounding errors.
    least = np.maximum(0.02 * np.maximum(before, after), 1e-6)
    shift = np.where(np.isfinite(shift), shift, 0.0)
    shift = np.where(np.abs(shift) < least, np.copysign(least, shift), shift)
    shift = np.clip(shift, -0.98 * before, 0.98 * after)
    # The new point must not coincide with a middle of a gap: two equal points define no parabola.
    for gap in (-before, after):
        shift = np.where(np.abs(shift - gap / 2.0) < 1e-3 * np.abs(gap), 0.45 * gap, shift)
    with np.errstate(invalid="ignore"):  # where the objective is inf nearby nothing is foretold
        foretold = values[:, 1] + shift * (slope + shift * curvature)
    found = np.stack([middle + shift, middle - before / 2.0, middle + after / 2.0], axis=1)
    return found, foretold


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
    return BestOrder(value=value, order=order, note=edge_note(order, low, high))


def edge_note(order: float, low: float, high: float) -> str | None:
    """A note for the reader if the best order is at an end of the orders that are allowed."""
    if order - 1.0 <= (low - 1.0) * (1.0 + 1e-9):
        return f"the best order, {order:.6g}, is the smallest one allowed"
    if order >= high * (1.0 - 1e-9):
        return f"the best order, {order:.6g}, is the largest one allowed"
    return None
