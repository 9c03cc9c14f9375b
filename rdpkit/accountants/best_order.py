"""The best Renyi order of one bound: in floats, with as few theorems evaluated as possible.

Every order gives a valid bound, and whatever is proposed here is computed once more with all
theorems: a search that misses the best order costs tightness, never soundness.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from rdpkit.accountants.divergence_bounds import DivergenceBound, OrderCurve
from rdpkit.accountants.local_minima import WINDOW, Minimum, lowest
from rdpkit.accountants.order_search import (
    BestOrder,
    edge_note,
    indices_of_minima,
    minimise,
    on_grid,
    order_limits,
    spread,
)
from rdpkit.bounds.base import Array
from rdpkit.conversions import DELTA, EPSILON
from rdpkit.conversions.largest_rdp import LARGEST_EPSILON, largest_rdp, optimal_epsilon
from rdpkit.guarantee import Target

_ROUNDS = 12
# The search ends when log(r / R) is above minus this: the next epsilon would differ by its square.
_SETTLED = 1e-7
_SMALLEST_ERROR = 1e-11
_FIRST_REACH = 0.05
# Theorems that decided at orders within this factor, in distance from 1, are tried nearby.
_NEARBY = 4.0
TINY = 2.3e-308
"""Just above the smallest normal float."""


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
    bound: DivergenceBound,
    epsilon: float,
    order: float,
    delta: float,
    ends: tuple[float, float],
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
