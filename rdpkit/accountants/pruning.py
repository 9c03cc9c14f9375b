"""Evaluating an event tree with less work: parts that cannot decide are left out.

Guarantee
---------
The numbers are those of :class:`rdpkit.accountants.event_tree.UpperBounds`. Of the disjoint parts
of a :class:`rdpkit.Parallel` only some can be the largest: releases of the same kind, less often,
from a smaller share of the records or with more noise have at most the divergence, by every
theorem, since all of them rise with the number of releases and with the sampling probability and
fall with the noise multiplier. A part is dropped if another one dominates it so, and where a record
may move from part to part, if two others do.

A :class:`Focus` drops more, on purpose: theorems that did not decide near the orders at which it
was learnt. What is computed under one is a proposal, not a bound.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray

from rdpkit.accountants.event_tree import UpperBounds
from rdpkit.adjacency import Adjacency
from rdpkit.bounds.base import Array, RdpBound
from rdpkit.events import (
    Composed,
    Event,
    FixedSizeSampledGaussian,
    Gaussian,
    Parallel,
    PoissonSampledGaussian,
    Repeated,
)

_PARTS_THAT_MEET = 2
_ONE = Adjacency.ADD_OR_REMOVE_ONE
# The theorem that is most often the best one where a record is replaced.
_LIKELY = "profile-sampling"


@dataclass(frozen=True, slots=True)
class Focus:
    """Which theorems decide near some orders, by kind of event and adjacency.

    Parameters
    ----------
    theorems : dict
        Ids by (event type, adjacency), "" for the event's expansion; a kind that is not there is
        evaluated with all theorems.
    ends_decide : bool
        Whether a record that moves from part to part decides wherever parts are parallel.
    """

    theorems: Mapping[tuple[type[Event], Adjacency], frozenset[str]]
    ends_decide: bool

    @classmethod
    def of(cls, traces: Sequence[Trace], nearest: float, farthest: float) -> Focus:
        """What decided at orders minus one in [nearest, farthest]."""
        theorems: dict[tuple[type[Event], Adjacency], set[str]] = {}
        ends_decide = True
        for trace in traces:
            inside = (trace.orders - 1.0 >= nearest) & (trace.orders - 1.0 <= farthest)
            if not inside.any():
                continue
            for key, names, deciding in trace.theorems:
                chosen = theorems.setdefault(key, set())
                chosen.update(names[k] for k in np.unique(deciding[inside]))
            ends_decide &= all(bool(moved[inside].all()) for moved in trace.moved)
        return cls(
            theorems={key: frozenset(names) for key, names in theorems.items()},
            ends_decide=ends_decide,
        )


@dataclass(frozen=True, slots=True)
class Trace:
    """Which theorem decided where, in one evaluation.

    Parameters
    ----------
    orders : ndarray, shape (k,)
        The orders.
    theorems : list
        For every part: its kind and the adjacency, the names of its theorems, and for every order
        the index of the one that decides.
    moved : list of ndarray
        For every parallel part and every order, whether a record that moves decides.
    """

    orders: Array
    theorems: list[tuple[tuple[type[Event], Adjacency], tuple[str, ...], NDArray[np.int64]]]
    moved: list[NDArray[np.bool_]]


class Economical(UpperBounds):
    """The best sound divergence of an event tree, without the parts that cannot decide.

    Parameters
    ----------
    only : mapping from event type to bound id, optional
        As for :class:`rdpkit.accountants.event_tree.UpperBounds`.
    focus : Focus, optional
        Evaluate only what decided when it was learnt.
    """

    def __init__(
        self, only: Mapping[type[Event], str] | None = None, focus: Focus | None = None
    ) -> None:
        super().__init__(only)
        self._focus = focus
        self._trace: Trace | None = None
        self._reduced: dict[tuple[Event, Adjacency], Event] = {}

    def trace(self, event: Event, orders: Array, adjacency: Adjacency) -> tuple[Array, Trace]:
        """All theorems' divergences, and which of them decided where."""
        self._trace = Trace(orders=orders, theorems=[], moved=[])
        values = self.rdp(event, orders, adjacency)
        trace, self._trace = self._trace, None
        return values, trace

    def _fewer(self, event: Event, adjacency: Adjacency) -> Event:
        if not isinstance(event, Parallel):
            return event
        key = (event, adjacency)
        if key not in self._reduced:
            needed = _PARTS_THAT_MEET if self._may_move(event, adjacency) else 1
            kept = undominated(event.events, needed)
            self._reduced[key] = replace(event, events=kept)
        return self._reduced[key]

    def _compute(
        self,
        event: Event,
        orders: Array,
        adjacency: Adjacency,
        memo: dict[tuple[Event, Adjacency], Array],
    ) -> Array:
        if isinstance(event, Parallel):
            event = self._fewer(event, adjacency)
            assert isinstance(event, Parallel)
            if self._may_move(event, adjacency) and (self._focus or self._trace):
                return self._where_a_record_moves(event, orders, adjacency, memo)
        elif self._trace is not None and not isinstance(event, (Composed, Repeated)):
            return self._all_theorems(event, orders, adjacency, memo)
        return super()._compute(event, orders, adjacency, memo)

    def _where_a_record_moves(
        self,
        event: Parallel,
        orders: Array,
        adjacency: Adjacency,
        memo: dict[tuple[Event, Adjacency], Array],
    ) -> Array:
        ends = np.stack([self._evaluate(part, orders, _ONE, memo) for part in event.events])
        ends.sort(axis=0)
        moved = np.asarray(ends[-1] + ends[-2])
        if self._focus is not None and self._focus.ends_decide:
            return moved
        # The larger of both counts: a theorem that puts what stays in its part below what moves is
        # as good as the best one.
        within = np.maximum.reduce(
            [self._low_enough(part, orders, adjacency, moved, memo) for part in event.events]
        )
        if self._trace is not None:
            self._trace.moved.append(within <= moved)
        return np.asarray(np.maximum(within, moved))

    def _low_enough(
        self,
        event: Event,
        orders: Array,
        adjacency: Adjacency,
        enough: Array,
        memo: dict[tuple[Event, Adjacency], Array],
    ) -> Array:
        """A bound on a part: the best one, or one that is nowhere above ``enough``."""
        found = self._likely(event, adjacency)
        if found is not None:
            bound, inner, times = found
            values = times * bound.values(inner, orders, adjacency)
            if (values <= enough).all():
                return np.asarray(values)
        return self._evaluate(event, orders, adjacency, memo)

    def _likely(self, event: Event, adjacency: Adjacency) -> tuple[RdpBound, Event, int] | None:
        """The one of several theorems that is likely the best, its event, and how often it is."""
        times = 1
        while isinstance(event, Repeated):
            times *= event.count
            event = event.event
        if isinstance(event, (Composed, Parallel)):
            return None
        candidates, expanded = self._routes(event, adjacency)
        likely = [bound for bound in candidates if bound.id == _LIKELY]
        if expanded is not None or len(candidates) == 1 or not likely:
            return None
        return likely[0], event, times

    def _all_theorems(
        self,
        event: Event,
        orders: Array,
        adjacency: Adjacency,
        memo: dict[tuple[Event, Adjacency], Array],
    ) -> Array:
        assert self._trace is not None
        candidates, expanded = self._routes(event, adjacency)
        names = [bound.id for bound in candidates]
        rows = [bound.values(event, orders, adjacency) for bound in candidates]
        if expanded is not None:
            names.append("")
            rows.append(self._evaluate(expanded, orders, adjacency, memo))
        if not rows:
            return np.full(orders.shape, np.inf)
        table = np.stack(rows)
        key = (type(event), adjacency)
        self._trace.theorems.append((key, tuple(names), np.argmin(table, axis=0)))
        return np.asarray(table.min(axis=0))

    def _routes(
        self, event: Event, adjacency: Adjacency
    ) -> tuple[tuple[RdpBound, ...], Event | None]:
        candidates, expanded = super()._routes(event, adjacency)
        chosen = None if self._focus is None else self._focus.theorems.get((type(event), adjacency))
        if not chosen:
            return candidates, expanded
        return (
            tuple(bound for bound in candidates if bound.id in chosen),
            expanded if "" in chosen else None,
        )

    def _compute_ball(
        self,
        event: Event,
        order: float,
        adjacency: Adjacency,
        memo: dict[tuple[Event, Adjacency], arb | None],
    ) -> arb | None:
        event = self._fewer(event, adjacency)
        if isinstance(event, Parallel) and self._may_move(event, adjacency):
            return self._ball_where_a_record_moves(event, order, adjacency, memo)
        alone = self._only_theorem(event, adjacency)
        if alone is not None and alone.ball is not None:
            # There is nothing to choose, so nothing to compare in floats.
            inside = alone.order_range(event, adjacency).contains(np.array([order]))[0]
            return alone.ball(event, order, adjacency) if inside else None
        return super()._compute_ball(event, order, adjacency, memo)

    def _ball_where_a_record_moves(
        self,
        event: Parallel,
        order: float,
        adjacency: Adjacency,
        memo: dict[tuple[Event, Adjacency], arb | None],
    ) -> arb | None:
        ends = self._balls(event.events, order, _ONE, memo)
        if ends is None:
            return None
        moved = [ends[i] + ends[j] for i in range(len(ends)) for j in range(i)]
        enough = max(float(ball.mid()) for ball in moved)
        within: list[arb] = []
        for part in event.events:
            found = self._likely(part, adjacency)
            ball: arb | None = None
            if found is not None and found[0].ball is not None:
                bound, inner, times = found
                value = times * float(bound.values(inner, np.array([order]), adjacency)[0])
                # Any theorem's ball is an upper bound; one that does not count need not be best.
                if value <= enough and bound.ball is not None:
                    ball = bound.ball(inner, order, adjacency) * times
            ball = self._ball(part, order, adjacency, memo) if ball is None else ball
            if ball is None:
                return None
            within.append(ball)
        return largest([*within, *moved])

    def _collect(
        self,
        event: Event,
        order: Array,
        adjacency: Adjacency,
        memo: dict[tuple[Event, Adjacency], Array],
        found: dict[str, None],
    ) -> None:
        event = self._fewer(event, adjacency)
        alone = self._only_theorem(event, adjacency)
        if alone is not None:
            found[alone.id] = None
        else:
            super()._collect(event, order, adjacency, memo, found)

    def _only_theorem(self, event: Event, adjacency: Adjacency) -> RdpBound | None:
        """The theorem about an event that has no other and no expansion."""
        if isinstance(event, (Composed, Parallel, Repeated)):
            return None
        candidates, expanded = self._routes(event, adjacency)
        return candidates[0] if len(candidates) == 1 and expanded is None else None


