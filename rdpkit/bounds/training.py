"""Theorems about how batches are made in training.

Guarantee
---------
*One epoch, as if it was known in which batch a record is.* The divergence between what one epoch
releases on two neighbours is at most that of one Gaussian.

* Shuffled batches: the means are a record's diameter apart under add-or-remove-one and replace-one,
  and a record's norm under zero-out. A record is in one batch, and another may take its place.
* Random allocation: a record's norm is between the means (its diameter, if a record is replaced),
  and it is k times the divergence if a record is in k batches.

The loss distributions of both events are far tighter.

*Truncated Poisson samples: the mean of two moments, with room in the sample and without.*
exp((a-1) r(a)) <= w exp((a-1) r_1(a)) + v exp((a-1) r_2(a)) between neighbours under
add-or-remove-one, with w and v the probabilities that all other records leave room in the sample
and that they fill it, r_1 the divergence of a Poisson sample, and r_2 that of a sample in which two
records are swapped.

*Noise that is shared by many steps: tree aggregation and matrix factorisation.* Under zero-out and
under replace-one the release is a Gaussian mechanism whose means are at most as far apart as one
record moves all that is released together: sqrt(nodes) times its vector in a tree, and the norm of
the strategy matrix times its vectors in its steps otherwise. Vectors may depend on what was
released before (Denisov et al. 2022, Theorem 2.1). With sampled batches and no more bands than
groups, each turn of a record's group is one Poisson-sampled Gaussian (Choquette-Choo et al. 2023,
Theorem 4), under zero-out as under add-or-remove-one.

Assumes
-------
Epochs: uniformly random orders, full batches only, and equally many of them for both neighbours; or
every record is allocated independently of all others. Truncated samples: records join independently
of each other, and a sample that is too large is cut uniformly. Shared noise: the steps in which a
record takes part do not depend on the other records.

Source
------
Joint quasi-convexity: van Erven and Harremoes 2014, Theorem 13; a coupling of the two orders, and
truncated samples: rdpkit, theory page "How batches are made". The truncated event is that of Chua
et al. 2024 ("Scalable DP-SGD", arXiv 2411.04205) and of arXiv 2508.15089. Kairouz et al. 2021,
"Practical and private (deep) learning without sampling or shuffling" (arXiv 2103.00039v3), Appendix
D; Denisov et al. 2022 (arXiv 2202.08312v2); Choquette-Choo et al. 2023, "(Amplified) banded matrix
factorization" (arXiv 2306.08153v2), Theorem 4; sensitivities: rdpkit, theory page "Matrix
factorisation".
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from flint import arb, ctx

from rdpkit.adjacency import Adjacency
from rdpkit.bounds import gaussian
from rdpkit.bounds.base import Array, Kind, OrderRange, RdpBound, every_order, of_event
from rdpkit.bounds.sampled import mironov2019
from rdpkit.events import (
    MatrixFactorization,
    RandomAllocationGaussian,
    ShuffledGaussian,
    TreeAggregation,
    TruncatedPoissonGaussian,
)

_BITS = 256
# Where moments exceed the floats, their logarithms do not.
_LARGE = 30.0


def _allocated(event: Any, adjacency: Adjacency) -> tuple[float]:
    each = event.batches_per_record
    # Above the root by more than what is rounded.
    root = math.sqrt(each) * (1.0 + 2.0**-50) if each > 1 else 1.0
    return (event.noise_multiplier(adjacency) / root,)


_SHUFFLED = replace(
    gaussian.BOUND,
    id="shuffled-epoch",
    title="One epoch of shuffled batches",
    source="rdpkit, theory page 'How batches are made'",
    event_type=ShuffledGaussian,
)

_ALLOCATED = replace(
    gaussian.BOUND,
    id="allocation-known",
    title="One epoch of random allocation, the batch known",
    source="van Erven and Harremoes 2014, Theorem 13; rdpkit, theory page 'How batches are made'",
    event_type=RandomAllocationGaussian,
    rdp=of_event(gaussian.rdp, _allocated),
    ball=of_event(gaussian.ball, _allocated),
)


def _truncated_rdp(event: Any, orders: Array, adjacency: Adjacency) -> Array:
    low, high = event.overflow
    rest = orders - 1.0
    room = mironov2019.rdp(orders, event.noise_multiplier(adjacency), event.sampling_probability)
    if high == 0.0:
        return room
    full = mironov2019.rdp(orders, event.swap_noise_multiplier, event.probability_if_full)
    with np.errstate(over="ignore", divide="ignore"):
        mean = (1.0 - low) * np.expm1(rest * room) + high * np.expm1(rest * full)
        small = np.log1p(mean)
        large = np.logaddexp(np.log1p(-low) + rest * room, np.log(high) + rest * full)
    return np.asarray(np.where(small < _LARGE, small, large) / rest)


def _truncated_ball(event: Any, order: float, adjacency: Adjacency) -> arb:
    low, high = event.overflow
    z = event.noise_multiplier(adjacency)
    room = mironov2019.ball(order, z, event.sampling_probability)
    if high == 0.0:
        return room
    full = mironov2019.ball(order, event.swap_noise_multiplier, event.probability_if_full)
    with ctx.workprec(_BITS):
        rest = arb(order) - 1
        # From both ends, as a ball around a tiny weight holds numbers below 0.
        one, other = ((rest * r).expm1() for r in (room, full))
        least = (1 - arb(high)) * one + arb(low) * other
        return least.log1p().union(((1 - arb(low)) * one + arb(high) * other).log1p()) / rest


_TRUNCATED = RdpBound(
    id="truncated-poisson",
    title="Truncated Poisson sample",
    source="rdpkit, theory page 'How batches are made'",
    kind=Kind.UPPER,
    event_type=TruncatedPoissonGaussian,
    adjacencies=(Adjacency.ADD_OR_REMOVE_ONE,),
    order_range=every_order,
    rdp=_truncated_rdp,
    ball=_truncated_ball,
)


def _matrix_range(event: Any, adjacency: Adjacency) -> OrderRange:
    """Nothing where the event expands, or a replaced record is sampled."""
    if event.sampling_probability is None:
        return OrderRange()
    known = event.matrix is not None and adjacency is Adjacency.ZERO_OUT
    return OrderRange() if known else OrderRange(highest=1.0)


def _matrix_sampled(event: Any, adjacency: Adjacency) -> tuple[float, float]:
    step = event.largest_step()
    return step.noise_multiplier(adjacency), step.sampling_probability


def _matrix_rdp(event: Any, orders: Array, adjacency: Adjacency) -> Array:
    if event.sampling_probability is None:
        return gaussian.rdp(orders, event.noise_multiplier(adjacency))
    turns: int = event.turns
    return mironov2019.rdp(orders, *_matrix_sampled(event, adjacency)) * turns


def _matrix_ball(event: Any, order: float, adjacency: Adjacency) -> arb:
    if event.sampling_probability is None:
        return gaussian.ball(order, event.noise_multiplier(adjacency))
    turns: int = event.turns
    return mironov2019.ball(order, *_matrix_sampled(event, adjacency)) * turns


_TREE = replace(
    gaussian.BOUND,
    id="tree-aggregation",
    title="Binary trees over the steps of one epoch",
    source="Kairouz et al. 2021, Appendix D (arXiv 2103.00039v3)",
    event_type=TreeAggregation,
    adjacencies=TreeAggregation.adjacencies,
)

_MATRIX = RdpBound(
    id="matrix-factorization",
    title="Correlated noise by a strategy matrix",
    source="Denisov et al. 2022, Theorem 2.1; Choquette-Choo et al. 2023, Theorem 4",
    kind=Kind.UPPER,
    event_type=MatrixFactorization,
    adjacencies=MatrixFactorization.adjacencies,
    order_range=_matrix_range,
    rdp=_matrix_rdp,
    ball=_matrix_ball,
)

BOUNDS: tuple[RdpBound, ...] = (_SHUFFLED, _ALLOCATED, _TRUNCATED, _TREE, _MATRIX)
