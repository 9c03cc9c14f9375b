r"""NDPDC's Theorem 3.2, as printed.

Guarantee
---------
Kind "published", and true: Theorem 3.1 with noise multiplier sigma / G and the number of iterations
I in place of M, (a, I Omega(a))-RDP for every a > 1. Converted with Balle et al.'s formula, over
the same orders as Theorem 3.1.

Assumes
-------
As Theorem 3.1, and that extractors and augmentations do not depend on the private data.

Source
------
"Differentially private dataset condensation", Theorem 3.2 and appendix A.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from flint import arb

from rdpkit.adjacency import Adjacency
from rdpkit.bounds.base import Array, Kind, RdpBound, every_order
from rdpkit.bounds.papers.ldpdc_thm31 import ACCOUNTANT_ORDERS, omega, omega_ball
from rdpkit.events import NDPDC


def _rdp(event: Any, orders: Array, adjacency: Adjacency) -> Array:
    return np.asarray(event.iterations * omega(event, orders))


def _ball(event: Any, order: float, adjacency: Adjacency) -> arb:
    return omega_ball(event, order) * int(event.iterations)


BOUND = RdpBound(
    id="ndpdc-thm3.2",
    title="NDPDC, Theorem 3.2",
    source="Differentially private dataset condensation, Theorem 3.2",
    kind=Kind.PUBLISHED,
    event_type=NDPDC,
    adjacencies=(Adjacency.ADD_OR_REMOVE_ONE,),
    order_range=every_order,
    rdp=_rdp,
    ball=_ball,
    conversion="balle2020",
    grid=ACCOUNTANT_ORDERS,
)
