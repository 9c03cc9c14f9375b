"""Guarantees from Renyi divergences: the best order by floats, then certified in balls."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from flint import arb, ctx

from rdpkit._validate import LARGEST_INTEGER
from rdpkit.accountants.divergence_bounds import DivergenceBound, published_bound, upper_bound
from rdpkit.accountants.order_search import (
    LARGEST_ORDER,
    SMALLEST_ORDER,
    TINY,
    BestOrder,
    best_order,
    edge_note,
    order_limits,
)
from rdpkit.adjacency import Adjacency
from rdpkit.bounds.base import RdpBound
from rdpkit.conversions import EPSILON
from rdpkit.conversions import balls as conversion_balls
from rdpkit.conversions.largest_rdp import SMALLEST_DELTA
from rdpkit.events import Composed, EpsilonDelta, Event, Repeated, ZeroConcentrated
from rdpkit.events.composition import released_counts
from rdpkit.guarantee import Enclosure, Guarantee, Target
from rdpkit.numerics.balls import float_above, float_below

# A certificate that is further from the float value than this means that one of the two is wrong.
_DISAGREEMENT = 1e-6
# The same for the optimal conversion, which rounds its floats up by what they may have lost.
_DISAGREEMENT_OF_OPTIMAL = 1e-3
# An epsilon is a difference of terms of order log(1/delta): their rounding is absolute.
_ROUNDING_OF_EPSILON = 1e-11
# Epsilons below this are as good as 0.
_HARDLY_ANY = 1e-12

ALL_ORDERS = (SMALLEST_ORDER, LARGEST_ORDER)


@dataclass(frozen=True, slots=True, kw_only=True)
class RenyiOptions:
    """How a number is computed from Renyi divergences."""

    conversion: str | None = None
    """By default "optimal" for upper bounds, and the paper's own for published ones; one of
    {"mironov2017", "balle2020", "optimal"}.
    """
    order_limits: tuple[float, float] = ALL_ORDERS
    """The Renyi orders that may be used. A published bound's own grid of orders is used only where
    these are left as they are.
    """
    certify: bool = True
    """Whether to enclose the number in ball arithmetic and return the safe end of the enclosure."""

    @property
    def use_grid(self) -> bool:
        """Whether a published bound is computed at its own grid of orders."""
        return self.order_limits == ALL_ORDERS


def upper(
    event: Event,  # What was released
    target: Target,  # What is asked for
    options: RenyiOptions,  # How it is computed
    *,
    theorem: str | None = None,  # Id of the theorem to use alone
) -> Guarantee:
    """The number by the best sound theorems, or by one of them for the events that it is about."""
    rest, left_out = _without_deltas(event, target.adjacency)
    asked = _target_of_rest(target, left_out) if left_out > 0 else None
    if asked is None:
        return _of_divergences(event, target, options, theorem)
    return _whole(_of_divergences(rest, asked, options, theorem), target, left_out)


def _without_deltas(event: Event, adjacency: Adjacency) -> tuple[Event, arb]:
    """The event without the deltas of guarantees that are stated, and p.

    A release that is (epsilon, d)-DP, or d-approximate zCDP, tells no more than one that tells
    everything with the probability d and is otherwise (epsilon, 0)-DP, or zCDP. Of several such
    releases none tells everything with the probability 1 - p = prod (1 - d_i), whatever else is
    composed with them. So the whole has the delta p + (1 - p) delta_rest at every epsilon >= 0
    (Kairouz, Oh and Viswanath 2015, Theorem 3.3, arXiv 1311.0776v4; Bun and Steinke 2016,
    Definition 8.1 and Lemma 8.2, arXiv 1605.02065v1).
    """
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


def _target_of_rest(target: Target, p: arb) -> Target | None:
    """What is to be asked about the rest; None if p alone is too much."""
    if target.delta is None:
        return target
    with ctx.workprec(128):
        delta = float_below((arb(target.delta) - p) / (1 - p))
    return replace(target, delta=delta) if delta > 0.0 else None


def _whole(found: Guarantee, target: Target, p: arb) -> Guarantee:
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


def _of_divergences(
    event: Event, target: Target, options: RenyiOptions, theorem: str | None
) -> Guarantee:
    if target.delta is not None and target.delta < SMALLEST_DELTA and not options.conversion:
        options = replace(options, conversion="balle2020")
    found = _upper(event, target, options, theorem)
    if target.epsilon is None or target.epsilon >= _HARDLY_ANY:
        return found
    # For any event A, P(A) - e^x Q(A) <= P(A) - e^y Q(A) + e^y - e^x, so that delta(x) exceeds
    # delta(y), y > x, by at most e^y - e^x. At x = 0 conversions say much less than that.
    beside = _upper(event, replace(target, epsilon=2.0 * _HARDLY_ANY), options, theorem)
    delta = (beside.delta + 2.0 * _HARDLY_ANY * (1.0 + 1e-6)) * (1.0 + 1e-12)
    if delta >= found.delta:
        return found
    enclosure = beside.computed
    if enclosure is not None:
        enclosure = replace(enclosure, upper=delta)
    return replace(beside, epsilon=target.epsilon, delta=delta, computed=enclosure)


def _upper(event: Event, target: Target, options: RenyiOptions, theorem: str | None) -> Guarantee:
    bound = upper_bound(event, target.adjacency, theorem=theorem, conversion=options.conversion)
    found, by_floats = _at_best_order(bound, target, options)
    loose = found.computed is not None and target.number(found) > by_floats * (1.0 + _DISAGREEMENT)
    if options.conversion is not None or not loose:
        return found
    # The enclosure of the optimal conversion is wide here, and Balle's may give a smaller number.
    other = _upper(event, target, replace(options, conversion="balle2020"), theorem)
    return other if target.number(other) < target.number(found) else found


def published(event: Event, theorem: RdpBound, target: Target, options: RenyiOptions) -> Guarantee:
    """What a published theorem gives, by its own conversion unless another is asked for."""
    bound = published_bound(
        event, theorem, target.adjacency, conversion=options.conversion, use_grid=options.use_grid
    )
    return _at_best_order(bound, target, options)[0]


def _at_best_order(
    bound: DivergenceBound, target: Target, options: RenyiOptions
) -> tuple[Guarantee, float]:
    """The guarantee at the best order, and the number that floats give there."""
    best = best_order(bound, target, options.order_limits)
    value = best.value if target.epsilon is None else min(math.exp(best.value), 1.0)
    interval = None
    if options.certify and best.order is not None:
        interval = bound.interval(best.order)
    enclosure = None
    if interval is not None and best.order is not None:
        enclosure = _enclosure(bound, target, best.order, interval)
        known = enclosure
        if bound.conversion == "optimal" and value > enclosure.upper:
            # Where floats do not resolve the optimal conversion, they give Balle's.
            balle = replace(bound, conversion="balle2020")
            known = Enclosure(
                lower=enclosure.lower,
                upper=max(enclosure.upper, _enclosure(balle, target, best.order, interval).upper),
            )
        _check_agreement(bound, target, best.order, value, known)
    return _guarantee(bound, target, best, value, enclosure), value


def certified_at(
    bound: DivergenceBound,
    order: float,  # The Renyi order to use
    target: Target,  # At which delta, in (0, 1)
    # The orders that might have been used: a note says if this one is at their end.
    limits: tuple[float, float],
) -> Guarantee:
    """Epsilon from one order alone: certified where the bound has a ball."""
    note = None
    if bound.grid is None:
        note = edge_note(order, *order_limits(bound.allowed, *limits))
    interval = bound.interval(order)
    value, enclosure = math.nan, None
    if interval is None:
        point = np.array([order])
        value = float(EPSILON[bound.conversion](point, bound.curve(point), target.given_delta)[0])
    else:
        enclosure = _enclosure(bound, target, order, interval)
    best = BestOrder(value=value, order=order, note=note)
    return _guarantee(bound, target, best, value, enclosure)


def _enclosure(
    bound: DivergenceBound, target: Target, order: float, interval: tuple[float, float]
) -> Enclosure:
    """The number converted from a divergence in an interval."""
    rdp = conversion_balls.Interval(lower=max(interval[0], 0.0), upper=interval[1])
    if target.delta is not None:
        found = conversion_balls.epsilon(bound.conversion, order, rdp, target.delta)
    else:
        assert target.epsilon is not None
        found = conversion_balls.delta(bound.conversion, order, rdp, target.epsilon)
    return Enclosure(lower=found.lower, upper=found.upper)


def _check_agreement(
    bound: DivergenceBound, target: Target, order: float, value: float, enclosure: Enclosure
) -> None:
    """Raise if the number by floats is not where its certificate says that it is."""
    slack = _ROUNDING_OF_EPSILON if target.epsilon is None else 0.0
    above = _DISAGREEMENT_OF_OPTIMAL if bound.conversion == "optimal" else _DISAGREEMENT
    if (
        value > enclosure.upper * (1.0 + above) + slack + 2.0 * TINY
        or value < enclosure.lower * (1.0 - _DISAGREEMENT) - slack
    ):
        raise ArithmeticError(
            f"{bound.name(order)} at order {order!r}: floats give {value!r}, outside of the "
            f"certified [{enclosure.lower!r}, {enclosure.upper!r}]."
        )


def _guarantee(
    bound: DivergenceBound,
    target: Target,
    best: BestOrder,
    value: float,
    enclosure: Enclosure | None,
) -> Guarantee:
    """The guarantee: the safe end of the enclosure where there is one, else the float."""
    if enclosure is not None:
        value = enclosure.upper if target.epsilon is None else max(enclosure.upper, TINY)
    return target.answer(
        value,
        bound=bound.name(best.order),
        kind=bound.kind,
        order=best.order,
        conversion=None if best.order is None else bound.conversion,
        computed=enclosure,
        assumptions=bound.assumptions(),
        notes=(best.note,) if best.note else (),
    )
