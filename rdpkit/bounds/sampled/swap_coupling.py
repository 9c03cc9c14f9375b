"""Fixed-size sampling under add-or-remove-one, by coupling the subsets through one swap.

Guarantee
---------
Let D have n records, let D' be D without the record x, and let q = l/n be the probability that a
subset of size l of D holds x. A subset that does not hold x is a uniform subset S of D'; a subset
that holds x is distributed as S with a uniform member swapped for x. Hence M(D) is a mixture over
the pairs (S, member) of (1-q) N(f(S), s^2 I) + q N(f(S) + v, s^2 I), where |v| is at most the swap
distance, and M(D') is the same mixture of N(f(S), s^2 I). The Renyi divergence is jointly
quasi-convex, so both directions are at most those of the pair (1-q) N(0, z^2) + q N(1, z^2) and
N(0, z^2) on the line. The divergence of the first from the second is the larger one (Mironov et
al. 2019, Theorem 5). This is the formula for Poisson samples, with the *swap* distance as the
sensitivity.

Assumes
-------
The subset is uniform without replacement and fresh. ``population_size`` is the size of the larger
data set and exceeds the size of the sample, so that the smaller data set can be sampled too. A
record that is added makes q = l/(n+1), which is smaller, so the bound at l/n covers that case.

Source
------
rdpkit, docs/theory/fixed-size; divergence as in Mironov, Talwar and Zhang 2019 (arXiv
1908.10530v1).
"""

from __future__ import annotations

from typing import Any

from rdpkit.adjacency import Adjacency
from rdpkit.bounds.base import Kind, RdpBound, of_event
from rdpkit.bounds.sampled.mironov2019 import ball, rdp
from rdpkit.bounds.sampled.no_amplification import smaller_neighbour_has_a_sample
from rdpkit.events import FixedSizeSampledGaussian


def _arguments(event: Any, adjacency: Adjacency) -> tuple[float, float]:
    return event.noise_multiplier, event.sampling_probability


BOUND = RdpBound(
    id="swap-coupling",
    title="fixed-size sampling, one member swapped",
    source="rdpkit, theory page 'Fixed-size sampling'; Mironov, Talwar and Zhang 2019",
    kind=Kind.UPPER,
    event_type=FixedSizeSampledGaussian,
    adjacencies=(Adjacency.ADD_OR_REMOVE_ONE,),
    order_range=smaller_neighbour_has_a_sample,
    rdp=of_event(rdp, _arguments),
    ball=of_event(ball, _arguments),
)
