r"""What is left out with a small probability, apart from the divergences of the rest.

A release that is (epsilon, d)-DP, or d-approximate zCDP, tells no more than one that tells
everything with the probability d and is otherwise (epsilon, 0)-DP, or zCDP. Of several such
releases none tells everything with the probability 1 - p = prod (1 - d_i), whatever else is
composed with them. So the whole has the delta p + (1 - p) delta_rest at every epsilon >= 0.

Source
------
Kairouz, Oh and Viswanath 2015, Theorem 3.3 (arXiv 1311.0776v4); Bun and Steinke 2016, Definition
8.1 and Lemma 8.2 (arXiv 1605.02065v1).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from flint import arb, ctx

from rdpkit._validate import LARGEST_INTEGER
from rdpkit.adjacency import Adjacency
from rdpkit.events import Composed, EpsilonDelta, Event, Repeated, ZeroConcentrated
from rdpkit.events.composition import released_counts
from rdpkit.guarantee import Guarantee, Target
from rdpkit.numerics.balls import float_above, float_below


def without_deltas(event: Event, adjacency: Adjacency) -> tuple[Event, arb]:
    """The event without the deltas of guarantees that are stated, and p."""
    counts, stated = released_counts(event), set()
    leaf: Any
    for leaf, count in counts.items():
        if count > LARGEST_INTEGER:
            return event, arb(0)
        known = isinstance(leaf, EpsilonDelta | ZeroConcentrated)
        if known and leaf.adjacency is adjacency and leaf.delta > 0.0:
            stated.add(leaf)
    if not stated:
        return event, arb(0)
    rest: list[Event] = []
    with ctx.workprec(128):
        log_kept = arb(0)
        for leaf, count in counts.items():
            found = leaf
            if leaf in stated:
                log_kept += count * (-arb(leaf.delta)).log1p()
                found = replace(leaf, delta=0.0)
            rest.append(Repeated(event=found, count=count) if count > 1 else found)
        return Composed(events=tuple(rest)), -log_kept.expm1()


def target_of_rest(target: Target, p: arb) -> Target | None:
    """What is to be asked about the rest; None if p alone is too much."""
    if target.delta is None:
        return target
    with ctx.workprec(128):
        delta = float_below((arb(target.delta) - p) / (1 - p))
    return replace(target, delta=delta) if delta > 0.0 else None


def whole(found: Guarantee, target: Target, p: arb) -> Guarantee:
    """The answer about the whole, from that about the rest."""
    if target.delta is not None:
        return replace(found, delta=target.delta)

    def with_p(delta: float) -> arb:
        return p + (1 - p) * arb(delta)

    with ctx.workprec(128):
        enclosure = found.computed
        if enclosure is not None:
            lower, upper = with_p(enclosure.lower), with_p(enclosure.upper)
            enclosure = replace(enclosure, lower=float_below(lower), upper=float_above(upper))
        delta = min(float_above(with_p(found.delta)), 1.0)
        return replace(found, delta=delta, computed=enclosure)
