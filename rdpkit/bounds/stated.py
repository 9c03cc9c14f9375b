"""Divergences that the user states, or that follow: a curve at some orders, zCDP, or a profile.

Guarantee
---------
*A curve.* Let D_a be the divergence of order a. (a - 1) D_a is convex in a, so between two given
orders it is at most the chord. D_a does not decrease, so below the smallest given order it is at
most the value given there. Above the largest given order nothing is known.

*zCDP.* order * rho + xi is an upper bound at every order above 1. It is the definition of
(xi, rho)-zCDP, and cannot be improved without knowing more of the mechanism: a Gaussian release
with rho = 1 / (2 z^2) attains it for xi = 0.

*A profile.* Let h(g), g = e^eps, be the privacy profile of the mechanism: the largest hockey-stick
divergence over all pairs of neighbours in both directions. The points say that
h(e^eps_i) <= delta_i. The profile is convex, does not increase, and h(0) = 1. Therefore

* h(1), a total variation distance, is at most the smallest (1 - delta_i) tanh(eps_i / 2) + delta_i;
* between two points at which h is bounded, the chord in g is a bound;
* beyond the last point, delta_last is a bound;
* left of g = 1, h(g) = 1 - g + g h(1/g), because h is the largest over both directions.

:func:`envelope` is the lower convex hull of these chords. It is the smallest bound that follows
from the points, because a mechanism with finitely many outputs attains it. The hull of only some of
the points is a bound, too.

Let F be the envelope and 0 = eps_0 < eps_1 < ... its nodes, g_k = e^eps_k and F_k = F(g_k). By the
hockey-stick integral (Sason and Verdu 2016) the Renyi divergence at every order a > 1 is at most
log(1 + A) / (a - 1) with

    A = Sum_k (F_k - F_{k+1}) [G(g_{k+1}) - G(g_k)] / (g_{k+1} - g_k),
    G(g) = g^a + g^{1-a} - g - 1 = 4 e^{eps/2} sinh(a eps/2) sinh((a-1) eps/2),

a sum of positive terms. If delta_last > 0, no finite divergence follows at any order.

Assumes
-------
The numbers hold under the adjacency that the event names.

Source
------
Curves: van Erven and Harremoes 2014, Theorem 3 and Corollary 2 (arXiv 1206.2459v2). zCDP: Bun and
Steinke, "Concentrated differential privacy: simplifications, extensions, and lower bounds", TCC
2016, Definition 1.1 and equation (1) (arXiv 1605.02065v1). Profiles: Sason and Verdu, "f-divergence
inequalities", IEEE Trans. Inf. Theory 2016; Kairouz, Oh and Viswanath, "The composition theorem for
differential privacy", ICML 2015 (arXiv 1311.0776v4), for one point; several points: rdpkit, theory
page "Custom profiles".
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from flint import arb, ctx

from rdpkit.adjacency import Adjacency
from rdpkit.bounds.base import Array, Kind, OrderRange, RdpBound, every_order, only_without_delta
from rdpkit.events import CustomProfile, CustomRdp, ZeroConcentrated
from rdpkit.events.losses import ProfilePoints
from rdpkit.numerics.balls import to_relative_accuracy
from rdpkit.numerics.sampled_gaussian import rdp_from_log_excess


def _curve_range(event: Any, adjacency: Adjacency) -> OrderRange:
    return OrderRange(highest=event.orders[-1], includes_highest=True)


def _curve_rdp(event: Any, orders: Array, adjacency: Adjacency) -> Array:
    given = np.array(event.orders)
    scaled = (given - 1.0) * np.array(event.values)
    above = np.searchsorted(given, orders, side="left")
    below = np.maximum(above - 1, 0)
    span = np.where(above == below, 1.0, given[above] - given[below])
    weight = np.where(above == below, 1.0, (orders - given[below]) / span)
    with np.errstate(invalid="ignore"):
        low = np.where(weight == 1.0, 0.0, (1.0 - weight) * scaled[below])
        chord = (low + weight * scaled[above]) / (orders - 1.0)
    values = np.array(event.values)
    # At the orders that were given the values are returned unchanged, without rounding.
    chord = np.where(orders == given[above], values[above], chord)
    return np.asarray(np.where(above == 0, values[0], chord))


def _curve_ball(event: Any, order: float, adjacency: Adjacency) -> arb:
    with ctx.workprec(128):
        given = [arb(o) for o in event.orders]
        above = next(i for i, o in enumerate(event.orders) if order <= o)
        if above == 0 or order == event.orders[above]:
            return arb(event.values[above])
        if math.isinf(event.values[above]) or math.isinf(event.values[above - 1]):
            return arb.pos_inf()
        a, low, high = arb(order), given[above - 1], given[above]
        weight = (a - low) / (high - low)
        chord = (1 - weight) * (low - 1) * arb(event.values[above - 1])
        return (chord + weight * (high - 1) * arb(event.values[above])) / (a - 1)


CURVE = RdpBound(
    id="custom-rdp",
    title="an RDP curve given by the user",
    source="the user; between orders van Erven and Harremoes 2014, Corollary 2",
    kind=Kind.UPPER,
    event_type=CustomRdp,
    adjacencies=tuple(Adjacency),
    order_range=_curve_range,
    rdp=_curve_rdp,
    ball=_curve_ball,
)


def _zcdp_rdp(event: Any, orders: Array, adjacency: Adjacency) -> Array:
    return np.asarray(event.xi + event.rho * orders)


def _zcdp_ball(event: Any, order: float, adjacency: Adjacency) -> arb:
    with ctx.workprec(128):
        return arb(event.xi) + arb(event.rho) * arb(order)


CONCENTRATED = RdpBound(
    id="zero-concentrated",
    title="zCDP as stated by the user",
    source="the user; Bun and Steinke 2016, Definition 1.1 (arXiv 1605.02065v1)",
    kind=Kind.UPPER,
    event_type=ZeroConcentrated,
    adjacencies=tuple(Adjacency),
    order_range=only_without_delta,
    rdp=_zcdp_rdp,
    ball=_zcdp_ball,
)


_LOG_2 = math.log(2.0)
_BLOCK = 2_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """Nodes of the smallest bound on the profile that follows from the points given."""

    epsilons: tuple[float, ...]  # Strictly increasing, the first one 0
    values: tuple[float, ...]  # Decreasing; the last one holds for all larger epsilons
    first_drop: float
    """``values[0] - values[1]``, computed without cancellation; 0 if there is only one node."""

    @property
    def infinite(self) -> float:
        """The delta that remains however large epsilon is: the mass of an infinite loss."""
        return self.values[-1]


@lru_cache(maxsize=128)
def envelope(event: CustomProfile | ProfilePoints) -> Envelope:
    """The nodes of the lower convex hull of all chords, which are straight in e^eps."""
    points = list(zip(event.epsilons, event.deltas, strict=True))
    pick, at_zero = _deciding_at_zero(event)
    # Up to the point that decides the value at 0 the hull is one chord: see the theory page.
    nodes = [(0.0, at_zero)]
    first_drop = 0.0
    if points[pick][0] > 0.0 and at_zero > points[pick][1]:
        nodes.append(points[pick])
        first_drop = (1.0 - points[pick][1]) * math.tanh(0.5 * points[pick][0])
    fixed = len(nodes)
    for eps, delta in points[pick + 1 :]:
        if delta >= nodes[-1][1]:
            continue
        while len(nodes) > fixed and _chord(nodes[-2], (eps, delta), nodes[-1][0]) <= nodes[-1][1]:
            nodes.pop()
        nodes.append((eps, delta))
    if len(nodes) > 1 and fixed == 1:
        first_drop = nodes[0][1] - nodes[1][1]
    return Envelope(
        epsilons=tuple(eps for eps, _ in nodes),
        values=tuple(value for _, value in nodes),
        first_drop=first_drop,
    )


def _deciding_at_zero(event: CustomProfile | ProfilePoints) -> tuple[int, float]:
    """The point that gives the smallest bound at epsilon 0, by its index, and that bound."""
    found = [
        delta + (1.0 - delta) * math.tanh(0.5 * eps)
        for eps, delta in zip(event.epsilons, event.deltas, strict=True)
    ]
    pick = min(range(len(found)), key=found.__getitem__)
    return pick, found[pick]


def _chord(left: tuple[float, float], right: tuple[float, float], eps: float) -> float:
    """The chord in e^eps between two nodes, at an epsilon between them."""
    span = math.expm1(left[0] - right[0])
    weight = math.exp(eps - right[0]) * math.expm1(left[0] - eps) / span
    return (math.expm1(eps - right[0]) / span) * left[1] + weight * right[1]


def _log_sinh(x: Array) -> Array:
    with np.errstate(divide="ignore"):
        return np.asarray(x - _LOG_2 + np.log(-np.expm1(-2.0 * x)))


def _log_cosh(x: Array) -> Array:
    return np.asarray(x - _LOG_2 + np.log1p(np.exp(-2.0 * x)))


def _log_expm1(x: Array) -> Array:
    return np.asarray(x + np.log(-np.expm1(-x)))


def log_excess(nodes: Envelope, orders: Array) -> Array:
    """The logarithm of A at each order; the last value of the envelope must be 0.

    G is a product of three increasing factors, so a difference of G is a sum of three positive
    terms.
    """
    given, values = np.array(nodes.epsilons), np.array(nodes.values)
    if given.size == 1:
        return np.full(orders.shape, -np.inf)
    drops = values[:-1] - values[1:]
    drops[0] = nodes.first_drop
    low, high, width = given[:-1], given[1:], np.diff(given)
    factor = np.log(drops) - _log_expm1(width) + 2.0 * _LOG_2
    grown = _log_expm1(0.5 * width)
    middle = 0.5 * (low + high)
    result = np.empty_like(orders)
    rows = max(1, _BLOCK // low.size)
    for start in range(0, orders.size, rows):
        a = orders[start : start + rows, None]
        halves = (0.5 * a, 0.5 * (a - 1.0))
        at_low = [_log_sinh(half * low) for half in halves]
        at_high = [_log_sinh(half * high) for half in halves]
        grown_sinh = [
            _LOG_2 + _log_cosh(half * middle) + _log_sinh(0.5 * half * width) for half in halves
        ]
        # The factor e^{eps/2} of the first node, and e^{-eps} from g_{k+1} - g_k.
        terms = np.logaddexp.reduce(
            [grown + at_high[0] + at_high[1], grown_sinh[0] + at_high[1], at_low[0] + grown_sinh[1]]
        )
        terms = terms + factor - 0.5 * low
        result[start : start + rows] = np.logaddexp.reduce(terms, axis=1)
    return result


def _profile_rdp(event: Any, orders: Array, adjacency: Adjacency) -> Array:
    nodes = envelope(event)
    if nodes.infinite > 0.0:
        return np.full(orders.shape, np.inf)
    return rdp_from_log_excess(log_excess(nodes, orders), orders)


def _profile_ball(event: Any, order: float, adjacency: Adjacency) -> arb:
    """The sum A in balls, over the nodes that the floats chose: any choice of nodes is a bound."""
    nodes = envelope(event)
    if nodes.infinite > 0.0:
        return arb.pos_inf()
    if len(nodes.epsilons) == 1:
        return arb(0)

    def compute() -> arb:
        a = arb(order)
        epsilons = [arb(eps) for eps in nodes.epsilons]
        values = [_at_zero(event), *(arb(value) for value in nodes.values[1:])]
        ratios = [eps.exp() for eps in epsilons]
        heights = [
            4 * (eps / 2).exp() * (a * eps / 2).sinh() * ((a - 1) * eps / 2).sinh()
            for eps in epsilons
        ]
        total = arb(0)
        for k in range(len(epsilons) - 1):
            slope = (values[k] - values[k + 1]) / (ratios[k + 1] - ratios[k])
            total += slope * (heights[k + 1] - heights[k])
        return total.log1p() / (a - 1)

    return to_relative_accuracy(compute, bits=60, start=128)


def _at_zero(event: CustomProfile) -> arb:
    """The bound at epsilon 0 in balls, by the point that is best in floats."""
    pick, _ = _deciding_at_zero(event)
    delta = arb(event.deltas[pick])
    return delta + (1 - delta) * (arb(event.epsilons[pick]) / 2).tanh()


PROFILE = RdpBound(
    id="custom-profile",
    title="points of a privacy profile given by the user",
    source="the user; between points and as RDP: Sason and Verdu 2016; rdpkit",
    kind=Kind.UPPER,
    event_type=CustomProfile,
    adjacencies=tuple(Adjacency),
    order_range=every_order,
    rdp=_profile_rdp,
    ball=_profile_ball,
)
