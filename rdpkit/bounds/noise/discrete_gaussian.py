"""Discrete Gaussian noise: the divergence of the Gaussian mechanism is an upper bound.

Guarantee
---------
With L2 sensitivity s of vectors of integers, the divergence at order a is at most
a s^2 / (2 sigma^2), in any number of coordinates: those of one coordinate add up.

Assumes
-------
The noise is that of the event, and records are vectors of integers.

Source
------
Canonne, Kamath and Steinke, "The discrete Gaussian for differential privacy", NeurIPS 2020,
Proposition 5 and Theorem 14 (arXiv 2004.00010v5).
"""

from __future__ import annotations

from typing import Any

from flint import arb

from rdpkit.adjacency import Adjacency
from rdpkit.bounds.noise.formula import of_formula
from rdpkit.events import DiscreteGaussian


def _divergence(event: Any, order: arb, adjacency: Adjacency) -> arb:
    ratio = arb(event.sensitivity(adjacency)) / arb(event.sigma)
    return order * ratio * ratio / 2


BOUND = of_formula(
    _divergence,
    id="discrete-gaussian",
    title="Discrete Gaussian mechanism",
    source="Canonne, Kamath and Steinke 2020, Theorem 14 (arXiv 2004.00010v5)",
    event_type=DiscreteGaussian,
)
