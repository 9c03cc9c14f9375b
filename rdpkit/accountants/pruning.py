"""What need not be evaluated: parts that cannot decide, and theorems that did not decide nearby.

Dropping parts (:func:`deciding_parts`) never changes a number. A :class:`Focus` leaves out theorems
that did not decide near the orders at which it was learnt: what is computed under one proposes an
order, and the number that is returned is computed without it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdpkit.adjacency import Adjacency
from rdpkit.bounds.base import Array
from rdpkit.events import Event, Repeated


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
