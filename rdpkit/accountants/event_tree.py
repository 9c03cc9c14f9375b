"""Renyi divergence of events made of events, and the best sound theorem for each of their parts.

Guarantee
---------
The divergence returned is an upper bound between neighbours, order by order:

* releases one after the other, adaptively: the sum (Mironov 2017, Proposition 1);
* the same release ``count`` times: ``count`` times it;
* disjoint parts under add-or-remove-one: the largest, since one part is touched (Chaudhuri et al.);
* disjoint parts under zero-out: the same, with the add-or-remove-one divergences of the parts,
  because the special record is in no part (with the parts' own zero-out divergences if it keeps
  the place of a record);
* disjoint parts under replace-one: the largest of one part's replace-one divergence and, unless a
  record keeps its part, of the sum of two parts' add-or-remove-one divergences: the record leaves
  one part and joins another;
* an event that is made of another one in any other way: a theorem about it, which is given the best
  divergences of the inner event (:class:`rdpkit.bounds.base.InnerDivergences`);
* a mechanism of a paper: its own sound theorems, or those of the primitive events that it
  expands to, whichever is smaller.

Disjoint parts that cannot decide are dropped before anything is evaluated
(:func:`deciding_parts`); this does not change the number. A :class:`Focus` leaves out theorems that
did not decide near the orders at which it was learnt: what is computed under one proposes an order,
and the number that is returned is computed without it.

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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from rdpkit import _validate
from rdpkit.adjacency import Adjacency
from rdpkit.bounds import BOUNDS
from rdpkit.bounds.base import Array, InnerDivergences, Kind, RdpBound
from rdpkit.events import Composed, Event, Parallel, Repeated
from rdpkit.events.composition import released_counts


@dataclass(frozen=True, slots=True)
class Focus:
    """Which theorems decide near some orders, by kind of event and adjacency."""

    theorems: Mapping[tuple[type[Event], Adjacency], frozenset[str]]
    """Ids by (event type, adjacency), "" for the event's expansion; a kind that is not there is
    evaluated with all theorems.
    """
    ends_decide: bool
    """Whether a record that moves from part to part decides wherever parts are parallel."""

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
    """Which theorem decided where, in one evaluation."""

    orders: Array  # The orders; shape (k,)
    theorems: list[tuple[tuple[type[Event], Adjacency], tuple[str, ...], NDArray[np.int64]]]
    """For every part: its kind and the adjacency, the names of its theorems, and for every order
    the index of the one that decides.
    """
    moved: list[NDArray[np.bool_]]
    """For every parallel part and every order, whether a record that moves decides."""


def deciding_parts(
    parts: tuple[Event, ...],  # Events on disjoint parts of the data
    touched: int,  # How many parts one changed record may touch: one, or two if it may move
) -> tuple[Event, ...]:
    """Those of some disjoint parts that may decide, whatever theorem is used.

    Guarantee
    ---------
    Of two primitive releases of the same kind, the one that is more private in each of its
    parameters (:meth:`rdpkit.Event.free_parameters`) and happens less often has at most the
    divergence of the other, by every theorem: all of them rise with the number of releases and with
    the sampling probability and fall with the noise multiplier. A part is dropped if ``touched``
    other parts have at least its divergence for this reason.
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
        # The parts that leak most come first, and equal parts in their own order.
        for leak, index in sorted(members, key=lambda m: (tuple(-x for x in m[0]), m[1])):
            above = sum(all(x >= y for x, y in zip(one, leak, strict=True)) for one in front)
            if above < touched:
                front.append(leak)
                kept.add(index)
    return tuple(part for index, part in enumerate(parts) if index in kept)


