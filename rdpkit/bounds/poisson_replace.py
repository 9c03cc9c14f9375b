"""The Poisson-sampled Gaussian under replace-one, as one removal and one addition.

Guarantee
---------
Let R be the output without the record that differs. D(P||R) and D(R||Q) are both at most the
add-or-remove-one divergence of Mironov et al., which bounds both directions, and the weak triangle
inequality joins them with its parameter optimised.

Assumes
-------
As :func:`rdpkit.bounds.mironov2019.sampled_gaussian_rdp`.

Source
------
Mironov, Talwar and Zhang 2019, Theorems 4 and 5 (arXiv 1908.10530v1); Mironov 2017, Proposition 11
(arXiv 1702.07476v3).
"""

from __future__ import annotations

import math
from typing import Any

from flint import arb, ctx

from rdpkit.adjacency import Adjacency
from rdpkit.bounds.base import Array, Kind, RdpBound, every_order
from rdpkit.bounds.mironov2019 import ball, sampled_gaussian_rdp
from rdpkit.bounds.weak_triangle import best_p, weak_triangle
from rdpkit.events import PoissonSampledGaussian

# Orders asked of the one-step curve stay below this; more would cost time and gain nothing.
_LARGEST_ORDER = 1e5


def _rdp(event: Any, orders: Array, adjacency: Adjacency) -> Array:
    def one_step(inner: Array) -> Array:
        return sampled_gaussian_rdp(
            inner,
            noise_multiplier=event.noise_multiplier(Adjacency.ADD_OR_REMOVE_ONE),
            sampling_probability=event.sampling_probability,
        )

    return weak_triangle(
        orders,
        first=one_step,
        second=one_step,
        first_below=_LARGEST_ORDER,
        second_below=_LARGEST_ORDER,
    )


def _ball(event: Any, order: float, adjacency: Adjacency) -> arb:
    """The inequality at the p that the float search settles on, both terms in balls."""
    z = event.noise_multiplier(Adjacency.ADD_OR_REMOVE_ONE)
    q = event.sampling_probability

    def one_step(inner: Array) -> Array:
        return sampled_gaussian_rdp(inner, noise_multiplier=z, sampling_probability=q)

    found = best_p(
        order,
        first=one_step,
        second=one_step,
        first_below=_LARGEST_ORDER,
        second_below=_LARGEST_ORDER,
    )
    if found is None:
        return arb.pos_inf()
    # The two orders are rounded up to floats: the divergence does not fall with its order.
    orders = (
        math.nextafter(found * order, math.inf),
        math.nextafter((found * order - 1.0) / (found - 1.0) * (1.0 + 1e-14), math.inf),
    )
    with ctx.workprec(128):
        factor = (arb(order) - 1 / arb(found)) / (arb(order) - 1)
        return factor * ball(orders[0], z, q) + ball(orders[1], z, q)


BOUND = RdpBound(
    id="poisson-weak-triangle",
    title="one removal and one addition, weak triangle inequality",
    source="Mironov, Talwar and Zhang 2019, Theorems 4 and 5; Mironov 2017, Proposition 11",
    kind=Kind.UPPER,
    event_type=PoissonSampledGaussian,
    adjacencies=(Adjacency.REPLACE_ONE,),
    order_range=every_order,
    rdp=_rdp,
    ball=_ball,
)
