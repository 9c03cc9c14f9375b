"""Subsampling without replacement under replace-one: Theorem 9, for a zCDP mechanism.

Guarantee
---------
Theorem 9 (:mod:`rdpkit.bounds.sampled.wang2019_thm9`) is about any base mechanism, through its
divergences r(j) alone. One that is rho-zCDP has r(j) <= rho j, which are those of a Gaussian with
the noise multiplier 1 / sqrt(2 rho), and the formula grows with them; r(inf) may be infinite.

Assumes
-------
REPLACE_ONE; the subset is uniform without replacement and fresh for every release; the event on the
sample is rho-zCDP under replace-one.

Source
------
Wang, Balle and Kasiviswanathan 2019, Theorem 9 and Corollary 10 (arXiv 1808.00087v2).
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from rdpkit.adjacency import Adjacency
from rdpkit.bounds.base import Kind, OrderRange, RdpBound, of_event
from rdpkit.bounds.sampled.wang2019 import ball, order_range, rdp
from rdpkit.events import FixedSizeSampled, ZeroConcentrated


def _range(event: Any, adjacency: Adjacency) -> OrderRange:
    """No order where nothing is known of the event in the sample."""
    inner = event.event
    known = (
        isinstance(inner, ZeroConcentrated)
        and inner.adjacency is Adjacency.REPLACE_ONE
        and inner.xi == inner.delta == 0.0
        and inner.rho > 0.0
    )
    return order_range(event, adjacency) if known else OrderRange(highest=1.0)


def _arguments(event: Any, adjacency: Adjacency) -> tuple[float, int, int]:
    return 1.0 / math.sqrt(2.0 * event.event.rho), event.sample_size, event.population_size


BOUND = RdpBound(
    id="wang2019-zcdp",
    title="sampling without replacement, zCDP mechanism",
    source="Wang, Balle and Kasiviswanathan 2019, Theorem 9 (arXiv 1808.00087v2)",
    kind=Kind.UPPER,
    event_type=FixedSizeSampled,
    adjacencies=(Adjacency.REPLACE_ONE,),
    order_range=_range,
    rdp=of_event(partial(rdp, terms="theorem9"), _arguments),
    ball=of_event(partial(ball, terms="theorem9"), _arguments),
)
