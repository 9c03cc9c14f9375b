r"""DP-CDA's Theorem 1 with its two slips put right.

Guarantee
---------
Theorem 1 with B(2 ceil(j/2)) as in Wang et al., p = l / N_k for the smallest class, and integers a
>= 2 (other orders by Corollary 10, the chord) is a sound upper bound for Algorithm 1 with T = sum_k
T_k releases, under replace-one and under add-or-remove-one:

* A record replaced within its class touches the T_k <= T releases of that class, each bounded by
  Theorem 27.
* A record whose label changes is removed from one class and added to another: T_j + T_k <= T
  releases, each at most E[(1 + q (L - 1))^a] = 1 + sum_{j>=2} C(a,j) q^j E[(L-1)^j] with the swap
  coupling, and by Cauchy-Schwarz E[(L-1)^j] <= sqrt(B(2 floor(j/2)) B(2 ceil(j/2))): a quarter of
  the theorem's weights. (At j = 2 the weight is B(2) = e^{r(2)} - 1, at most the minimum there.)
* A record added or removed touches one class.

The label noise in r(a) only adds to it.

Assumes
-------
Features are scaled with public constants, or not at all, before clipping: the exact z-score of
Algorithm 1 is not accounted for. Samples per class are fixed in advance.

Source
------
Saha, Tonoy and Imtiaz, DP-CDA, Theorem 1; Wang, Balle and Kasiviswanathan 2019, Theorem 27 (arXiv
1808.00087v2); correction: rdpkit, theory page "DP-CDA".
"""

from __future__ import annotations

from typing import Any

import numpy as np
from flint import arb

from rdpkit.adjacency import Adjacency
from rdpkit.bounds.base import Array, Kind, OrderRange, RdpBound, every_order
from rdpkit.bounds.papers.dpcda_theorem1 import noise_multiplier
from rdpkit.bounds.sampled import wang2019
from rdpkit.events import DPCDA

# An empty range: with the exact z-score nothing is known.
_NOTHING = OrderRange(lowest=1.0, highest=1.0)


def _range(event: Any, adjacency: Adjacency) -> OrderRange:
    return every_order(event, adjacency) if event.preprocessing == "public" else _NOTHING


def _rdp(event: Any, orders: Array, adjacency: Adjacency) -> Array:
    z = noise_multiplier(event)
    if z == 0.0:
        return np.full_like(orders, np.inf)
    gamma = event.order_of_mixture / min(event.class_sizes)
    return np.asarray(sum(event.samples) * wang2019.rdp(orders, z, gamma, terms="theorem27"))


def _ball(event: Any, order: float, adjacency: Adjacency) -> arb:
    z = noise_multiplier(event)
    if z == 0.0:
        return arb.pos_inf()
    subset, population = event.order_of_mixture, min(event.class_sizes)
    one = wang2019.enclose(order, z, subset, population, terms="theorem27")
    return one * int(sum(event.samples))


BOUND = RdpBound(
    id="dpcda-theorem1-corrected",
    title="Theorem 1 with p = l/N_k and B(2 ceil(j/2))",
    source="DP-CDA, Theorem 1; Wang et al. 2019, Theorem 27 (arXiv 1808.00087v2)",
    kind=Kind.UPPER,
    event_type=DPCDA,
    adjacencies=(Adjacency.REPLACE_ONE, Adjacency.ADD_OR_REMOVE_ONE),
    order_range=_range,
    rdp=_rdp,
    ball=_ball,
)
