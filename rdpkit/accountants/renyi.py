"""Guarantees from Renyi divergences: the best order by floats, then certified in balls."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from flint import arb
from numpy.typing import NDArray

from rdpkit import _validate
from rdpkit.accountants.event_tree import leaves, sound_bounds
from rdpkit.accountants.local_minima import WINDOW, Valley, lowest
from rdpkit.accountants.order_search import (
    BestOrder,
    edge_note,
    minimise,
    on_grid,
    order_limits,
    spread,
    valleys,
)
from rdpkit.accountants.pruning import Economical, Learner
from rdpkit.adjacency import Adjacency
from rdpkit.bounds import BOUNDS, OrderRange
from rdpkit.bounds.base import Kind, RdpBound
from rdpkit.conversions import DELTA, EPSILON
from rdpkit.conversions import balls as conversion_balls
from rdpkit.conversions.largest_rdp import (
    LARGEST_EPSILON,
    SMALLEST_DELTA,
    largest_rdp,
    optimal_epsilon,
)
from rdpkit.events import CustomRdp, Event
from rdpkit.guarantee import Enclosure, Guarantee
from rdpkit.numerics.balls import float_above, float_below

Array = NDArray[np.float64]

BEST_ID = "best"

# A certificate that is further from the float value than this means that one of the two is wrong.
_DISAGREEMENT = 1e-6
_LOST = 1e-3
_ROUNDS = 12
# The excess of log(r / R) at which the next epsilon differs by its square.
_SETTLED = 1e-7
_SMALLEST_ERROR = 1e-11
_FIRST_REACH = 0.05
# Within this factor of an order's distance from 1 the same theorems decide.
_NEARBY = 4.0
# Epsilons below this are as good as 0.
_HARDLY_ANY = 1e-12
# The smallest normal float.
_TINY = 2.3e-308


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Epsilon at a delta, or delta at an epsilon, and how it is to be answered."""

    adjacency: Adjacency
    delta: float | None
    epsilon: float | None
    conversion: str | None
    limits: tuple[float, float]
    use_grid: bool
    certify: bool


def upper_ids(event: Event, adjacency: Adjacency) -> list[str]:
    """Ids of the sound theorems about the event or an event inside of it."""
    found: dict[str, None] = {}
    for leaf in leaves(event):
        for bound in sound_bounds(leaf, adjacency):
            found[bound.id] = None
    return list(found)


def published_bounds(event: Event, adjacency: Adjacency) -> tuple[str, ...]:
    """Ids of the published bounds about this event, the one to be read first in front."""
    return tuple(b.id for b in BOUNDS if b.kind is Kind.PUBLISHED and b.applies(event, adjacency))


