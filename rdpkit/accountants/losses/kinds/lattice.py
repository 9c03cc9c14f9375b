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

# Losses have probabilities of their own where at most so many integers matter.
_FEW = 3000


@dataclass(frozen=True, slots=True, kw_only=True)
class Law:
    """What is known of the distribution; steps have a ``distance``."""

    at_most: Callable[[int, Any], arb]  # P(k <= m)
    threshold: Callable[[float, Any], int]
    """About the largest integer with a loss above a number, right to within 1."""
    integers: Callable[[Any, float], Array]
    """Integers as far as probabilities of e^-reach matter: all of them, or some if they are many"""
    losses: Callable[[Array, Any], Array]  # In floats
    log_densities: Callable[[Array, Any], Array]  # The same, but for a common summand


def lattice_kind(law: Law) -> LossKind:
    """The kind of the pairs of a distribution."""

    def curve(step: Any, leaks_more: bool) -> Curve:
        def height(loss: arb) -> arb:
            m = law.threshold(float(loss.mid()), step)
            found = [
                law.at_most(near, step) - loss.exp() * law.at_most(near - step.distance, step)
                for near in (m - 1, m, m + 1)
            ]
            return largest_of(found)

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
