r"""Discrete Laplace distributions, n integers apart.

With P at 0 and Q at n, the loss at k is rate * n for k <= 0, rate * (n - 2k) between, and
-rate * n for k >= n. "The loss exceeds l" is "k <= m" for some m, so that the curve is the largest
of P(k <= m) - e^l Q(k <= m); with g = e^-rate, P(k <= m) is 1 - g^(m+1) / (1 + g) for m >= 0, and
Q(k <= m) = g^(n-m) / (1 + g) for m < n.
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
    moved,
    piece,
    symmetric_guide,
)
from rdpkit.events.pairs import DiscreteLaplacePair

# Atoms are listed one by one up to this distance.
_FEW = 2000


def _up_to(m: int, n: int, rate: arb) -> tuple[arb, arb]:
    """P(k <= m) and Q(k <= m) for -1 <= m <= n - 1; both 0 at -1."""
    if m < 0:
        return arb(0), arb(0)
    whole = 1 + (-rate).exp()
    return 1 - (-rate * (m + 1)).exp() / whole, (-rate * (n - m)).exp() / whole


def _curve(step: DiscreteLaplacePair, leaks_more: bool) -> Curve:
    n, rate = step.distance, moved(step.rate, leaks_more)
    largest = rate * n

    def height(loss: arb) -> arb:
        def within() -> arb:
            m = math.ceil(float(((n - loss / rate) / 2).mid())) - 1
            near = {min(max(m + off, -1), n - 1) for off in (-1, 0, 1)}
            found = [_up_to(place, n, rate) for place in sorted(near)]
            return largest_of([p - loss.exp() * q for p, q in found])

        def inside() -> arb:
            return piece(loss, largest, within, lambda: arb(0))

        return piece(loss, -largest, lambda: -loss.expm1(), inside)

    return height


def _tails(step: DiscreteLaplacePair) -> Tails:
    n, rate = step.distance, moved(step.rate, False)

    def beyond(place: arb) -> tuple[arb, arb]:
        m = math.ceil((n - float(place.mid()) / step.rate) / 2.0) - 1
        if m >= n:
            return arb(1), arb(1)
        return _up_to(max(m, -1), n, rate)

    return beyond


def _places(step: DiscreteLaplacePair, reach: float) -> Array:
    """Integers from 0 to the middle, so many that the rest is too rare, thinned out if many."""
    last = min((step.distance - 1) // 2, math.ceil((reach + 1.0) / step.rate))
    if last <= _FEW:
        return np.arange(last + 1, dtype=np.float64)
    found: Array = np.unique(np.round(np.linspace(0.0, float(last), _FEW)))
    return found


def _guide(step: DiscreteLaplacePair, reach: float) -> Guide:
    n, rate = step.distance, step.rate
    k = _places(step, reach)
    width = np.gradient(k) if k.size > 1 else np.ones(1)
    log_masses = math.log(math.tanh(rate / 2.0)) - rate * k + np.log(width)
    # All integers <= 0 have the largest loss.
    log_masses[0] = -math.log1p(math.exp(-rate))
    losses = rate * (n - 2.0 * k)
    middle = None
    if n % 2 == 0 and k[-1] == (n - 1) // 2:
        middle = math.log(math.tanh(rate / 2.0)) - rate * (n / 2)
    return symmetric_guide(losses[::-1], log_masses[::-1], middle)


def _atoms(step: DiscreteLaplacePair) -> Array:
    if step.distance > _FEW:
        return np.array([-1.0, 1.0]) * (step.rate * step.distance)
    return step.rate * (step.distance - 2.0 * np.arange(step.distance + 1, dtype=np.float64))


DISCRETE_LAPLACE = LossKind(
    curve=_curve,
    guide=_guide,
    tails=_tails,
    largest=lambda step, leaks_more: moved(step.rate, leaks_more) * step.distance,
    atoms=_atoms,
)
