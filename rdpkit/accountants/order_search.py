"""The best Renyi order of one bound: in floats, with as few theorems evaluated as possible.

By the optimal conversion in rounds (:func:`_by_optimal_conversion`), and otherwise the minimum of a
function on a grid that is extended, then refined. Every order gives a valid bound, and whatever is
proposed here is computed once more with all theorems: a search that misses the best order costs
tightness, never soundness.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from rdpkit.accountants.divergence_bounds import DivergenceBound, OrderCurve
from rdpkit.accountants.local_minima import WINDOW, Minimum, indices_of_minima, lowest
from rdpkit.bounds.base import Array, OrderRange
from rdpkit.conversions import DELTA, EPSILON
from rdpkit.conversions.largest_rdp import LARGEST_EPSILON, largest_rdp, optimal_epsilon
from rdpkit.guarantee import Target

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

_ROUNDS = 12
# The search ends when log(r / R) is above minus this: the next epsilon would differ by its square.
_SETTLED = 1e-7
_SMALLEST_ERROR = 1e-11
_FIRST_REACH = 0.05
# Theorems that decided at orders within this factor, in distance from 1, are tried nearby.
_NEARBY = 4.0
TINY = 2.3e-308
"""Just above the smallest normal float."""


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
    """Minimise ``objective`` over the allowed orders."""
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


def best_order(bound: DivergenceBound, target: Target, limits: tuple[float, float]) -> BestOrder:
    """The order at which a bound gives the smallest epsilon, or the smallest logarithm of delta."""
    conversion = bound.conversion
    if conversion == "optimal" and target.delta is not None and bound.grid is None:
        found = _by_optimal_conversion(bound, limits, target.delta)
        if found is not None:
            return found
    if bound.grid is not None:
        return on_grid(_objective(bound, target, conversion), bound.grid)
    # The optimal conversion is slow, so the region is found by Balle's, which is never below it.
    coarse = _objective(bound, target, "balle2020" if conversion == "optimal" else conversion)
    refined = _objective(bound, target, conversion) if conversion == "optimal" else None
    smallest, largest = limits
    return minimise(coarse, bound.allowed, smallest=smallest, largest=largest, refined=refined)


def _objective(bound: DivergenceBound, target: Target, conversion: str) -> OrderCurve:
    """Epsilon, or the logarithm of delta, as a function of the order."""

    def objective(orders: Array) -> Array:
        rdp = bound.curve(orders)
        if target.delta is not None:
            values = EPSILON[conversion](orders, rdp, target.delta)
        else:
            assert target.epsilon is not None
            # A delta that underflows is rounded up, because a delta of 0 would claim too much.
            values = np.log(np.maximum(DELTA[conversion](orders, rdp, target.epsilon), TINY))
        if np.isnan(values).any():
            raise ArithmeticError(f"The conversion {conversion!r} could not be computed.")
        return values

    return objective


@dataclass(slots=True)
class _KnownCurve:
    """A bound's divergences, every order evaluated once.

    At first all theorems are tried. From the first call of :meth:`focus` on only those that decided
    near a place, a distance from 1, are evaluated.
    """

    bound: DivergenceBound
    evaluate: OrderCurve
    known: dict[float, float] = field(default_factory=dict)
    near: tuple[float, float] | None = None

    def at(self, orders: Array) -> Array:
        """Divergences at some orders."""
        missing = [a for a in orders.tolist() if a not in self.known]
        if missing:
            values = self.evaluate(np.array(missing)).tolist()
            self.known.update(zip(missing, values, strict=True))
        return np.array([self.known[a] for a in orders.tolist()])

    def focus(self, place: float) -> None:
        """Use the theorems that decide near ``place``, unless they are in use already."""
        if self.near is None or not self.near[0] < place < self.near[1]:
            self.near = (place / _NEARBY, place * _NEARBY)
            self.evaluate = self.bound.curve_in(self.bound.focus_near(*self.near))


def _by_optimal_conversion(
    bound: DivergenceBound, limits: tuple[float, float], delta: float
) -> BestOrder | None:
    """The best order by the optimal conversion, without converting at every order.

    Let r(a) be the divergence of the bound, and R(a) the largest divergence that the conversion
    turns into a given epsilon (:mod:`rdpkit.conversions.largest_rdp`). Each round takes the order
    at which log(r / R) is lowest: unless that is 0, this order has a smaller epsilon than the
    given one, which the next round is given. This converges as fast as Newton's method. None where
    Balle's epsilon, which the first round is given, is 0 or too large.
    """
    low, high = order_limits(bound.allowed, *limits)
    if low > high or bound.allowed.integers_only:
        return None
    span = (math.log(low - 1.0), math.log(high - 1.0))
    curve = _KnownCurve(bound=bound, evaluate=bound.traced_curve)

    def by_balle(places: Array) -> Array:
        orders = 1.0 + np.exp(places)
        return EPSILON["balle2020"](orders, curve.at(orders), delta)

    grid, values = spread(by_balle, span)
    epsilon = float(values.min())
    if math.isnan(epsilon) or not 0.0 < epsilon < LARGEST_EPSILON:
        return None
    order = 1.0 + math.exp(float(grid[int(np.argmin(values))]))
    # The best orders of the optimal conversion are often closer to 1 than those of Balle's.
    u = math.log(order - 1.0)
    places = grid[(grid >= u - math.log(20.0)) & (grid <= u + math.log(4.0))]
    # Where the best place is expected in the next round, and how far from there it may be.
    centre, reach = math.inf, _FIRST_REACH
    for _ in range(_ROUNDS):
        score = _excess_over_largest(curve, epsilon, delta)
        scores = score(places)
        if int(np.argmin(scores)) in (0, scores.size - 1):
            places, scores = spread(score, span)
        curve.focus(math.exp(float(places[int(np.argmin(scores))])))
        found = lowest(score, (places, scores), span, _accepted, _certain)
        if found.best >= 0.0:
            break
        order = 1.0 + math.exp(found.place)
        (rdp,) = curve.at(np.array([order])).tolist()
        if rdp == 0.0:
            return BestOrder(value=0.0, order=order, note=None)
        epsilon = optimal_epsilon(order, rdp, delta)[0]
        if epsilon == 0.0 or found.best > -_SETTLED:
            break
        # The conversion takes most of the time, so it is computed only where it may decide.
        around, reach = found.place + reach * WINDOW, min(reach, 4.0 * abs(found.place - centre))
        centre = found.place
        places = np.unique(np.clip([*_still_possible(places, scores), *around], *span))
    return _with_all_theorems(bound, epsilon, order, delta, (low, high))


def _excess_over_largest(
    curve: _KnownCurve, epsilon: float, delta: float
) -> Callable[[Array], Array]:
    """The function log(r / R) of the place log(order - 1), R for an epsilon and a delta."""

    def score(places: Array) -> Array:
        orders = 1.0 + np.exp(places)
        room = largest_rdp(orders, epsilon=epsilon, delta=delta, conversion="optimal")
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(curve.at(orders)) - np.log(room))

    return score


def _with_all_theorems(
    bound: DivergenceBound, epsilon: float, order: float, delta: float, ends: tuple[float, float]
) -> BestOrder:
    """Epsilon by all theorems, at an order and at the integers beside it.

    Theorems that interpolate between integer orders have their minima at integers.
    """
    low, high = ends
    orders = np.unique([math.floor(order), order, math.ceil(order)])
    orders = orders[(low <= orders) & (orders <= high)]
    finals = [
        (0.0 if rdp == 0.0 else optimal_epsilon(near, rdp, delta)[0], near)
        for near, rdp in zip(orders.tolist(), bound.curve(orders).tolist(), strict=True)
        if math.isfinite(rdp)
    ]
    epsilon, order = min(finals, default=(epsilon, order))
    return BestOrder(value=epsilon, order=order, note=edge_note(order, low, high))


def _still_possible(places: Array, scores: Array) -> Array:
    """The places that may be best, or next to the best, at a smaller epsilon.

    At a smaller epsilon R is smaller, so every score is larger, while the best one is still at or
    below 0. A place whose score is above 0 already is therefore out. A minimum between two such
    places may be below 0; it is assumed to lie no further below the lower one than the higher
    neighbour of that one lies above it.
    """
    kept = scores <= 0.0
    padded = np.concatenate([scores[:1], scores, scores[-1:]])
    for k in indices_of_minima(scores).tolist():
        kept[k] |= 2.0 * scores[k] <= max(padded[k], padded[k + 2])
    kept[int(np.argmin(scores))] = True
    beside = kept.copy()
    beside[1:] |= kept[:-1]
    beside[:-1] |= kept[1:]
    return places[beside]


def _accepted(score: float) -> float:
    """The error that a score may have; the relative error of epsilon is about as large."""
    return max(1e-2 * abs(score), _SMALLEST_ERROR)


def _certain(minimum: Minimum) -> bool:
    """Whether the value of a minimum is known from an evaluation at it, or very near it."""
    return minimum.best - minimum.bottom <= _accepted(minimum.bottom)
