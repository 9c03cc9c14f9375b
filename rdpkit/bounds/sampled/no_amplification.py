"""Sampling never hurts: a sampled Gaussian leaks at most what the unsampled one does.

Guarantee
---------
Condition on which records are drawn, coupled so that the two subsets differ at most by the one
record. Each conditional pair is a Gaussian pair at most one sensitivity apart, and the Renyi
divergence is jointly quasi-convex, so the divergence of the mixtures is at most order / (2 z^2). At
a sampling fraction of 1 this is exact, and at large orders it is below the amplification theorems.

Assumes
-------
A sample of fixed size can be drawn from both neighbours: under add-or-remove-one it is smaller than
the population.

Source
------
van Erven and Harremoes, "Renyi divergence and Kullback-Leibler divergence", IEEE Trans. Inf. Theory
2014, Theorem 13 (arXiv 1206.2459v2); Mironov 2017, Proposition 7.
"""

from __future__ import annotations

from typing import Any

from flint import arb

from rdpkit.adjacency import Adjacency
from rdpkit.bounds.base import Array, Kind, OrderRange, RdpBound, every_order
from rdpkit.bounds.gaussian import ball, gaussian_rdp
from rdpkit.events import FixedSizeSampledGaussian, PoissonSampledGaussian

_SOURCE = "van Erven and Harremoes 2014, Theorem 13 (arXiv 1206.2459v2); Mironov 2017"
_BOTH = (Adjacency.ADD_OR_REMOVE_ONE, Adjacency.REPLACE_ONE)


def _fixed_size_range(event: Any, adjacency: Adjacency) -> OrderRange:
    # The smaller neighbour is too small for a sample of the whole population: no bound holds.
    feasible = adjacency is Adjacency.REPLACE_ONE or event.sample_size < event.population_size
    return OrderRange() if feasible else OrderRange(highest=1.0)


def _fixed_size(event: Any, orders: Array, adjacency: Adjacency) -> Array:
    return gaussian_rdp(orders, noise_multiplier=event.noise_multiplier)


def _poisson(event: Any, orders: Array, adjacency: Adjacency) -> Array:
    return gaussian_rdp(orders, noise_multiplier=event.noise_multiplier(adjacency))


def _fixed_size_ball(event: Any, order: float, adjacency: Adjacency) -> arb:
    return ball(order, event.noise_multiplier)


def _poisson_ball(event: Any, order: float, adjacency: Adjacency) -> arb:
    return ball(order, event.noise_multiplier(adjacency))


FIXED_SIZE = RdpBound(
    id="no-amplification",
    title="the Gaussian mechanism without sampling",
    source=_SOURCE,
    kind=Kind.UPPER,
    event_type=FixedSizeSampledGaussian,
    adjacencies=_BOTH,
    order_range=_fixed_size_range,
    rdp=_fixed_size,
    ball=_fixed_size_ball,
)

POISSON = RdpBound(
    id="no-amplification",
    title="the Gaussian mechanism without sampling",
    source=_SOURCE,
    kind=Kind.UPPER,
    event_type=PoissonSampledGaussian,
    adjacencies=(Adjacency.REPLACE_ONE,),
    order_range=every_order,
    rdp=_poisson,
    ball=_poisson_ball,
)
