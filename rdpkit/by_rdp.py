"""Guarantees from Renyi divergences: the best order by floats, then certified in balls."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rdpkit import _validate
from rdpkit.adjacency import Adjacency
from rdpkit.bounds import BOUNDS, OrderRange
from rdpkit.bounds.base import Kind, RdpBound
from rdpkit.bounds.composition import UpperBounds, leaves, sound_bounds
from rdpkit.conversions import DELTA, EPSILON
from rdpkit.events import CustomRdp, Event
from rdpkit.guarantee import Enclosure, Guarantee
from rdpkit.numerics import conversion_balls
from rdpkit.numerics.balls import float_above, float_below
from rdpkit.order_search import BestOrder, minimise, on_grid

Array = NDArray[np.float64]

BEST_ID = "best"

# A certificate that is further from the float value than this means that one of the two is wrong.
_DISAGREEMENT = 1e-6
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


def upper(event: Event, bound: str, question: Question) -> Guarantee:
    """The best sound theorem ("best"), or one of them for the events that it is about."""
    adjacency = question.adjacency
    only: dict[type[Event], str] = {}
    if bound != BEST_ID:
        only = {
            type(leaf): bound
            for leaf in leaves(event)
            if any(b.id == bound for b in sound_bounds(leaf, adjacency))
        }
    evaluator = UpperBounds(only)
    conversion = question.conversion or "optimal"

    def curve(orders: Array) -> Array:
        return evaluator.rdp(event, orders, adjacency)

    best = _best(curve, _upper_range(event, adjacency), conversion, question, grid=None)
    if best.order is None:
        name = "none" if bound == BEST_ID else bound
    else:
        name = " + ".join(evaluator.used(event, best.order, adjacency))
    interval = None
    if question.certify and best.order is not None:
        ball = evaluator.ball(event, best.order, adjacency)
        interval = None if ball is None else (float_below(ball), float_above(ball))
    assumptions = (*event.assumptions(), *_theorem_assumptions(event, adjacency, only))
    found = _guarantee(
        question,
        best,
        interval,
        bound=name,
        kind=Kind.UPPER,
        conversion=conversion,
        assumptions=assumptions,
    )
    if conversion != "optimal" or question.conversion is not None or interval is None:
        return found
    value = best.value if question.epsilon is None else math.exp(best.value)
    certified = found.epsilon if question.epsilon is None else found.delta
    if certified <= value * (1.0 + _DISAGREEMENT):
        return found
    # The certificate of the optimal conversion is loose here: Balle's may do better.
    other = upper(event, bound, replace(question, conversion="balle2020"))
    better = other.epsilon < found.epsilon or other.delta < found.delta
    return other if better else found


def published(event: Event, theorem: RdpBound, question: Question) -> Guarantee:
    """What a published theorem gives, by its own conversion unless another is asked for."""
    adjacency = question.adjacency
    conversion = question.conversion or theorem.conversion

    def curve(orders: Array) -> Array:
        return theorem.values(event, orders, adjacency)

    grid = theorem.grid if question.use_grid else None
    best = _best(curve, theorem.order_range(event, adjacency), conversion, question, grid=grid)
    interval = None
    if question.certify and best.order is not None and theorem.ball is not None:
        ball = theorem.ball(event, best.order, adjacency)
        interval = (float_below(ball), float_above(ball))
    assumptions = (*event.assumptions(), *theorem.assumptions(event))
    return _guarantee(
        question,
        best,
        interval,
        bound=theorem.id,
        kind=theorem.kind,
        conversion=conversion,
        assumptions=assumptions,
    )


def _guarantee(
    question: Question,
    best: BestOrder,
    interval: tuple[float, float] | None,
    *,
    bound: str,
    kind: Kind,
    conversion: str,
    assumptions: tuple[str, ...],
) -> Guarantee:
    asked_epsilon = question.epsilon is None
    value = best.value if asked_epsilon else min(math.exp(best.value), 1.0)
    enclosure = None
    if interval is not None and best.order is not None:
        rdp = conversion_balls.Interval(lower=max(interval[0], 0.0), upper=interval[1])
        if asked_epsilon:
            assert question.delta is not None
            found = conversion_balls.epsilon(conversion, best.order, rdp, question.delta)
        else:
            assert question.epsilon is not None
            found = conversion_balls.delta(conversion, best.order, rdp, question.epsilon)
        # An epsilon is a difference of terms of order log(1/delta): their rounding is absolute.
        slack = 1e-11 if asked_epsilon else 0.0
        if value > found.upper * (1.0 + _DISAGREEMENT) + slack + _TINY or (
            value < found.lower * (1.0 - _DISAGREEMENT) - slack
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
        kind=kind,
        order=best.order,
        conversion=conversion,
        enclosure=enclosure,
        assumptions=assumptions,
        notes=(best.note,) if best.note else (),
    )


def _best(
    curve: Callable[[Array], Array],
    allowed: OrderRange,
    conversion: str,
    question: Question,
    *,
    grid: tuple[float, ...] | None,
) -> BestOrder:
    def objective_of(name: str) -> Callable[[Array], Array]:
        def objective(orders: Array) -> Array:
            rdp = curve(orders)
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

    if grid is not None:
        return on_grid(objective_of(conversion), grid)
    # The optimal conversion is dearer: the cheaper one that bounds it finds the region.
    coarse = objective_of("balle2020" if conversion == "optimal" else conversion)
    refined = objective_of(conversion) if conversion == "optimal" else None
    smallest, largest = question.limits
    return minimise(coarse, allowed, smallest=smallest, largest=largest, refined=refined)


def _upper_range(event: Event, adjacency: Adjacency) -> OrderRange:
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
