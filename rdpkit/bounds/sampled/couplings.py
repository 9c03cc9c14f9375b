"""Sampled Gaussians by drawing two subsets together: no amplification, and one member swapped.

Guarantee
---------
*Sampling never hurts.* Draw the two subsets together, so that they differ at most in the changed
record. Given which records are drawn, the two outputs are Gaussians whose means are at most one
sensitivity apart. The Renyi divergence is jointly quasi-convex, so the divergence of the mixtures
is at most order / (2 z^2), where z is the noise multiplier. The bound is exact at a sampling
fraction of 1, and at large orders it is below the theorems on amplification.

The same holds for any release from a sample, where a record is replaced by another one or by the
special one: with the same places drawn the two samples are equal, or neighbours in the same way, so
that the divergence is at most that of the release without sampling.

*Fixed-size sampling under add-or-remove-one, one member swapped.* Let D have n records, let D' be D
without the record x, and let q = l/n be the probability that a subset of size l of D holds x. A
subset that does not hold x is a uniform subset S of D'; a subset that holds x is distributed as S
with a uniform member swapped for x. Hence M(D) is a mixture over the pairs (S, member) of
(1-q) N(f(S), s^2 I) + q N(f(S) + v, s^2 I), where |v| is at most the swap distance, and M(D') is
the same mixture of N(f(S), s^2 I). The Renyi divergence is jointly quasi-convex, so both directions
are at most those of the pair (1-q) N(0, z^2) + q N(1, z^2) and N(0, z^2) on the line. The
divergence of the first from the second is the larger one (Mironov et al. 2019, Theorem 5). This is
the formula for Poisson samples, with the *swap* distance as the sensitivity.

Assumes
-------
A sample of fixed size is uniform without replacement and fresh, and can be drawn from both
neighbours: under add-or-remove-one the sample is smaller than the population. ``population_size``
is the size of the larger data set. A record that is added makes q = l/(n+1), which is smaller, so
the bound at l/n covers that case.

Source
------
van Erven and Harremoes, "Renyi divergence and Kullback-Leibler divergence", IEEE Trans. Inf. Theory
2014, Theorem 13 (arXiv 1206.2459v2); Mironov 2017, Proposition 7. Swapping: rdpkit,
docs/theory/fixed-size; divergence as in Mironov, Talwar and Zhang 2019 (arXiv 1908.10530v1).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rdpkit.adjacency import Adjacency
from rdpkit.bounds import gaussian
from rdpkit.bounds.base import Kind, OrderRange, RdpBound, every_order, of_event
from rdpkit.bounds.sampled import mironov2019
from rdpkit.events import (
    FixedSizeSampled,
    FixedSizeSampledGaussian,
    PoissonSampled,
    PoissonSampledGaussian,
)


def smaller_neighbour_has_a_sample(event: Any, adjacency: Adjacency) -> OrderRange:
    """Every order, or none if the smaller neighbour has fewer records than the sample."""
    match adjacency:
        case Adjacency.ADD_OR_REMOVE_ONE:
            feasible = event.sample_size < event.population_size
        case Adjacency.REPLACE_ONE | Adjacency.ZERO_OUT:
            feasible = True
    return OrderRange() if feasible else OrderRange(highest=1.0)


def _fixed_size_arguments(event: Any, adjacency: Adjacency) -> tuple[float]:
    """With the same places drawn, a record becomes another one, or the special one."""
    zero_out = adjacency is Adjacency.ZERO_OUT
    return (event.presence_noise_multiplier if zero_out else event.noise_multiplier,)


POISSON = RdpBound(
    id="no-amplification",
    title="the Gaussian mechanism without sampling",
    source="van Erven and Harremoes 2014, Theorem 13 (arXiv 1206.2459v2); Mironov 2017",
    kind=Kind.UPPER,
    event_type=PoissonSampledGaussian,
    adjacencies=(Adjacency.REPLACE_ONE,),
    order_range=every_order,
    rdp=gaussian.BOUND.rdp,
    ball=gaussian.BOUND.ball,
)

FIXED_SIZE = replace(
    POISSON,
    event_type=FixedSizeSampledGaussian,
    adjacencies=tuple(Adjacency),
    order_range=smaller_neighbour_has_a_sample,
    rdp=of_event(gaussian.rdp, _fixed_size_arguments),
    ball=of_event(gaussian.ball, _fixed_size_arguments),
)


ANY_POISSON = RdpBound(
    id="no-amplification-of-any",
    title="any release without sampling",
    source="van Erven and Harremoes 2014, Theorem 13 (arXiv 1206.2459v2)",
    kind=Kind.UPPER,
    event_type=PoissonSampled,
    adjacencies=(Adjacency.REPLACE_ONE, Adjacency.ZERO_OUT),
    order_range=every_order,
    rdp=lambda event, orders, adjacency, inner: inner.rdp(orders),
    ball=lambda event, order, adjacency, inner: inner.ball(order),
    inner=lambda event: event.event,
)

ANY_FIXED_SIZE = replace(ANY_POISSON, event_type=FixedSizeSampled)


def _swap_arguments(event: Any, adjacency: Adjacency) -> tuple[float, float]:
    return event.noise_multiplier, event.sampling_probability


SWAPPED = RdpBound(
    id="swap-coupling",
    title="fixed-size sampling, one member swapped",
    source="rdpkit, theory page 'Fixed-size sampling'; Mironov, Talwar and Zhang 2019",
    kind=Kind.UPPER,
    event_type=FixedSizeSampledGaussian,
    adjacencies=(Adjacency.ADD_OR_REMOVE_ONE,),
    order_range=smaller_neighbour_has_a_sample,
    rdp=of_event(mironov2019.rdp, _swap_arguments),
    ball=of_event(mironov2019.ball, _swap_arguments),
)
