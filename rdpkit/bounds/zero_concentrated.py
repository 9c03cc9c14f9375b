"""The divergences that zCDP stands for: order * rho + xi, at every order.

Guarantee
---------
An upper bound on the Renyi divergence between neighbours, at every order above 1. It is the
definition of (xi, rho)-zCDP, and cannot be improved without knowing more of the mechanism: a
Gaussian release with rho = 1 / (2 z^2) attains it for xi = 0.

Assumes
-------
The numbers hold under the adjacency that the event names.

Source
------
Bun and Steinke, "Concentrated differential privacy: simplifications, extensions, and lower bounds",
TCC 2016, Definition 1.1 and equation (1) (arXiv 1605.02065v1).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from flint import arb, ctx

from rdpkit.adjacency import Adjacency
from rdpkit.bounds.base import Array, Kind, RdpBound, only_without_delta
from rdpkit.events import ZeroConcentrated


def _rdp(event: Any, orders: Array, adjacency: Adjacency) -> Array:
    return np.asarray(event.xi + event.rho * orders)


def _ball(event: Any, order: float, adjacency: Adjacency) -> arb:
    with ctx.workprec(128):
        return arb(event.xi) + arb(event.rho) * arb(order)


BOUND = RdpBound(
    id="zero-concentrated",
    title="zCDP as stated by the user",
    source="the user; Bun and Steinke 2016, Definition 1.1 (arXiv 1605.02065v1)",
    kind=Kind.UPPER,
    event_type=ZeroConcentrated,
    adjacencies=tuple(Adjacency),
    order_range=only_without_delta,
    rdp=_rdp,
    ball=_ball,
)
