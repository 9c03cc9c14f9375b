"""Divergences that the user states: a curve at some orders, or zCDP.

Guarantee
---------
*A curve.* Let D_a be the divergence of order a. (a - 1) D_a is convex in a, so between two given
orders it is at most the chord. D_a does not decrease, so below the smallest given order it is at
most the value given there. Above the largest given order nothing is known.

*zCDP.* order * rho + xi is an upper bound at every order above 1. It is the definition of
(xi, rho)-zCDP, and cannot be improved without knowing more of the mechanism: a Gaussian release
with rho = 1 / (2 z^2) attains it for xi = 0.

Assumes
-------
The numbers hold under the adjacency that the event names.

Source
------
van Erven and Harremoes 2014, Theorem 3 and Corollary 2 (arXiv 1206.2459v2); Bun and Steinke,
"Concentrated differential privacy: simplifications, extensions, and lower bounds", TCC 2016,
Definition 1.1 and equation (1) (arXiv 1605.02065v1).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from flint import arb, ctx

from rdpkit.adjacency import Adjacency
from rdpkit.bounds.base import Array, Kind, OrderRange, RdpBound, only_without_delta
from rdpkit.events import CustomRdp, ZeroConcentrated


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
