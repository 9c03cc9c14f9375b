r"""Mixtures of Gaussians, and users with several records in a sample: convexity in the mixture.

Guarantee
---------
e^((a-1) D_a) is convex in each of the two distributions, so that in both directions

    D_a <= log( Sum p_j e^(a (a-1) c_j^2 / (2 sigma^2)) ) / (a-1).

For a user of whose records j joined the sum moves by at most j norms, and j is binomial. The loss
distribution is much tighter, and is what ``bound="best"`` uses.

Assumes
-------
How much a person contributes is drawn independently of everybody else's contribution; of one user's
records each joins independently of the others.

Source
------
van Erven and Harremoes, "Renyi divergence and Kullback-Leibler divergence", IEEE Trans. Inf. Theory
2014, Theorem 13's proof (arXiv 1206.2459v2); Choquette-Choo et al., "Privacy amplification for
matrix mechanisms", ICLR 2024 (arXiv 2310.15526), for the mechanism.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from flint import arb

from rdpkit.adjacency import Adjacency
from rdpkit.bounds.noise.formula import of_formula
from rdpkit.events import MixtureOfGaussians, UserSampledGaussian


def _divergence(event: Any, order: arb, adjacency: Adjacency) -> arb:
    """The bound for an event with sensitivities and their probabilities."""
    total = sum((arb(weight) for weight in event.probabilities), arb(0))
    std = arb(event.noise_std)
    whole = arb(0)
    for weight, norm in zip(event.probabilities, event.sensitivities, strict=True):
        ratio = arb(norm) / std
        whole += arb(weight) / total * (order * (order - 1) * ratio * ratio / 2).exp()
    return whole.log() / (order - 1)


BOUND = of_formula(
    _divergence,
    id="mixture-convexity",
    title="Mixture of Gaussians, by convexity",
    source="van Erven and Harremoes 2014 (arXiv 1206.2459v2)",
    event_type=MixtureOfGaussians,
    adjacencies=tuple(one for one in Adjacency if one is not Adjacency.REPLACE_ONE),
)

USERS = replace(
    BOUND,
    id="users-convexity",
    title="Users with several records in a Poisson sample, by convexity",
    event_type=UserSampledGaussian,
    adjacencies=(Adjacency.ADD_OR_REMOVE_ONE, Adjacency.ZERO_OUT),
)
