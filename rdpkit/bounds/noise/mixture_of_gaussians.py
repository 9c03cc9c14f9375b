r"""Mixtures of Gaussians: convexity in the mixture.

Guarantee
---------
e^((a-1) D_a) is convex in each of the two distributions, so that in both directions

    D_a <= log( Sum p_j e^(a (a-1) c_j^2 / (2 sigma^2)) ) / (a-1).

The loss distribution is much tighter, and is what ``bound="best"`` uses.

Assumes
-------
How much a person contributes is drawn independently of everybody else's contribution.

Source
------
van Erven and Harremoes, "Renyi divergence and Kullback-Leibler divergence", IEEE Trans. Inf. Theory
2014, Theorem 13's proof (arXiv 1206.2459v2); Choquette-Choo et al., "Privacy amplification for
matrix mechanisms", ICLR 2024 (arXiv 2310.15526), for the mechanism.
"""

from __future__ import annotations

from typing import Any

from flint import arb

from rdpkit.adjacency import Adjacency
from rdpkit.bounds.base import Kind, RdpBound, every_order
from rdpkit.bounds.noise.formula import ball_of, rdp_of
from rdpkit.events import MixtureOfGaussians


def divergence(event: Any, order: arb, adjacency: Adjacency) -> arb:
    """The bound for an event with sensitivities and their probabilities."""
    total = sum((arb(weight) for weight in event.probabilities), arb(0))
    std = arb(event.noise_std)
    whole = arb(0)
    for weight, norm in zip(event.probabilities, event.sensitivities, strict=True):
        ratio = arb(norm) / std
        whole += arb(weight) / total * (order * (order - 1) * ratio * ratio / 2).exp()
    return whole.log() / (order - 1)


BOUND = RdpBound(
    id="mixture-convexity",
    title="Mixture of Gaussians, by convexity",
    source="van Erven and Harremoes 2014 (arXiv 1206.2459v2)",
    kind=Kind.UPPER,
    event_type=MixtureOfGaussians,
    adjacencies=tuple(one for one in Adjacency if one is not Adjacency.REPLACE_ONE),
    order_range=every_order,
    rdp=rdp_of(divergence),
    ball=ball_of(divergence),
)