def _described(event: Event) -> tuple[Any, tuple[float, ...]] | None:
    """What two parts must have in common to be compared, and numbers that rise with what leaks."""
    if isinstance(event, Repeated):
        inner = _described(event.event)
        return None if inner is None else (("repeated", inner[0]), (event.count, *inner[1]))
    free = {
        name: parameter.private
        for name, parameter in event.free_parameters().items()
        if parameter.private != 0 and isinstance(getattr(event, name), (int, float))
    }
    if event.expand() is not None or not free:
        return None
    same = tuple(getattr(event, f.name) for f in fields(event) if f.name not in free)
    leak = tuple(-private * getattr(event, name) for name, private in free.items())
    return (type(event), tuple(free), same), leak


_BOTH_ENDS = Adjacency.ADD_OR_REMOVE_ONE
# Values are remembered if at most this many orders are asked for at once, as searches end with.
_FEW_ORDERS = 3
# The theorem that is most often the smallest one where a record is replaced.
_LIKELY_SMALLEST = "profile-sampling"


def leaves(event: Event, adjacency: Adjacency) -> Iterator[tuple[Event, Adjacency]]:
    """The events inside of compositions, mechanisms as they stand and expanded, each once.

    Each comes with the relation between the two versions of the data that it sees, which inside of
    disjoint parts may be another one than that of the whole event. A record that moves from one
    part to another is not followed.
    """
    seen: set[tuple[Event, Adjacency]] = set()
    pending = [(event, adjacency)]
    while pending:
        found = pending.pop()
        if found in seen:
            continue
        seen.add(found)
        current, relation = found
        if isinstance(current, Repeated):
            pending.append((current.event, relation))
        elif isinstance(current, Composed):
            pending.extend((part, relation) for part in current.events)
        elif isinstance(current, Parallel):
            pending.extend((part, current.inside(relation)) for part in current.events)
        else:
            yield found
            pending.extend((part, relation) for _, part in current.parts())
            expanded = current.expand()
            if expanded is not None:
                pending.append((expanded, relation))


def check_adjacency(event: Event, adjacency: Adjacency) -> None:
    """Raise a ValueError if a change of one record does what nobody knows to a part."""
    for leaf, relation in leaves(event, adjacency):
        if relation not in leaf.adjacencies:
            names = " or ".join(repr(member.value) for member in leaf.adjacencies)
            raise _validate.fail(
                "adjacency",
                f"to be {names}, under which {type(leaf).__name__} is described",
                relation.value,
            )


def sound_bounds(event: Event, adjacency: Adjacency) -> tuple[RdpBound, ...]:
    """The upper bounds that are about this very event."""
    return tuple(b for b in BOUNDS if b.kind is Kind.UPPER and b.applies(event, adjacency))


class _NoBallError(Exception):
    """The theorem that decides on a part has no enclosure."""


@dataclass(frozen=True, slots=True)
class _Evaluation:
    """Orders, what is known there, and a trace of what decided, if one is kept."""

    orders: Array
    known: dict[tuple[Event, Adjacency], Array] = field(default_factory=dict)  # Divergences
    balls: dict[tuple[Event, Adjacency], arb] = field(default_factory=dict)  # At a single order
    trace: Trace | None = None


