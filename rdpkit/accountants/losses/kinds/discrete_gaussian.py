r"""Discrete Gaussians, n integers apart: probabilities of the integers in e^(-k^2 / (2 sigma^2)).

With P at 0 and Q at n the loss at k is n (n - 2k) / (2 sigma^2), which falls in k. So the curve is
the largest over m of P(k <= m) - e^l P(k <= m - n). Tails are sums in balls
(:mod:`rdpkit.numerics.discrete_gaussian`).
"""

from __future__ import annotations

import math

import numpy as np
from flint import arb

from rdpkit.accountants.losses.guide import Array, Guide
from rdpkit.accountants.losses.kinds.base import (
    Curve,
    LossKind,
    Tails,
    largest_of,
    normalised,
)
from rdpkit.events.losses import NoLossDistributionError
from rdpkit.events.pairs import DiscreteGaussianPair
from rdpkit.numerics.discrete_gaussian import upper_tail

# Integers are listed one by one while there are at most so many.
_FEW = 3000
_MOST_DISTANCE = 1e5


def _at_most(m: int, sigma: float) -> arb:
    """P(k <= m)."""
    return upper_tail(-m - 1, sigma)


def _threshold(loss: float, step: DiscreteGaussianPair) -> int:
    """About the largest k with a loss above ``loss``."""
    n, sigma = step.distance, step.sigma
    place = 0.5 * n - loss * sigma * (sigma / n)
    if not math.isfinite(place):
        raise NoLossDistributionError("The noise is too large for floats.")
    return math.ceil(place) - 1


def _curve(step: DiscreteGaussianPair, leaks_more: bool) -> Curve:
    n, sigma = step.distance, step.sigma

    def height(loss: arb) -> arb:
        m = _threshold(float(loss.mid()), step)
        found = [
            _at_most(near, sigma) - loss.exp() * _at_most(near - n, sigma)
            for near in (m - 1, m, m + 1)
        ]
        return largest_of(found)

    return height


def _tails(step: DiscreteGaussianPair) -> Tails:
    def beyond(place: arb) -> tuple[arb, arb]:
        m = _threshold(float(place.mid()), step)
        return _at_most(m, step.sigma), _at_most(m - step.distance, step.sigma)

    return beyond


def _integers(step: DiscreteGaussianPair, reach: float) -> Array:
    n, sigma = step.distance, step.sigma
    if n / sigma > _MOST_DISTANCE or sigma / n > 1e7:
        raise NoLossDistributionError(
            "Privacy loss distributions of discrete Gaussians are computed for sigma over the "
            f"sensitivity in [1e-5, 1e7], got {sigma / n!r}."
        )
    far = sigma * (math.sqrt(2.0 * reach) + 2.0)
    low, high = math.floor(-far), math.ceil(n + far)
    if high - low <= 2 * _FEW:
        return np.arange(low, high + 1, dtype=np.float64)
    pieces = [np.linspace(c - far, c + far, _FEW) for c in (0.0, float(n))]
    found: Array = np.unique(np.round(np.concatenate(pieces)))
    return found


def _losses(k: Array, step: DiscreteGaussianPair) -> Array:
    n, sigma = step.distance, step.sigma
    return (n / sigma) * ((n - 2.0 * k) / (2.0 * sigma))


def _guide(step: DiscreteGaussianPair, reach: float) -> Guide:
    k = _integers(step, reach)[::-1]
    losses = _losses(k, step)
    log_masses = -0.5 * (k / step.sigma) ** 2 + np.log(np.abs(np.gradient(k)))
    return Guide(losses=losses, log_masses=normalised(log_masses), places=losses)


def _atoms(step: DiscreteGaussianPair) -> Array:
    k = _integers(step, 60.0)
    spaced = k.size > 1 and bool((np.diff(k) == 1.0).all())
    return _losses(k, step)[::-1] if spaced and k.size <= _FEW else np.empty(0)


DISCRETE_GAUSSIAN = LossKind(curve=_curve, guide=_guide, tails=_tails, atoms=_atoms)