def find_published(event: Event, adjacency: Adjacency, identifier: str) -> RdpBound | None:
    """The published bound of that id, if it is about the event."""
    for bound in BOUNDS:
        published = bound.id == identifier and bound.kind is Kind.PUBLISHED
        if published and bound.applies(event, adjacency):
            return bound
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One bound on one event, as a function of the Renyi order.

    Parameters
    ----------
    event : Event
        What was released.
    adjacency : Adjacency
        The neighbouring relation.
    kind : Kind
        Upper or published.
    conversion : str
        From Renyi divergences to (epsilon, delta).
    allowed : OrderRange
        The orders worth searching.
    grid : tuple of float or None
        The only orders to use, where a published number was computed so.
    curve : callable
        Maps orders of shape (k,) to divergences.
    learn : callable
        The same, noting what decides where.
    near : callable
        Maps two distances from 1 to a curve like ``curve``, of the theorems alone that decided at
        orders between them where ``learn`` was called; it is nowhere below ``curve``.
    ball : callable
        Maps one order to a ball around the divergence, or None where there is none.
    name : callable
        Maps the order, or None, to the id of the bound that decides there.
    assumptions : callable
        Lists what the bound assumes.
    """

    event: Event
    adjacency: Adjacency
    kind: Kind
    conversion: str
    allowed: OrderRange
    grid: tuple[float, ...] | None
    curve: Callable[[Array], Array]
    learn: Callable[[Array], Array]
    near: Callable[[float, float], Callable[[Array], Array]]
    ball: Callable[[float], arb | None]
    name: Callable[[float | None], str]
    assumptions: Callable[[], tuple[str, ...]]

    def interval(self, order: float) -> tuple[float, float] | None:
        """Floats below and above the divergence at ``order``; None where no ball is known."""
        ball = self.ball(order)
        return None if ball is None else (float_below(ball), float_above(ball))


def upper_route(
    event: Event, bound: str, adjacency: Adjacency, conversion: str | None = None
) -> Route:
    """The best sound theorem ("best"), or one of them for the events that it is about."""
    chosen = only(event, bound, adjacency)
    evaluator = Economical(chosen)
    learner = Learner(event, adjacency, chosen)

    def name(order: float | None) -> str:
        if order is None:
            return "none" if bound == BEST_ID else bound
        return " + ".join(evaluator.used(event, order, adjacency))

    return Route(
        event=event,
        adjacency=adjacency,
        kind=Kind.UPPER,
        conversion=conversion or "optimal",
        allowed=upper_range(event, adjacency),
        grid=None,
        curve=lambda orders: evaluator.rdp(event, orders, adjacency),
        learn=learner.rdp,
        near=learner.curve_near,
        ball=lambda order: evaluator.ball(event, order, adjacency),
        name=name,
        assumptions=lambda: (*event.assumptions(), *_theorem_assumptions(event, adjacency, chosen)),
    )


def only(event: Event, bound: str, adjacency: Adjacency) -> dict[type[Event], str]:
    """For which types of event the bound asked for by name takes the place of the best."""
    if bound == BEST_ID:
        return {}
    return {
        type(leaf): bound
        for leaf in leaves(event)
        if any(b.id == bound for b in sound_bounds(leaf, adjacency))
    }


def published_route(
    event: Event,
    theorem: RdpBound,
    adjacency: Adjacency,
    conversion: str | None = None,
    *,
    use_grid: bool = True,
) -> Route:
    """What a published theorem gives, by its own conversion unless another is asked for."""

    def ball(order: float) -> arb | None:
        return None if theorem.ball is None else theorem.ball(event, order, adjacency)

    def curve(orders: Array) -> Array:
        return theorem.values(event, orders, adjacency)

    return Route(
        event=event,
        adjacency=adjacency,
        kind=theorem.kind,
        conversion=conversion or theorem.conversion,
        allowed=theorem.order_range(event, adjacency),
        grid=theorem.grid if use_grid else None,
        curve=curve,
        learn=curve,
        near=lambda nearest, farthest: curve,
        ball=ball,
        name=lambda order: theorem.id,
        assumptions=lambda: (*event.assumptions(), *theorem.assumptions(event)),
    )


def upper(event: Event, bound: str, question: Question) -> Guarantee:
    """The best sound theorem ("best"), or one of them for the events that it is about."""
    if question.delta is not None and question.delta < SMALLEST_DELTA and not question.conversion:
        question = replace(question, conversion="balle2020")
    if question.epsilon is not None and question.epsilon < _HARDLY_ANY:
        return _at_hardly_any(event, bound, question)
    return _upper(event, bound, question)


def _at_hardly_any(event: Event, bound: str, question: Question) -> Guarantee:
    """Delta at an epsilon of nearly 0, also from the one at a slightly larger epsilon.

    For any event A, P(A) - e^x Q(A) <= P(A) - e^y Q(A) + e^y - e^x, so that delta(x) exceeds
    delta(y), y > x, by at most e^y - e^x. At 0 itself conversions say much less than that.
    """
    assert question.epsilon is not None
    found = _upper(event, bound, question)
    beside = _upper(event, bound, replace(question, epsilon=2.0 * _HARDLY_ANY))
    delta = (beside.delta + 2.0 * _HARDLY_ANY * (1.0 + 1e-6)) * (1.0 + 1e-12)
    if delta >= found.delta:
        return found
    enclosure = None
    if beside.enclosure is not None:
        enclosure = replace(beside.enclosure, upper=delta)
    return replace(beside, epsilon=question.epsilon, delta=delta, enclosure=enclosure)


def _upper(event: Event, bound: str, question: Question) -> Guarantee:
    route = upper_route(event, bound, question.adjacency, question.conversion)
    best = _best(route, question)
    interval = None
    if question.certify and best.order is not None:
        interval = route.interval(best.order)
    found = _guarantee(route, question, best, interval)
    if route.conversion != "optimal" or question.conversion is not None or interval is None:
        return found
    value = best.value if question.epsilon is None else math.exp(best.value)
    certified = found.epsilon if question.epsilon is None else found.delta
    if certified <= value * (1.0 + _DISAGREEMENT):
        return found
    # The certificate of the optimal conversion is loose here: Balle's may do better.
    other = _upper(event, bound, replace(question, conversion="balle2020"))
    better = other.epsilon < found.epsilon or other.delta < found.delta
    return other if better else found


def published(event: Event, theorem: RdpBound, question: Question) -> Guarantee:
    """What a published theorem gives, by its own conversion unless another is asked for."""
    route = published_route(
        event, theorem, question.adjacency, question.conversion, use_grid=question.use_grid
    )
    best = _best(route, question)
    interval = None
    if question.certify and best.order is not None:
        interval = route.interval(best.order)
    return _guarantee(route, question, best, interval)


def certified_at(
    route: Route, order: float, *, delta: float, limits: tuple[float, float]
) -> Guarantee:
    """Epsilon at ``delta`` from one order alone: certified where the bound has a ball.

    Parameters
    ----------
    route : Route
        The bound.
    order : float
        The Renyi order to use.
    delta : float
        In (0, 1).
    limits : tuple of float
        The orders that might have been used: a note says if this one is at their end.
    """
    question = Question(
        adjacency=route.adjacency,
        delta=delta,
        epsilon=None,
        conversion=route.conversion,
        limits=limits,
        use_grid=False,
        certify=True,
    )
    note = None
    if route.grid is None:
        note = edge_note(order, *order_limits(route.allowed, *limits))
    interval = route.interval(order)
    value = math.nan
    if interval is None:
        point = np.array([order])
        value = float(EPSILON[route.conversion](point, route.curve(point), delta)[0])
    best = BestOrder(value=value, order=order, note=note)
    return _guarantee(route, question, best, interval, compare=False)


def _guarantee(
    route: Route,
    question: Question,
    best: BestOrder,
    interval: tuple[float, float] | None,
    *,
    compare: bool = True,
) -> Guarantee:
    asked_epsilon = question.epsilon is None
    value = best.value if asked_epsilon else min(math.exp(best.value), 1.0)
    enclosure = None
    bound = route.name(best.order)
    if interval is not None and best.order is not None:
        rdp = conversion_balls.Interval(lower=max(interval[0], 0.0), upper=interval[1])
        if asked_epsilon:
            assert question.delta is not None
            found = conversion_balls.epsilon(route.conversion, best.order, rdp, question.delta)
        else:
            assert question.epsilon is not None
            found = conversion_balls.delta(route.conversion, best.order, rdp, question.epsilon)
        # An epsilon is a difference of terms of order log(1/delta): their rounding is absolute.
        slack = 1e-11 if asked_epsilon else 0.0
        # The optimal conversion rounds its floats up by what they may have lost.
        above = _LOST if route.conversion == "optimal" else _DISAGREEMENT
        if compare and (
            value > found.upper * (1.0 + above) + slack + _TINY
            or value < found.lower * (1.0 - _DISAGREEMENT) - slack
        ):
            raise ArithmeticError(
                f"{bound} at order {best.order!r}: floats give {value!r}, outside of the certified "
                f"[{found.lower!r}, {found.upper!r}]."
            )
        enclosure = Enclosure(lower=found.lower, upper=found.upper)
        # The safe end: a sound bound is rounded up, and so is a published number.
        value = found.upper if asked_epsilon else max(found.upper, _TINY)
    return Guarantee(
        epsilon=value if question.epsilon is None else question.epsilon,
        delta=value if question.delta is None else question.delta,
        adjacency=question.adjacency,
        bound=bound,
        kind=route.kind,
        order=best.order,
        conversion=route.conversion,
        enclosure=enclosure,
        assumptions=route.assumptions(),
        notes=(best.note,) if best.note else (),
    )


def _best(route: Route, question: Question) -> BestOrder:
    conversion = route.conversion
    if conversion == "optimal" and question.delta is not None and route.grid is None:
        found = _best_by_room(route, question.limits, question.delta)
        if found is not None:
            return found

    def objective_of(name: str) -> Callable[[Array], Array]:
        def objective(orders: Array) -> Array:
            rdp = route.curve(orders)
            if question.delta is not None:
                values = EPSILON[name](orders, rdp, question.delta)
            else:
                assert question.epsilon is not None
                # What underflows is rounded up: a delta of 0 would claim what nobody proved.
                values = np.log(np.maximum(DELTA[name](orders, rdp, question.epsilon), _TINY))
            if np.isnan(values).any():
                raise ArithmeticError(f"The conversion {name!r} could not be computed.")
            return values

        return objective

    if route.grid is not None:
        return on_grid(objective_of(conversion), route.grid)
    # The optimal conversion is dearer: the cheaper one that bounds it finds the region.
    coarse = objective_of("balle2020" if conversion == "optimal" else conversion)
    refined = objective_of(conversion) if conversion == "optimal" else None
    smallest, largest = question.limits
    return minimise(coarse, route.allowed, smallest=smallest, largest=largest, refined=refined)


def _best_by_room(route: Route, limits: tuple[float, float], delta: float) -> BestOrder | None:
    """The best order by the optimal conversion, without converting at every order.

    At the smallest epsilon every order a has r(a) >= R(a), R the largest divergence that the
    conversion turns into that epsilon (:mod:`rdpkit.conversions.largest_rdp`), and the best order
    has equality. The order at which log(r / R) is lowest, R taken at some larger epsilon, has a
    smaller epsilon than that, and so on: this converges as Newton's method does. None where Balle's
    epsilon is 0 or too large to begin with.
    """
    low, high = order_limits(route.allowed, *limits)
    if low > high or route.allowed.integers_only:
        return None
    span = (math.log(low - 1.0), math.log(high - 1.0))
    known: dict[float, float] = {}
    evaluate = route.learn
    focus = (0.0, math.inf)

    def curve(orders: Array) -> Array:
        missing = [a for a in orders.tolist() if a not in known]
        if missing:
            known.update(zip(missing, evaluate(np.array(missing)).tolist(), strict=True))
        return np.array([known[a] for a in orders.tolist()])

    def by_balle(places: Array) -> Array:
        orders = 1.0 + np.exp(places)
        return EPSILON["balle2020"](orders, curve(orders), delta)

    grid, values = spread(by_balle, span)
    epsilon = float(values.min())
    if math.isnan(epsilon) or not 0.0 < epsilon < LARGEST_EPSILON:
        return None
    order = 1.0 + math.exp(float(grid[int(np.argmin(values))]))
    # Unlike Balle's, the optimal conversion likes orders close to 1.
    u = math.log(order - 1.0)
    places = grid[(grid >= u - math.log(20.0)) & (grid <= u + math.log(4.0))]
    # Where the best place is expected next, and how far from there at most.
    centre, reach = math.inf, _FIRST_REACH
    for _ in range(_ROUNDS):

        def score(places: Array, epsilon: float = epsilon) -> Array:
            orders = 1.0 + np.exp(places)
            room = largest_rdp(orders, epsilon=epsilon, delta=delta, conversion="optimal")
            with np.errstate(divide="ignore"):
                return np.asarray(np.log(curve(orders)) - np.log(room))

        scores = score(places)
        if int(np.argmin(scores)) in (0, scores.size - 1):
            places, scores = spread(score, span)
        lowest_place = math.exp(float(places[int(np.argmin(scores))]))
        if evaluate is route.learn or not focus[0] < lowest_place < focus[1]:
            # From here on a few orders at a time, near one: with the theorems that decide there.
            focus = (lowest_place / _NEARBY, lowest_place * _NEARBY)
            evaluate = route.near(*focus)
        found = lowest(score, (places, scores), span, _accepted, _certain)
        if found.best >= 0.0:
            break
        order = 1.0 + math.exp(found.place)
        (rdp,) = curve(np.array([order])).tolist()
        if rdp == 0.0:
            return BestOrder(value=0.0, order=order, note=None)
        epsilon = optimal_epsilon(order, rdp, delta)[0]
        if epsilon == 0.0 or found.best > -_SETTLED:
            break
        # Dearest of all is the conversion: only where it may decide.
        around, reach = found.place + reach * WINDOW, min(reach, 4.0 * abs(found.place - centre))
        centre = found.place
        places = np.unique(np.clip([*_still_possible(places, scores), *around], *span))
    # Once more with all theorems; those that interpolate between integers have their minima there.
    last = np.unique([math.floor(order), order, math.ceil(order)])
    last = last[(low <= last) & (last <= high)]
    finals = [
        (0.0 if rdp == 0.0 else optimal_epsilon(near, rdp, delta)[0], near)
        for near, rdp in zip(last.tolist(), route.curve(last).tolist(), strict=True)
        if math.isfinite(rdp)
    ]
    epsilon, order = min(finals, default=(epsilon, order))
    return BestOrder(value=epsilon, order=order, note=edge_note(order, low, high))


def _still_possible(places: Array, scores: Array) -> Array:
    """The places that may be best, or next to the best, at a smaller epsilon.

    R falls with epsilon, so that every score rises, and the best one stays at or below 0: where a
    score is above 0 already, it will not be the best. Nor will a place between such ones, unless
    they are a valley that may reach below 0; on a slope that goes on it falls no farther than it
    has come.
    """
    kept = scores <= 0.0
    padded = np.concatenate([scores[:1], scores, scores[-1:]])
    for k in valleys(scores).tolist():
        kept[k] |= 2.0 * scores[k] <= max(padded[k], padded[k + 2])
    kept[int(np.argmin(scores))] = True
    beside = kept.copy()
    beside[1:] |= kept[:-1]
    beside[:-1] |= kept[1:]
    return places[beside]


def _accepted(score: float) -> float:
    """What error a score may have: epsilon's is at most about as large, relative to it."""
    return max(1e-2 * abs(score), _SMALLEST_ERROR)


