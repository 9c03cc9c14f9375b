r"""Users with several records in a Poisson sample: convexity in the mixture.

Guarantee
---------
As for :mod:`rdpkit.bounds.noise.mixture_of_gaussians`: with j records that joined the sum moves by
at most j norms, and j is binomial.

Assumes
-------
Records join independently of each other.

Source
------
van Erven and Harremoes, "Renyi divergence and Kullback-Leibler divergence", IEEE Trans. Inf. Theory
2014 (arXiv 1206.2459v2), Theorem 13's proof.
"""

from __future__ import annotations

from rdpkit.adjacency import Adjacency
from rdpkit.bounds.base import Kind, RdpBound, every_order
from rdpkit.bounds.noise.formula import ball_of, rdp_of
from rdpkit.bounds.noise.mixture_of_gaussians import divergence
from rdpkit.events import UserSampledGaussian

BOUND = RdpBound(
    id="users-convexity",
    title="Users with several records in a Poisson sample, by convexity",
    source="van Erven and Harremoes 2014 (arXiv 1206.2459v2)",
    kind=Kind.UPPER,
    event_type=UserSampledGaussian,
    adjacencies=(Adjacency.ADD_OR_REMOVE_ONE, Adjacency.ZERO_OUT),
    order_range=every_order,
    rdp=rdp_of(divergence),
    ball=ball_of(divergence),
)
