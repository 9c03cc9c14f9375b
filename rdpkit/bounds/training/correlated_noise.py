r"""Noise that is shared by many steps: tree aggregation and matrix factorisation.

Guarantee
---------
Under zero-out and under replace-one the release is a Gaussian mechanism whose means are at most as
far apart as one record moves all that is released together: sqrt(nodes) times its vector in a tree,
and the norm of the strategy matrix times its vectors in its steps otherwise. Vectors may depend on
what was released before (Denisov et al. 2022, Theorem 2.1). With sampled batches and no more bands
than groups, each turn of a record's group is one Poisson-sampled Gaussian (Choquette-Choo et al.
2023, Theorem 4), under zero-out as under add-or-remove-one.

Assumes
-------
The steps in which a record takes part do not depend on the other records.

Source
------
Kairouz et al. 2021, "Practical and private (deep) learning without sampling or shuffling" (arXiv
2103.00039v3), Appendix D; Denisov et al. 2022 (arXiv 2202.08312v2); Choquette-Choo et al. 2023,
"(Amplified) banded matrix factorization" (arXiv 2306.08153v2), Theorem 4; sensitivities: rdpkit,
theory page "Matrix factorisation".
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from flint import arb

from rdpkit.adjacency import Adjacency
from rdpkit.bounds import gaussian
from rdpkit.bounds.base import Array, Kind, OrderRange, RdpBound
from rdpkit.bounds.sampled import mironov2019
from rdpkit.events import MatrixFactorization, TreeAggregation


def _range(event: Any, adjacency: Adjacency) -> OrderRange:
    """Nothing where the event expands, or a replaced record is sampled."""
    if event.sampling_probability is None:
        return OrderRange()
    known = event.matrix is not None and adjacency is Adjacency.ZERO_OUT
    return OrderRange() if known else OrderRange(highest=1.0)


def _sampled(event: Any, adjacency: Adjacency) -> tuple[float, float]:
    step = event.largest_step()
    return step.noise_multiplier(adjacency), step.sampling_probability


def _rdp(event: Any, orders: Array, adjacency: Adjacency) -> Array:
    if event.sampling_probability is None:
        return gaussian.rdp(orders, event.noise_multiplier(adjacency))
    turns: int = event.turns
    return mironov2019.rdp(orders, *_sampled(event, adjacency)) * turns


def _ball(event: Any, order: float, adjacency: Adjacency) -> arb:
    if event.sampling_probability is None:
        return gaussian.ball(order, event.noise_multiplier(adjacency))
    turns: int = event.turns
    return mironov2019.ball(order, *_sampled(event, adjacency)) * turns


TREE = replace(
    gaussian.BOUND,
    id="tree-aggregation",
    title="Binary trees over the steps of one epoch",
    source="Kairouz et al. 2021, Appendix D (arXiv 2103.00039v3)",
    event_type=TreeAggregation,
    adjacencies=TreeAggregation.adjacencies,
)

MATRIX = RdpBound(
    id="matrix-factorization",
    title="Correlated noise by a strategy matrix",
    source="Denisov et al. 2022, Theorem 2.1; Choquette-Choo et al. 2023, Theorem 4",
    kind=Kind.UPPER,
    event_type=MatrixFactorization,
    adjacencies=MatrixFactorization.adjacencies,
    order_range=_range,
    rdp=_rdp,
    ball=_ball,
)