class Learner:
    """All theorems, noting which of them decide where, and what decided near an order.

    Parameters
    ----------
    event : Event
        The release.
    adjacency : Adjacency
        The neighbouring relation.
    only : mapping from event type to bound id
        As for :class:`rdpkit.accountants.event_tree.UpperBounds`.
    focus : Focus, optional
        What was learnt before.
    """

    def __init__(
        self,
        event: Event,
        adjacency: Adjacency,
        only: Mapping[type[Event], str],
        focus: Focus | None = None,
    ) -> None:
        self._event, self._adjacency, self._only, self._focus = event, adjacency, only, focus
        self._seen: list[Trace] = []

    def rdp(self, orders: Array) -> Array:
        """Divergences by all theorems (of the focus)."""
        evaluator = Economical(self._only, self._focus)
        values, trace = evaluator.trace(self._event, orders, self._adjacency)
        self._seen.append(trace)
        return values

    def near(self, nearest: float, farthest: float) -> Focus | None:
        """What decided at orders minus one in [nearest, farthest]; None if nothing was asked."""
        return Focus.of(self._seen, nearest, farthest) if self._seen else None

    def curve_near(self, nearest: float, farthest: float) -> Callable[[Array], Array]:
        """Divergences by those theorems alone that decided at orders minus one in that range.

        Nowhere below those by all theorems.
        """
        evaluator = Economical(self._only, self.near(nearest, farthest))
        return lambda orders: evaluator.rdp(self._event, orders, self._adjacency)


