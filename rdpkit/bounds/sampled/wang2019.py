"""Subsampling without replacement under replace-one: the per-term minimum of Theorems 9 and 27."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from flint import arb

from rdpkit.adjacency import Adjacency
from rdpkit.bounds.base import Array, Kind, OrderRange, RdpBound, of_event
from rdpkit.bounds.sampled.wang2019_ball import rdp_ball
from rdpkit.events import FixedSizeSampledGaussian
from rdpkit.numerics import pearson_vajda, subsampled
from rdpkit.numerics.balls import over_rounded_inputs

# The sums have as many terms as the order; above this order nothing is claimed.
_LARGEST_ORDER = 4096.0


def rdp(
    orders: Array,  # Renyi orders, each > 1; shape (k,)
    # Noise std over how far swapping one member of the subset moves the released vector. For 0, no
    # noise, the divergence is inf.
    z: float,
    # Number of records in the subset and in the data set.
    sample_size: int,
    population_size: int,
    *,
    terms: str,  # Which weights to use; one of {"theorem9", "theorem27", "minimum"}
) -> Array:
    """Divergence at any orders > 1 of the sampled Gaussian mechanism.

    Guarantee
    ---------
    An upper bound on the Renyi divergence between neighbours of the sampled Gaussian mechanism
    with a subset of fixed size, at integer orders by the theorem and between them by Corollary 10.
    Both theorems have the form 1 + sum_j C(a,j) gamma^j w_j, where gamma is the sampling fraction
    and w_j bounds the same ternary divergence of order j. The smaller weight w_j may therefore be
    taken term by term.

    Assumes
    -------
    REPLACE_ONE; the subset is uniform without replacement and fresh for every release; swapping
    one member moves the released vector by at most noise std / ``z``.

    Source
    ------
    Wang, Balle and Kasiviswanathan, "Subsampled Renyi differential privacy and analytical moments
    accountant", AISTATS 2019, Theorems 9 and 27 and Corollary 10 (arXiv 1808.00087v2).
    """
    if z == 0.0:
        return np.full_like(orders, np.inf)

    def excess_at(integers: Array) -> Array:
        highest = int(integers[-1])
        if terms == "theorem9":
            weights = subsampled.log_weights_theorem9(highest, z)
        elif terms == "theorem27":
            even = pearson_vajda.log_even_moments(highest + highest % 2, z)
            weights = subsampled.log_weights_theorem27(highest, z, even)
        else:
            weights = subsampled.log_weights_minimum(highest, z)
        return subsampled.log_excess_at_integers(integers, sample_size / population_size, weights)

    return subsampled.rdp_by_interpolation(orders, excess_at)


def ball(order: float, z: float, sample_size: int, population_size: int, *, terms: str) -> arb:
    """A ball that contains the value; ``z`` may carry a few roundings."""
    if z == 0.0:
        return arb.pos_inf()

    def exact(noise_multiplier: float, _: float) -> arb:
        return rdp_ball(order, noise_multiplier, sample_size, population_size, terms=terms)

    return over_rounded_inputs(exact, z, 1.0)


def order_range(event: Any, adjacency: Adjacency) -> OrderRange:
    """The orders up to which the sums are computed."""
    return OrderRange(highest=_LARGEST_ORDER, includes_highest=True)


def fixed_size_arguments(event: Any, adjacency: Adjacency) -> tuple[float, int, int]:
    """Noise over swap distance, size of the sample and size of the population."""
    return event.noise_multiplier, event.sample_size, event.population_size


def bound(identifier: str, title: str, source: str, terms: str) -> RdpBound:
    """The theorem with one choice of weights."""
    return RdpBound(
        id=identifier,
        title=title,
        source=source,
        kind=Kind.UPPER,
        event_type=FixedSizeSampledGaussian,
        adjacencies=(Adjacency.REPLACE_ONE,),
        order_range=order_range,
        rdp=of_event(partial(rdp, terms=terms), fixed_size_arguments),
        ball=of_event(partial(ball, terms=terms), fixed_size_arguments),
    )


BOUND = bound(
    "wang2019",
    "sampling without replacement, per-term minimum",
    "Wang, Balle and Kasiviswanathan 2019, Theorems 9 and 27 (arXiv 1808.00087v2)",
    "minimum",
)
