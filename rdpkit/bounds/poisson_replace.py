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

from typing import Any

from rdpkit.adjacency import Adjacency
from rdpkit.bounds.base import Array, Kind, RdpBound, every_order
from rdpkit.bounds.mironov2019 import sampled_gaussian_rdp
from rdpkit.bounds.weak_triangle import weak_triangle
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


BOUND = RdpBound(
    id="poisson-weak-triangle",
    title="one removal and one addition, weak triangle inequality",
    source="Mironov, Talwar and Zhang 2019, Theorems 4 and 5; Mironov 2017, Proposition 11",
    kind=Kind.UPPER,
    event_type=PoissonSampledGaussian,
    adjacencies=(Adjacency.REPLACE_ONE,),
    order_range=every_order,
    rdp=_rdp,
)
