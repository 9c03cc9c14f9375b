"""The sum of many discrete Gaussians is nearly one.

Guarantee
---------
With tau = 10 sum_(k=1)^(n-1) e^(-2 pi^2 sigma^2 k / (k+1)), n clients, d coordinates and L2
sensitivity s, the divergence at order a is at most the smaller one of

    a s^2 / (2 n sigma^2) + tau d,        a (s / (sqrt(n) sigma) + tau sqrt(d))^2 / 2.

Assumes
-------
n clients add the noise of the event, and records are vectors of integers.

Source
------
Kairouz, Liu and Steinke, "The distributed discrete Gaussian mechanism for federated learning with
secure aggregation", ICML 2021, Theorem 1 and Proposition 14 (arXiv 2102.06387).
"""

from __future__ import annotations

from typing import Any

from flint import arb

from rdpkit.adjacency import Adjacency
from rdpkit.bounds.noise.formula import of_formula
from rdpkit.events import DistributedDiscreteGaussian


def _divergence(event: Any, order: arb, adjacency: Adjacency) -> arb:
    tau, d = event.distance_from_one(), arb(event.dimension)
    ratio = arb(event.sensitivity(adjacency)) / (arb(event.sigma) * arb(event.clients).sqrt())
    apart: arb = order * ratio * ratio / 2 + tau * d
    together = order * (ratio + tau * d.sqrt()) ** 2 / 2
    return apart.min(together)


BOUND = of_formula(
    _divergence,
    id="distributed-discrete-gaussian",
    title="Discrete Gaussian noise of many clients",
    source="Kairouz, Liu and Steinke 2021, Theorem 1 and Proposition 14 (arXiv 2102.06387)",
    event_type=DistributedDiscreteGaussian,
)
