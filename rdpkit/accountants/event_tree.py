r"""Renyi divergence of events made of events, and the best sound theorem for each of their parts.

Guarantee
---------
The divergence returned is an upper bound between neighbours, order by order:

* releases one after the other, adaptively: the sum (Mironov 2017, Proposition 1);
* the same release ``count`` times: ``count`` times it;
* disjoint parts under add-or-remove-one: the largest, since one part is touched (Chaudhuri et al.);
* disjoint parts under replace-one: the largest of one part's replace-one divergence and, unless a
  record keeps its part, of the sum of two parts' add-or-remove-one divergences: the record leaves
  one part and joins another;
* a mechanism of a paper: its own sound theorems, or those of the primitive events that it
  expands to, whichever is smaller.

Assumes
-------
Fresh randomness for each release.

Source
------
Mironov 2017, Proposition 1 (arXiv 1702.07476v3); Chaudhuri, Imola and Machanavajjhala 2019 for
parallel composition; replace-one across parts: rdpkit, theory page "Composition".
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np
from flint import arb, ctx

from rdpkit.adjacency import Adjacency
from rdpkit.bounds import BOUNDS
from rdpkit.bounds.base import Array, Kind, RdpBound
from rdpkit.events import Composed, Event, Parallel, Repeated

_BOTH_ENDS = Adjacency.ADD_OR_REMOVE_ONE
# Values at so many orders at once are kept.
_FEW_ORDERS = 3


def leaves(event: Event) -> Iterator[Event]:
    """The events inside of compositions, mechanisms as they stand and expanded, each once."""
    seen: set[Event] = set()
    pending = [event]
    while pending:
        current = pending.pop()
        if current in seen:
            continue
        seen.add(current)
        if isinstance(current, Repeated):
            pending.append(current.event)
        elif isinstance(current, (Composed, Parallel)):
            pending.extend(current.events)
        else:
            yield current
            expanded = current.expand()
            if expanded is not None:
                pending.append(expanded)


def _largest(balls: list[arb]) -> arb:
    found = balls[0]
    for ball in balls[1:]:
        found = found.max(ball)
    return found


def sound_bounds(event: Event, adjacency: Adjacency) -> tuple[RdpBound, ...]:
    """The upper bounds that are about this very event."""
    return tuple(b for b in BOUNDS if b.kind is Kind.UPPER and b.applies(event, adjacency))


class UpperBounds:
    """Evaluates the best sound divergence of an event tree, remembering parts that recur.

    Parameters
    ----------
    only : mapping from event type to bound id, optional
        For these types of event use this theorem alone (where it applies) instead of the best.
    """

    def __init__(self, only: Mapping[type[Event], str] | None = None) -> None:
        self._only = dict(only or {})
        self._points: dict[tuple[str, Event, Adjacency, float], float] = {}
        self._memos: dict[float, dict[tuple[Event, Adjacency], Array]] = {}

    def rdp(self, event: Event, orders: Array, adjacency: Adjacency) -> Array:
        """Divergences at ``orders``; inf where no theorem says anything."""
        return self._evaluate(event, orders, adjacency, self._memo(orders))

    def ball(self, event: Event, order: float, adjacency: Adjacency) -> arb | None:
        """A ball that contains the bound that decides at ``order``; None if one has no ball.

        The theorem for every part is chosen by the float path. Any choice is a sound one, so the
        ball's upper end is a certified bound whatever the floats did.
        """
        with ctx.workprec(128):
            return self._ball(event, order, adjacency, {})

    def used(self, event: Event, order: float, adjacency: Adjacency) -> tuple[str, ...]:
        """Ids of the theorems that decide at ``order``, in order of appearance."""
        found: dict[str, None] = {}
        point = np.array([order])
        self._collect(event, point, adjacency, self._memo(point), found)
        return tuple(found)

    def _routes(
        self, event: Event, adjacency: Adjacency
    ) -> tuple[tuple[RdpBound, ...], Event | None]:
        """The theorems about this very event to try, and the expansion to try."""
        bounds = sound_bounds(event, adjacency)
        expanded = event.expand()
        if not self._only:
            return bounds, expanded
        chosen = tuple(b for b in bounds if b.id == self._only.get(type(event)))
        if chosen:
            return chosen, None
        # The theorem asked for is about something inside: go there, if there is an inside.
        return (bounds, None) if expanded is None else ((), expanded)

    def _memo(self, orders: Array) -> dict[tuple[Event, Adjacency], Array]:
        """Where divergences at ``orders`` are kept: those at one order for as long as this is."""
        return self._memos.setdefault(float(orders[0]), {}) if orders.size == 1 else {}

    def _evaluate(
        self,
        event: Event,
        orders: Array,
        adjacency: Adjacency,
        memo: dict[tuple[Event, Adjacency], Array],
    ) -> Array:
        key = (event, adjacency)
        if key not in memo:
            memo[key] = self._compute(event, orders, adjacency, memo)
        return memo[key]

    def _compute(
        self,
        event: Event,
        orders: Array,
        adjacency: Adjacency,
        memo: dict[tuple[Event, Adjacency], Array],
    ) -> Array:
        if isinstance(event, Repeated):
            return event.count * self._evaluate(event.event, orders, adjacency, memo)
        if isinstance(event, Composed):
            return np.asarray(
                sum(self._evaluate(part, orders, adjacency, memo) for part in event.events)
            )
        if isinstance(event, Parallel):
            within = [self._evaluate(part, orders, adjacency, memo) for part in event.events]
            largest = np.maximum.reduce(within)
            if not self._may_move(event, adjacency):
                return np.asarray(largest)
            ends = np.stack(
                [self._evaluate(part, orders, _BOTH_ENDS, memo) for part in event.events]
            )
            ends.sort(axis=0)
            return np.asarray(np.maximum(largest, ends[-1] + ends[-2]))
        result = np.full(orders.shape, np.inf)
        candidates, expanded = self._routes(event, adjacency)
        for bound in candidates:
            result = np.minimum(result, self._values(bound, event, orders, adjacency))
        if expanded is not None:
            result = np.minimum(result, self._evaluate(expanded, orders, adjacency, memo))
        return result

    def _ball(
        self,
        event: Event,
        order: float,
        adjacency: Adjacency,
        memo: dict[tuple[Event, Adjacency], arb | None],
    ) -> arb | None:
        key = (event, adjacency)
        if key not in memo:
            memo[key] = self._compute_ball(event, order, adjacency, memo)
        return memo[key]

    def _balls(
        self,
        events: tuple[Event, ...],
        order: float,
        adjacency: Adjacency,
        memo: dict[tuple[Event, Adjacency], arb | None],
    ) -> list[arb] | None:
        found = []
        for event in events:
            ball = self._ball(event, order, adjacency, memo)
            if ball is None:
                return None
            found.append(ball)
        return found

    def _compute_ball(
        self,
        event: Event,
        order: float,
        adjacency: Adjacency,
        memo: dict[tuple[Event, Adjacency], arb | None],
    ) -> arb | None:
        if isinstance(event, Repeated):
            one = self._ball(event.event, order, adjacency, memo)
            return None if one is None else one * event.count
        if isinstance(event, Composed):
            parts = self._balls(event.events, order, adjacency, memo)
            return None if parts is None else sum(parts, arb(0))
        if isinstance(event, Parallel):
            within = self._balls(event.events, order, adjacency, memo)
            if within is None:
                return None
            largest = _largest(within)
            if not self._may_move(event, adjacency):
                return largest
            ends = self._balls(event.events, order, _BOTH_ENDS, memo)
            if ends is None:
                return None
            pairs = [ends[i] + ends[j] for i in range(len(ends)) for j in range(i)]
            return _largest([largest, *pairs])
        chosen, expanded = self._deciding(event, order, adjacency)
        if chosen is not None:
            return None if chosen.ball is None else chosen.ball(event, order, adjacency)
        return None if expanded is None else self._ball(expanded, order, adjacency, memo)

    def _deciding(
        self, event: Event, order: float, adjacency: Adjacency
    ) -> tuple[RdpBound | None, Event | None]:
        """The theorem about this very event that is smallest at ``order``, or the expansion."""
        candidates, expanded = self._routes(event, adjacency)
        point = np.array([order])
        least = math.inf if expanded is None else float(self.rdp(expanded, point, adjacency)[0])
        chosen = None
        for bound in candidates:
            value = float(self._values(bound, event, point, adjacency)[0])
            if value < least or (value == least and chosen is None):
                least, chosen = value, bound
        return chosen, None if chosen is not None else expanded

    def _values(self, bound: RdpBound, event: Event, orders: Array, adjacency: Adjacency) -> Array:
        """A theorem's divergences; the search ends with a few orders, which are asked for again."""
        if orders.size == 1:
            known = self._points.get((bound.id, event, adjacency, float(orders[0])))
            if known is not None:
                return np.array([known])
        values = bound.values(event, orders, adjacency)
        if orders.size <= _FEW_ORDERS:
            for order, value in zip(orders.tolist(), values.tolist(), strict=True):
                self._points[bound.id, event, adjacency, order] = value
        return values

    @staticmethod
    def _may_move(event: Parallel, adjacency: Adjacency) -> bool:
        return (
            adjacency is Adjacency.REPLACE_ONE
            and not event.record_keeps_its_part
            and len(event.events) > 1
        )

    def _collect(
        self,
        event: Event,
        order: Array,
        adjacency: Adjacency,
        memo: dict[tuple[Event, Adjacency], Array],
        found: dict[str, None],
    ) -> None:
        if isinstance(event, Repeated):
            self._collect(event.event, order, adjacency, memo, found)
        elif isinstance(event, Composed):
            for part in event.events:
                self._collect(part, order, adjacency, memo, found)
        elif isinstance(event, Parallel):
            total = float(self._evaluate(event, order, adjacency, memo)[0])
            for part in event.events:
                if float(self._evaluate(part, order, adjacency, memo)[0]) == total:
                    self._collect(part, order, adjacency, memo, found)
                    return
            ranked = sorted(
                event.events,
                key=lambda part: float(self._evaluate(part, order, _BOTH_ENDS, memo)[0]),
            )
            for part in ranked[-2:]:
                self._collect(part, order, _BOTH_ENDS, memo, found)
        else:
            chosen, expanded = self._deciding(event, float(order[0]), adjacency)
            if chosen is not None:
                found[chosen.id] = None
            elif expanded is not None:
                self._collect(expanded, order, adjacency, memo, found)