def _certain(valley: Valley) -> bool:
    """Whether a valley's bottom was looked at, or hardly differs from what was."""
    return valley.best - valley.bottom <= _accepted(valley.bottom)


def upper_range(event: Event, adjacency: Adjacency) -> OrderRange:
    """The orders worth searching: below the smallest limit that any part of the event has."""
    highest = math.inf
    included = True
    for leaf in leaves(event):
        if isinstance(leaf, CustomRdp) or leaf.expand() is None:
            ranges = [b.order_range(leaf, adjacency) for b in sound_bounds(leaf, adjacency)]
            if ranges:
                top = max(r.highest for r in ranges)
                if top < highest:
                    highest = top
                    included = all(r.includes_highest for r in ranges if r.highest == top)
    return OrderRange(highest=highest, includes_highest=included and math.isfinite(highest))


def _theorem_assumptions(
    event: Event, adjacency: Adjacency, only: dict[type[Event], str]
) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for leaf in leaves(event):
        for assumption in leaf.assumptions() if leaf is not event else ():
            found[assumption] = None
        for bound in sound_bounds(leaf, adjacency):
            if only.get(type(leaf), bound.id) == bound.id:
                for assumption in bound.assumptions(leaf):
                    found[assumption] = None
    return tuple(found)


def check_limits(order_limits: tuple[float, float]) -> tuple[float, float]:
    """A pair of orders, checked."""
    condition = "to be a pair (smallest, largest) with 1 < smallest <= largest"
    try:
        smallest, largest = order_limits
    except (TypeError, ValueError):
        raise _validate.fail("order_limits", condition, order_limits) from None
    low = _validate.order("order_limits[0]", smallest)
    high = _validate.order("order_limits[1]", largest)
    if low > high:
        raise _validate.fail("order_limits", condition, order_limits)
    return low, high
