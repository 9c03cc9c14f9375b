r"""Discrete Gaussians, n integers apart: probabilities of the integers in e^(-k^2 / (2 sigma^2)).

With P at 0 and Q at n the loss at k is n (n - 2k) / (2 sigma^2). Tails are sums in balls
(:mod:`rdpkit.numerics.discrete_gaussian`).
"""

from __future__ import annotations

import math

from flint import arb

from rdpkit.accountants.losses.guide import Array
from rdpkit.accountants.losses.kinds.lattice import LatticeLaw, lattice_kind, listed
from rdpkit.events.losses import NoLossDistributionError
from rdpkit.events.pairs import DiscreteGaussianPair
from rdpkit.numerics.discrete_gaussian import upper_tail

_MOST_DISTANCE = 1e5


def _at_most(m: int, step: DiscreteGaussianPair) -> arb:
    return upper_tail(-m - 1, step.sigma)


def _threshold(loss: float, step: DiscreteGaussianPair) -> int:
    n, sigma = step.distance, step.sigma
    place = 0.5 * n - loss * sigma * (sigma / n)
    if not math.isfinite(place):
        raise NoLossDistributionError("The noise is too large for floats.")
    return math.ceil(place) - 1


def _integers(step: DiscreteGaussianPair, reach: float) -> Array:
    n, sigma = step.distance, step.sigma
    if n / sigma > _MOST_DISTANCE or sigma / n > 1e7:
        raise NoLossDistributionError(
            "Privacy loss distributions of discrete Gaussians are computed for sigma over the "
            f"sensitivity in [1e-5, 1e7], got {sigma / n!r}."
        )
    far = sigma * (math.sqrt(2.0 * reach) + 2.0)
    return listed(math.floor(-far), math.ceil(n + far), (0.0, float(n)), far)


def _losses(k: Array, step: DiscreteGaussianPair) -> Array:
    n, sigma = step.distance, step.sigma
    return (n / sigma) * ((n - 2.0 * k) / (2.0 * sigma))


DISCRETE_GAUSSIAN = lattice_kind(
    LatticeLaw(
        at_most=_at_most,
        threshold=_threshold,
        integers=_integers,
        losses=_losses,
        log_densities=lambda k, step: -0.5 * (k / step.sigma) ** 2,
    )
)