def largest(balls: Sequence[arb]) -> arb:
    """A ball around the largest of the numbers in some balls."""
    found = balls[0]
    for ball in balls[1:]:
        found = found.max(ball)
    return found


def undominated(parts: tuple[Event, ...], needed: int) -> tuple[Event, ...]:
    """The parts of which fewer than ``needed`` others leak at least as much by every theorem.

    Parameters
    ----------
    parts : tuple of Event
        Events on disjoint parts of the data.
    needed : int
        How many parts one record may touch.
    """
    groups: dict[Any, list[tuple[tuple[float, ...], int]]] = {}
    kept = set()
    for index, part in enumerate(parts):
        described = _described(part)
        if described is None:
            kept.add(index)
        else:
            signature, leak = described
            groups.setdefault(signature, []).append((leak, index))
    for members in groups.values():
        front: list[tuple[float, ...]] = []
        # The most leaking come first; equal ones in their own order.
        for leak, index in sorted(members, key=lambda m: (tuple(-x for x in m[0]), m[1])):
            above = sum(all(x >= y for x, y in zip(one, leak, strict=True)) for one in front)
            if above < needed:
                front.append(leak)
                kept.add(index)
    return tuple(part for index, part in enumerate(parts) if index in kept)


def _described(event: Event) -> tuple[Any, tuple[float, ...]] | None:
    """What two parts must have in common to be compared, and numbers that rise with what leaks."""
    if isinstance(event, Repeated):
        inner = _described(event.event)
        return None if inner is None else (("repeated", inner[0]), (event.count, *inner[1]))
    match event:
        case Gaussian():
            same: Any = (event.record_norm, event.record_diameter)
            return (Gaussian, same), (-event.noise_std,)
        case PoissonSampledGaussian():
            same = (event.record_norm, event.record_diameter)
            leak = (event.sampling_probability, -event.noise_std)
            return (PoissonSampledGaussian, same), leak
        case FixedSizeSampledGaussian():
            same = (event.record_norm, event.record_diameter, event.sample_size, event.release)
            return (FixedSizeSampledGaussian, same), (-event.population_size, -event.noise_std)
        case _:
            return None
