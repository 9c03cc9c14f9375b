"""Fixed-size sampling under add-or-remove-one, by coupling the subsets through one swap.

Guarantee
---------
Let D have n records and D' = D without x. A subset of size l of D holds x with probability
q = l/n; given that it does not, it is a uniform subset S of D', and given that it does, it is S
with a uniform member swapped for x. Hence M(D) is a mixture over (S, member) of
(1-q) N(f(S), s^2 I) + q N(f(S) + v, s^2 I) with |v| at most the swap distance, and M(D') is the
same mixture of N(f(S), s^2 I). By joint quasi-convexity of the Renyi divergence both directions are
at most those of the one-dimensional pair (1-q) N(0, z^2) + q N(1, z^2) against N(0, z^2), and of
the two the forward one is larger (Mironov et al. 2019, Theorem 5): the Poisson formula with the
*swap* distance as sensitivity.

Assumes
-------
The subset is uniform without replacement and fresh; ``population_size`` is the size of the larger
data set and exceeds the size of the sample, so that the smaller one can be sampled too (a smaller q
= l/(n+1) when a record is added: the bound at l/n covers it).

Source
------
rdpkit, docs/theory/fixed-size; divergence as in Mironov, Talwar and Zhang 2019 (arXiv
1908.10530v1).
"""

from __future__ import annotations

from typing import Any

from flint import arb

from rdpkit.adjacency import Adjacency
from rdpkit.bounds.base import Array, Kind, OrderRange, RdpBound
from rdpkit.bounds.sampled.mironov2019 import ball, sampled_gaussian_rdp
from rdpkit.events import FixedSizeSampledGaussian


def _range(event: Any, adjacency: Adjacency) -> OrderRange:
    # The smaller neighbour is too small for a sample of the whole population: no bound holds.
    feasible = event.sample_size < event.population_size
    return OrderRange() if feasible else OrderRange(highest=1.0)


def _rdp(event: Any, orders: Array, adjacency: Adjacency) -> Array:
    return sampled_gaussian_rdp(
        orders,
        noise_multiplier=event.noise_multiplier,
        sampling_probability=event.sample_size / event.population_size,
    )


def _ball(event: Any, order: float, adjacency: Adjacency) -> arb:
    return ball(order, event.noise_multiplier, event.sample_size / event.population_size)


BOUND = RdpBound(
    id="swap-coupling",
    title="fixed-size sampling, one member swapped",
    source="rdpkit, theory page 'Fixed-size sampling'; Mironov, Talwar and Zhang 2019",
    kind=Kind.UPPER,
    event_type=FixedSizeSampledGaussian,
    adjacencies=(Adjacency.ADD_OR_REMOVE_ONE,),
    order_range=_range,
    rdp=_rdp,
    ball=_ball,
)
