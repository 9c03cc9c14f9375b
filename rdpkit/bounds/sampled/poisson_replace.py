"""The Poisson-sampled Gaussian under replace-one, as one removal and one addition.

Guarantee
---------
Let P and Q be the outputs on two neighbours, and R the output without the record that differs.
D(P||R) and D(R||Q) are both at most the add-or-remove-one divergence of Mironov et al., which holds
in both directions. The weak triangle inequality bounds D(P||Q) by the two; its parameter is
optimised.

Assumes
-------
As :func:`rdpkit.bounds.sampled.mironov2019.sampled_gaussian_rdp`.

Source
------
Mironov, Talwar and Zhang 2019, Theorems 4 and 5 (arXiv 1908.10530v1); Mironov 2017, Proposition 11
(arXiv 1702.07476v3).
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from flint import arb, ctx

from rdpkit.adjacency import Adjacency
from rdpkit.bounds.base import Array, Kind, RdpBound, every_order, of_event
from rdpkit.bounds.gaussian import unsampled
from rdpkit.bounds.sampled.mironov2019 import ball, rdp
from rdpkit.bounds.weak_triangle import best_parameters
from rdpkit.events import PoissonSampledGaussian

# The one-step curve is evaluated below this order; larger orders cost time and gain nothing.
_LARGEST_ORDER = 4096.0
_TABLE_POINTS = 600


@lru_cache(maxsize=256)
def _table(z: float, q: float) -> tuple[Array, Array]:
    """Orders, and (order - 1) times the one-step divergence there."""
    orders = 1.0 + np.geomspace(1e-7, _LARGEST_ORDER, _TABLE_POINTS)
    return orders, (orders - 1.0) * rdp(orders, z, q)


def _one_step(inner: Array, z: float, q: float) -> Array:
    """The chord through the table, a bound because (order - 1) times a divergence is convex."""
    if q == 1.0:
        return unsampled(inner, z)
    orders, scaled = _table(z, q)
    chord = np.interp(inner, orders, scaled) / (inner - 1.0)
    return np.where(inner < orders[0], scaled[0] / (orders[0] - 1.0), chord)


def _parameters(orders: Array, z: float, q: float) -> Array:
    """For each order the p of the weak triangle inequality, found on the table; NaN if none."""
    return best_parameters(
        orders,
        first=lambda inner: _one_step(inner, z, q),
        second=lambda inner: _one_step(inner, z, q),
        first_below=_LARGEST_ORDER,
        second_below=_LARGEST_ORDER,
    )


def _rdp(orders: Array, z: float, q: float) -> Array:
    # Any p gives a bound: the table only proposes p, and exact divergences give the bound there.
    p = _parameters(orders, z, q)
    result = np.full(orders.shape, np.inf)
    found = np.isfinite(p)
    if found.any():
        a, p = orders[found], p[found]
        steps = rdp(np.concatenate([p * a, (p * a - 1.0) / (p - 1.0)]), z, q)
        first, second = steps[: a.size], steps[a.size :]
        result[found] = (a - 1.0 / p) / (a - 1.0) * first + second
    return result


def _ball(order: float, z: float, q: float) -> arb:
    """The inequality at the p that the float search finds, with both terms in balls."""
    found = float(_parameters(np.array([order]), z, q)[0])
    if not math.isfinite(found):
        return arb.pos_inf()
    # The two orders are rounded up to floats, which is safe: divergences do not fall with the
    # order.
    orders = (
        math.nextafter(found * order, math.inf),
        math.nextafter((found * order - 1.0) / (found - 1.0) * (1.0 + 1e-14), math.inf),
    )
    with ctx.workprec(128):
        factor = (arb(order) - 1 / arb(found)) / (arb(order) - 1)
        return factor * ball(orders[0], z, q) + ball(orders[1], z, q)


def _arguments(event: Any, adjacency: Adjacency) -> tuple[float, float]:
    return event.noise_multiplier(Adjacency.ADD_OR_REMOVE_ONE), event.sampling_probability


BOUND = RdpBound(
    id="poisson-weak-triangle",
    title="one removal and one addition, weak triangle inequality",
    source="Mironov, Talwar and Zhang 2019, Theorems 4 and 5; Mironov 2017, Proposition 11",
    kind=Kind.UPPER,
    event_type=PoissonSampledGaussian,
    adjacencies=(Adjacency.REPLACE_ONE,),
    order_range=every_order,
    rdp=of_event(_rdp, _arguments),
    ball=of_event(_ball, _arguments),
)
