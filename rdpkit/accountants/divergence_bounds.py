"""One bound on the Renyi divergence of one event, at every order: the best theorems, or a paper's.

Float values propose an order; the divergence at that order is then enclosed in ball arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from flint import arb

from rdpkit.accountants.event_tree import Focus, Trace, UpperBounds, leaves, sound_bounds
from rdpkit.adjacency import Adjacency
from rdpkit.bounds import BOUNDS, OrderRange
from rdpkit.bounds.base import Array, Kind, RdpBound
from rdpkit.events import Event
from rdpkit.numerics.balls import float_above, float_below

OrderCurve = Callable[[Array], Array]
"""Maps orders of shape (k,) to divergences of shape (k,)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DivergenceBound:
    """One bound on one event, as a function of the Renyi order."""

    kind: Kind  # Upper or published
    conversion: str  # From Renyi divergences to (epsilon, delta)
    allowed: OrderRange  # The orders worth searching
    grid: tuple[float, ...] | None
    """The only orders to use, where a published number was computed so."""
    curve: OrderCurve  # Maps orders of shape (k,) to divergences
    traced_curve: OrderCurve  # The same, and notes which theorems decide at which order
    focus_near: Callable[[float, float], Focus | None]
    """Maps two distances from 1 to the theorems that decided at orders between them where
    ``traced_curve`` was called; None where there is nothing to leave out.
    """
    curve_in: Callable[[Focus | None], OrderCurve]
    """Maps such a focus to a curve that uses its theorems alone; it is nowhere below ``curve``."""
    ball: Callable[[float], arb | None]
    """Maps one order to a ball around the divergence, or None where there is none."""
    name: Callable[[float | None], str]
    """Maps the order, or None, to the id of the bound that decides there."""
    assumptions: Callable[[], tuple[str, ...]]  # Lists what the bound assumes

    def interval(self, order: float) -> tuple[float, float] | None:
        """Floats below and above the divergence at ``order``; None where no ball is known."""
        ball = self.ball(order)
        return None if ball is None else (float_below(ball), float_above(ball))


def upper_ids(event: Event, adjacency: Adjacency) -> list[str]:
    """Ids of the sound theorems about the event or an event inside of it."""
    found: dict[str, None] = {}
    for leaf, relation in leaves(event, adjacency):
        for bound in sound_bounds(leaf, relation):
            found[bound.id] = None
    return list(found)


def published_bounds(event: Event, adjacency: Adjacency) -> tuple[str, ...]:
    """Ids of the published bounds about this event; the one to be read first comes first."""
    return tuple(b.id for b in BOUNDS if b.kind is Kind.PUBLISHED and b.applies(event, adjacency))


def find_published(event: Event, adjacency: Adjacency, identifier: str) -> RdpBound | None:
    """The published bound of that id, if it is about the event."""
    for bound in BOUNDS:
        published = bound.id == identifier and bound.kind is Kind.PUBLISHED
        if published and bound.applies(event, adjacency):
            return bound
    return None


def only_theorem(event: Event, bound: str | None, adjacency: Adjacency) -> dict[type[Event], str]:
    """The types of event for which one sound theorem is used alone, with its id."""
    return {
        type(leaf): bound
        for leaf, relation in leaves(event, adjacency)
        if bound is not None and any(b.id == bound for b in sound_bounds(leaf, relation))
    }


def upper_bound(
    event: Event,  # What was released
    adjacency: Adjacency,  # The neighbouring relation
    *,
    theorem: str | None = None,  # Id of the theorem to use alone
    conversion: str | None = None,  # By default "optimal"
    focus: Focus | None = None,  # The theorems that ``traced_curve`` tries; by default all
) -> DivergenceBound:
    """The best sound theorems, or one of them for the events that it is about."""
    only = only_theorem(event, theorem, adjacency)
    evaluator = UpperBounds(only)
    traces: list[Trace] = []
    tracing = UpperBounds(only, focus, traces=traces)

    def focus_near(nearest: float, farthest: float) -> Focus | None:
        return Focus.of(traces, nearest, farthest) if traces else None

    def curve_in(near: Focus | None) -> OrderCurve:
        focused = UpperBounds(only, near)
        return lambda orders: focused.rdp(event, orders, adjacency)

    def name(order: float | None) -> str:
        if order is None:
            return theorem or "none"
        return " + ".join(evaluator.used(event, order, adjacency))

    return DivergenceBound(
        kind=Kind.UPPER,
        conversion=conversion or "optimal",
        allowed=upper_range(event, adjacency),
        grid=None,
        curve=lambda orders: evaluator.rdp(event, orders, adjacency),
        traced_curve=lambda orders: tracing.rdp(event, orders, adjacency),
        focus_near=focus_near,
        curve_in=curve_in,
        ball=lambda order: evaluator.ball(event, order, adjacency),
        name=name,
        assumptions=lambda: tuple(
            dict.fromkeys((*event.assumptions(), *_theorem_assumptions(event, adjacency, only)))
        ),
    )


def published_bound(
    event: Event,
    theorem: RdpBound,
    adjacency: Adjacency,
    *,
    conversion: str | None = None,
    use_grid: bool = True,
) -> DivergenceBound:
    """What a published theorem gives, by its own conversion unless another is asked for."""

    def ball(order: float) -> arb | None:
        return None if theorem.ball is None else theorem.ball(event, order, adjacency)

    def curve(orders: Array) -> Array:
        return theorem.values(event, orders, adjacency)

    return DivergenceBound(
        kind=theorem.kind,
        conversion=conversion or theorem.conversion,
        allowed=theorem.order_range(event, adjacency),
        grid=theorem.grid if use_grid else None,
        curve=curve,
        traced_curve=curve,
        focus_near=lambda nearest, farthest: None,
        curve_in=lambda focus: curve,
        ball=ball,
        name=lambda order: theorem.id,
        assumptions=lambda: (*event.assumptions(), *theorem.assumptions(event)),
    )


def upper_range(event: Event, adjacency: Adjacency) -> OrderRange:
    """The orders worth searching: up to the smallest limit of any part of the event."""
    highest = math.inf
    included = True
    for leaf, relation in leaves(event, adjacency):
        if leaf.expand() is None:
            ranges = [b.order_range(leaf, relation) for b in sound_bounds(leaf, relation)]
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
    for leaf, relation in leaves(event, adjacency):
        for assumption in leaf.assumptions() if leaf is not event else ():
            found[assumption] = None
        for bound in sound_bounds(leaf, relation):
            if only.get(type(leaf), bound.id) == bound.id:
                for assumption in bound.assumptions(leaf):
                    found[assumption] = None
    return tuple(found)
