r"""Two shifts of one distribution on the integers: discrete Gaussians, and symmetric Skellam noise.

With P at 0 and Q at n the curve is the largest over m of P(k <= m) - e^l P(k <= m - n). Where the
loss falls along the integers, as it does for log-concave probabilities, the best m is the largest
integer with a loss above l.

* Discrete Gaussians, probabilities of the integers in e^(-k^2 / (2 sigma^2)): the loss at k is
  n (n - 2k) / (2 sigma^2), and tails are sums in balls (:mod:`rdpkit.numerics.discrete_gaussian`).
* Skellam (:mod:`rdpkit.numerics.skellam`): probabilities are listed as far as they are above
  e^-720, and tails beyond that are no smaller than 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from flint import arb

from rdpkit.accountants.losses.guide import Array, Guide
from rdpkit.accountants.losses.kinds.base import Curve, LossKind, Tails, largest_of, normalised
from rdpkit.events.losses import NoLossDistributionError
from rdpkit.events.pairs import DiscreteGaussianPair, SkellamPair
from rdpkit.numerics import skellam
from rdpkit.numerics.discrete_gaussian import upper_tail

# Losses have probabilities of their own where at most so many integers matter.
_FEW = 3000
# How far from the best integer a threshold may be.
_MOST_STEPS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class LatticeLaw:
    """What is known of the distribution; steps have a ``distance``."""

    at_most: Callable[[int, Any], arb]  # P(k <= m)
    threshold: Callable[[float, Any], int]
    """About the largest integer with a loss above a number, right to within 1."""
    integers: Callable[[Any, float], Array]
    """Integers as far as probabilities of e^-reach matter: all of them, or some if they are many"""
    losses: Callable[[Array, Any], Array]  # In floats
    log_densities: Callable[[Array, Any], Array]  # The same, but for a common summand


def height_at(law: LatticeLaw, step: Any, loss: arb, m: int) -> arb:
    """P(k <= m) - e^loss Q(k <= m), for the integer m."""
    return law.at_most(m, step) - loss.exp() * law.at_most(m - step.distance, step)


def lattice_kind(law: LatticeLaw) -> LossKind:
    """The kind of the pairs of a distribution."""

    def curve(step: Any, leaks_more: bool) -> Curve:
        def height(loss: arb) -> arb:
            m = law.threshold(float(loss.mid()), step)
            found = {near: height_at(law, step, loss, near) for near in (m - 1, m, m + 1)}
            # Heights rise up to the best integer and then fall, so that it is among three of which
            # the one in the middle is largest. A threshold in floats may be beside it.
            for _ in range(_MOST_STEPS):
                up = found[m + 1] > found[m]
                if not up and not found[m - 1] > found[m]:
                    return largest_of(list(found.values()))
                m += 1 if up else -1
                ends = (m - 1, m, m + 1)
                found = {n: found.get(n, height_at(law, step, loss, n)) for n in ends}
            raise NoLossDistributionError("Floats do not say where a loss is exceeded.")

        return height

    def tails(step: Any) -> Tails:
        def beyond(place: arb) -> tuple[arb, arb]:
            m = law.threshold(float(place.mid()), step)
            return law.at_most(m, step), law.at_most(m - step.distance, step)

        return beyond

    def guide(step: Any, reach: float) -> Guide:
        k = law.integers(step, reach)[::-1]
        losses = law.losses(k, step)
        log_masses = law.log_densities(k, step) + np.log(np.abs(np.gradient(k)))
        return Guide(losses=losses, log_masses=normalised(log_masses), places=losses)

    def atoms(step: Any) -> Array:
        k = law.integers(step, 60.0)
        spaced = k.size > 1 and bool((np.diff(k) == 1.0).all())
        return law.losses(k, step)[::-1] if spaced and k.size <= _FEW else np.empty(0)

    return LossKind(curve=curve, guide=guide, tails=tails, atoms=atoms)


def listed(low: int, high: int, centres: tuple[float, ...], far: float) -> Array:
    """All integers from ``low`` to ``high``; if they are many some, as far around centres."""
    if high - low <= 2 * _FEW:
        return np.arange(low, high + 1, dtype=np.float64)
    pieces = [np.linspace(c - far, c + far, _FEW) for c in centres]
    found: Array = np.unique(np.round(np.concatenate(pieces)))
    return found


_MOST_DISTANCE = 1e5


def _gaussian_threshold(loss: float, step: DiscreteGaussianPair) -> int:
    n, sigma = step.distance, step.sigma
    place = 0.5 * n - loss * sigma * (sigma / n)
    if not math.isfinite(place):
        raise NoLossDistributionError("The noise is too large for floats.")
    return math.ceil(place) - 1


def _gaussian_integers(step: DiscreteGaussianPair, reach: float) -> Array:
    n, sigma = step.distance, step.sigma
    if n / sigma > _MOST_DISTANCE or sigma / n > 1e7:
        raise NoLossDistributionError(
            "Privacy loss distributions of discrete Gaussians are computed for sigma over the "
            f"sensitivity in [1e-5, 1e7], got {sigma / n!r}."
        )
    far = sigma * (math.sqrt(2.0 * reach) + 2.0)
    return listed(math.floor(-far), math.ceil(n + far), (0.0, float(n)), far)


def _gaussian_losses(k: Array, step: DiscreteGaussianPair) -> Array:
    n, sigma = step.distance, step.sigma
    return (n / sigma) * ((n - 2.0 * k) / (2.0 * sigma))


DISCRETE_GAUSSIAN = lattice_kind(
    LatticeLaw(
        at_most=lambda m, step: upper_tail(-m - 1, step.sigma),
        threshold=_gaussian_threshold,
        integers=_gaussian_integers,
        losses=_gaussian_losses,
        log_densities=lambda k, step: -0.5 * (k / step.sigma) ** 2,
    )
)


def _skellam_at_most(m: int, step: SkellamPair) -> arb:
    return skellam.upper_tail(-m - 1, step.variance)


@lru_cache(maxsize=16)
def _all_losses(step: SkellamPair) -> tuple[int, Array]:
    """The first integer that is listed, and the losses from there on, which fall."""
    logs = skellam.log_masses(step.variance)
    last = logs.size - 1
    k = np.arange(step.distance - last, last + 1)
    if k.size < 2:
        raise NoLossDistributionError("The noise is too small for the distance.")
    return int(k[0]), logs[np.abs(k)] - logs[np.abs(k - step.distance)]


def _skellam_threshold(loss: float, step: SkellamPair) -> int:
    first, losses = _all_losses(step)
    return first + int(np.searchsorted(-losses, -loss)) - 1


def _skellam_integers(step: SkellamPair, reach: float) -> Array:
    first, losses = _all_losses(step)
    logs = skellam.log_masses(step.variance)
    far = int(np.searchsorted(-logs, reach + 2.0)) + 1
    low, high = max(-far, first), min(step.distance + far, first + losses.size - 1)
    found = listed(low, high, (0.0, float(step.distance)), float(far))
    return found[(found >= low) & (found <= high)]


def _skellam_losses(k: Array, step: SkellamPair) -> Array:
    first, losses = _all_losses(step)
    return losses[k.astype(np.int64) - first]


def _log_densities(k: Array, step: SkellamPair) -> Array:
    return skellam.log_masses(step.variance)[np.abs(k).astype(np.int64)]


_SKELLAM_LAW = LatticeLaw(
    at_most=_skellam_at_most,
    threshold=_skellam_threshold,
    integers=_skellam_integers,
    losses=_skellam_losses,
    log_densities=_log_densities,
)
_LISTED = lattice_kind(_SKELLAM_LAW)


def _skellam_curve(step: SkellamPair, leaks_more: bool) -> Curve:
    inside = _LISTED.curve(step, leaks_more)
    first, losses = _all_losses(step)

    def height(loss: arb) -> arb:
        if losses[-1] < float(loss.mid()) < losses[0]:
            return inside(loss)
        # Only integers that are not listed have a larger loss, or a smaller one.
        end, sign = (first, 1) if loss > 0 else (first + losses.size - 1, -1)
        here, further = (height_at(_SKELLAM_LAW, step, loss, m) for m in (end, end + sign))
        if further > here:
            raise NoLossDistributionError("Floats do not say where a loss is exceeded.")
        beyond = arb(0).union(_skellam_at_most(first, step))
        return beyond if loss > 0 else loss.exp() * beyond - loss.expm1()

    return height


SKELLAM = replace(_LISTED, curve=_skellam_curve)