class UpperBounds:
    """Evaluates the best sound divergence of an event tree, remembering parts that recur."""

    def __init__(
        self,
        # For these types of event use this theorem alone (where it applies) instead of the best.
        only: Mapping[type[Event], str] | None = None,
        focus: Focus | None = None,  # Evaluate only the theorems that decided when it was learnt
        *,
        # Where to note which theorems decide, one trace for every call of :meth:`rdp`.
        traces: list[Trace] | None = None,
    ) -> None:
        self._only = dict(only or {})
        self._focus = focus
        self._traces = traces
        self._points: dict[tuple[str, Event, Adjacency, float], float] = {}
        self._single_orders: dict[float, _Evaluation] = {}
        self._parts: dict[tuple[Parallel, Adjacency], Parallel] = {}
        self._inner: dict[tuple[Event, Adjacency], InnerDivergences] = {}

    def rdp(self, event: Event, orders: Array, adjacency: Adjacency) -> Array:
        """Divergences at ``orders``; inf where no theorem says anything."""
        if self._traces is None:
            return self._value(event, adjacency, self._at(orders))
        trace = Trace(orders=orders, theorems=[], moved=[])
        self._traces.append(trace)
        return self._value(event, adjacency, _Evaluation(orders=orders, trace=trace))

    def ball(self, event: Event, order: float, adjacency: Adjacency) -> arb | None:
        """A ball that contains the bound that decides at ``order``; None if one has no ball.

        The theorem for every part is chosen by the float path. Any choice is a sound one, so the
        ball's upper end is a certified bound whatever the floats did.
        """
        with ctx.workprec(128):
            try:
                return self.certain_ball(event, order, adjacency)
            except _NoBallError:
                return None

    def certain_ball(self, event: Event, order: float, adjacency: Adjacency) -> arb:
        """As :meth:`ball`, for a theorem that needs one: without a ball it has none itself."""
        # Balls are of the precision that is in force, and not remembered.
        return self._ball(event, adjacency, replace(self._at(np.array([order])), balls={}))

    def used(self, event: Event, order: float, adjacency: Adjacency) -> tuple[str, ...]:
        """Ids of the theorems that decide at ``order``, in order of appearance."""
        found: dict[str, None] = {}
        self._collect(event, adjacency, self._at(np.array([order])), found)
        return tuple(found)

    def _at(self, orders: Array) -> _Evaluation:
        """An empty evaluation, or the one that is kept for a single order."""
        if orders.size > 1:
            return _Evaluation(orders=orders)
        return self._single_orders.setdefault(float(orders[0]), _Evaluation(orders=orders))

    def _value(self, event: Event, adjacency: Adjacency, at: _Evaluation) -> Array:
        key = (event, adjacency)
        if key not in at.known:
            at.known[key] = self._compute(event, adjacency, at)
        return at.known[key]

    def _compute(self, event: Event, adjacency: Adjacency, at: _Evaluation) -> Array:
        if isinstance(event, Repeated):
            return event.count * self._value(event.event, adjacency, at)
        if isinstance(event, Composed):
            return np.asarray(sum(self._value(part, adjacency, at) for part in event.events))
        if isinstance(event, Parallel):
            return self._of_parallel(self._needed(event, adjacency), adjacency, at)
        bounds, expanded = self._theorems(event, adjacency)
        names = [bound.id for bound in bounds]
        rows = [self._theorem_values(bound, event, at.orders, adjacency) for bound in bounds]
        if expanded is not None:
            names.append("")
            rows.append(self._value(expanded, adjacency, at))
        if not rows:
            return np.full(at.orders.shape, np.inf)
        table = np.stack(rows)
        if at.trace is not None:
            key = (type(event), adjacency)
            at.trace.theorems.append((key, tuple(names), np.argmin(table, axis=0)))
        return np.asarray(table.min(axis=0))

    def _of_parallel(self, event: Parallel, adjacency: Adjacency, at: _Evaluation) -> Array:
        """The largest divergence of a part, or of two parts between which a record moves."""
        if not event.record_may_move(adjacency):
            relation = event.inside(adjacency)
            stays = [self._value(part, relation, at) for part in event.events]
            return np.asarray(np.maximum.reduce(stays))
        ends = np.stack([self._value(part, _BOTH_ENDS, at) for part in event.events])
        ends.sort(axis=0)
        moved = np.asarray(ends[-1] + ends[-2])
        if self._focus is not None and self._focus.ends_decide:
            return moved
        # The larger of the two numbers is returned, so a part that stays needs no best theorem once
        # any theorem shows that it is below the parts between which a record moves.
        within = np.maximum.reduce(
            [self._low_enough(part, adjacency, moved, at) for part in event.events]
        )
        if at.trace is not None:
            at.trace.moved.append(within <= moved)
        return np.asarray(np.maximum(within, moved))

    def _low_enough(
        self, event: Event, adjacency: Adjacency, enough: Array, at: _Evaluation
    ) -> Array:
        """A bound on a part: the best one, or one that is nowhere above ``enough``."""
        likely = self._likely_theorem(event, adjacency)
        if likely is not None:
            bound, inner, times = likely
            values = times * self._theorem_values(bound, inner, at.orders, adjacency)
            if (values <= enough).all():
                return np.asarray(values)
        return self._value(event, adjacency, at)

    def _needed(self, event: Parallel, adjacency: Adjacency) -> Parallel:
        """The event without the parts that cannot decide."""
        key = (event, adjacency)
        if key not in self._parts:
            touched = 2 if event.record_may_move(adjacency) else 1
            self._parts[key] = replace(event, events=deciding_parts(event.events, touched))
        return self._parts[key]

    def _theorems(
        self, event: Event, adjacency: Adjacency
    ) -> tuple[tuple[RdpBound, ...], Event | None]:
        """The theorems about this very event to try, and the expansion to try."""
        bounds = sound_bounds(event, adjacency)
        expanded = event.expand()
        if self._only:
            chosen = tuple(b for b in bounds if b.id == self._only.get(type(event)))
            if chosen:
                bounds, expanded = chosen, None
            elif expanded is not None:
                # The theorem asked for is about something inside of the event.
                bounds = ()
        near = None if self._focus is None else self._focus.theorems.get((type(event), adjacency))
        if near:
            bounds = tuple(bound for bound in bounds if bound.id in near)
            expanded = expanded if "" in near else None
        return bounds, expanded

    def _theorem_values(
        self, bound: RdpBound, event: Event, orders: Array, adjacency: Adjacency
    ) -> Array:
        """A theorem's divergences, remembered where few orders are asked for."""
        if orders.size == 1:
            known = self._points.get((bound.id, event, adjacency, float(orders[0])))
            if known is not None:
                return np.array([known])
        values = bound.values(event, orders, adjacency, self._inside(bound, event, adjacency))
        if orders.size <= _FEW_ORDERS:
            for order, value in zip(orders.tolist(), values.tolist(), strict=True):
                self._points[bound.id, event, adjacency, order] = value
        return values

    def _inside(
        self, bound: RdpBound, event: Event, adjacency: Adjacency
    ) -> InnerDivergences | None:
        """The divergences of the event inside of another one, if a theorem needs them.

        They are those of all theorems, because the orders at which they are asked for need not be
        near those that a focus was learnt at.
        """
        if bound.inner is None:
            return None
        key = (bound.inner(event), adjacency)
        if key not in self._inner:
            every = UpperBounds(self._only)
            self._inner[key] = InnerDivergences(
                rdp=lambda orders: every.rdp(key[0], orders, adjacency).copy(),
                ball=lambda order: every.certain_ball(key[0], order, adjacency),
            )
        return self._inner[key]

    def _likely_theorem(
        self, event: Event, adjacency: Adjacency
    ) -> tuple[RdpBound, Event, int] | None:
        """Of several theorems the one that is likely the smallest, with its event and count."""
        times = 1
        while isinstance(event, Repeated):
            times *= event.count
            event = event.event
        if isinstance(event, (Composed, Parallel)):
            return None
        bounds, expanded = self._theorems(event, adjacency)
        likely = [bound for bound in bounds if bound.id == _LIKELY_SMALLEST]
        if expanded is not None or len(bounds) == 1 or not likely:
            return None
        return likely[0], event, times

    def _ball(self, event: Event, adjacency: Adjacency, at: _Evaluation) -> arb:
        key = (event, adjacency)
        if key not in at.balls:
            at.balls[key] = self._compute_ball(event, adjacency, at)
        return at.balls[key]

    def _compute_ball(self, event: Event, adjacency: Adjacency, at: _Evaluation) -> arb:
        if isinstance(event, Repeated):
            return self._ball(event.event, adjacency, at) * event.count
        if isinstance(event, Composed):
            return sum((self._ball(part, adjacency, at) for part in event.events), arb(0))
        if isinstance(event, Parallel):
            event = self._needed(event, adjacency)
            if not event.record_may_move(adjacency):
                relation = event.inside(adjacency)
                return largest([self._ball(part, relation, at) for part in event.events])
            ends = [self._ball(part, _BOTH_ENDS, at) for part in event.events]
            moved = [ends[i] + ends[j] for i in range(len(ends)) for j in range(i)]
            enough = max(float(ball.mid()) for ball in moved)
            stays = [self._low_enough_ball(part, adjacency, enough, at) for part in event.events]
            return largest([*stays, *moved])
        chosen, expanded = self._deciding(event, adjacency, at)
        if chosen is not None:
            inner = self._inside(chosen, event, adjacency)
            found = chosen.enclosure(event, float(at.orders[0]), adjacency, inner)
            if found is not None:
                return found
        if expanded is None:
            raise _NoBallError
        return self._ball(expanded, adjacency, at)

    def _low_enough_ball(
        self, event: Event, adjacency: Adjacency, enough: float, at: _Evaluation
    ) -> arb:
        """A ball for a part: of the best theorem, or of one that is at most ``enough``.

        Any theorem's ball is an upper bound, and what is at most ``enough`` does not decide.
        """
        likely = self._likely_theorem(event, adjacency)
        if likely is not None and likely[0].ball is not None:
            bound, inner, times = likely
            value = float(self._theorem_values(bound, inner, at.orders, adjacency)[0])
            if times * value <= enough and bound.ball is not None:
                return bound.ball(inner, float(at.orders[0]), adjacency) * times
        return self._ball(event, adjacency, at)

    def _deciding(
        self, event: Event, adjacency: Adjacency, at: _Evaluation
    ) -> tuple[RdpBound | None, Event | None]:
        """The theorem about this very event that is smallest at one order, or the expansion."""
        bounds, expanded = self._theorems(event, adjacency)
        if len(bounds) == 1 and expanded is None:
            # With one theorem there is nothing to choose, so no float value is needed.
            inside = bounds[0].order_range(event, adjacency).contains(at.orders)[0]
            return (bounds[0] if inside else None), None
        least = math.inf if expanded is None else float(self._value(expanded, adjacency, at)[0])
        chosen = None
        for bound in bounds:
            value = float(self._theorem_values(bound, event, at.orders, adjacency)[0])
            # A theorem that says nothing at this order need not be about such an event at all.
            if value < least or (value == least < math.inf and chosen is None):
                least, chosen = value, bound
        return chosen, None if chosen is not None else expanded

    def _collect(
        self, event: Event, adjacency: Adjacency, at: _Evaluation, found: dict[str, None]
    ) -> None:
        if isinstance(event, (Composed, Repeated)):
            for part in released_counts(event):
                self._collect(part, adjacency, at, found)
        elif isinstance(event, Parallel):
            parts = self._needed(event, adjacency).events
            total = float(self._value(event, adjacency, at)[0])
            relation = event.inside(adjacency)
            for part in parts:
                if float(self._value(part, relation, at)[0]) == total:
                    self._collect(part, relation, at, found)
                    return
            ranked = sorted(parts, key=lambda one: float(self._value(one, _BOTH_ENDS, at)[0]))
            for part in ranked[-2:]:
                self._collect(part, _BOTH_ENDS, at, found)
        else:
            chosen, expanded = self._deciding(event, adjacency, at)
            if chosen is not None:
                found[chosen.id] = None
                if chosen.inner is not None:
                    self._collect(chosen.inner(event), adjacency, at, found)
            elif expanded is not None:
                self._collect(expanded, adjacency, at, found)


def largest(balls: Sequence[arb]) -> arb:
    """A ball around the largest of the numbers in some balls."""
    found = balls[0]
    for ball in balls[1:]:
        found = found.max(ball)
    return found
