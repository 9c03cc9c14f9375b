r"""Two shifts of one distribution on the integers, between which the loss falls along the integers.

With P at 0 and Q at n the curve is the largest over m of P(k <= m) - e^l P(k <= m - n), and the
best m is the largest integer with a loss above l.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import arb

from rdpkit.accountants.losses.guide import Array, Guide
from rdpkit.accountants.losses.kinds.base import Curve, LossKind, Tails, largest_of, normalised
from rdpkit.events.losses import NoLossDistributionError

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
