r"""Laplace distributions of scale 1, cut at A from their centres, which are a distance d apart.

With P around 0 and Q around d the loss is infinite for x < d - A, d - 2x from max(0, d - A) to
min(d, A), and what lies to the other side mirrors that. Let F be the distribution function and
t = e^-A / 2. At losses l >= 0 below the largest finite one, min(d, 2 A - d), the best test is
x < (d - l) / 2, so that the curve is

    F((d - l)/2) - e^l F(-(d + l)/2) = (1 - e^((l - d)/2) - (1 - e^l) t) / (1 - 2t).

It rises with t; further to the right it is F(d - A), the probability of an infinite loss.
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
    mirrored,
    moved,
    piece,
    symmetric_guide,
)
from rdpkit.accountants.losses.kinds.laplace import points
from rdpkit.events.pairs import TruncatedLaplacePair


def _parameters(step: TruncatedLaplacePair, leaks_more: bool) -> tuple[arb, arb]:
    """The distance, and t."""
    reach = moved(step.reach, not leaks_more)
    return moved(step.distance, leaks_more), (-reach).exp() / 2


def _alone(step: TruncatedLaplacePair, leaks_more: bool) -> arb:
    """F(d - A), the probability of what one of the two distributions has alone."""
    d, t = _parameters(step, leaks_more)
    reach = moved(step.reach, not leaks_more)
    whole = 1 - 2 * t
    near, far = d.expm1(), (2 * reach - d).expm1()
    return piece(d, reach, lambda: t * near / whole, lambda: 1 - t * far / whole)


def _largest(step: TruncatedLaplacePair, leaks_more: bool) -> arb:
    d, far = moved(step.distance, leaks_more), 2 * moved(step.reach, leaks_more)
    return d.min(far - moved(step.distance, not leaks_more))


def _curve(step: TruncatedLaplacePair, leaks_more: bool) -> Curve:
    d, t = _parameters(step, leaks_more)
    alone = _alone(step, leaks_more)
    top = d.min(2 * moved(step.reach, not leaks_more) - d)

    def right(loss: arb) -> arb:
        def inside() -> arb:
            return (t * loss.expm1() - ((loss - d) / 2).expm1()) / (1 - 2 * t)

        return piece(loss, top, inside, lambda: alone)

    return mirrored(right)


def _tails(step: TruncatedLaplacePair) -> Tails:
    d, t = _parameters(step, False)
    alone = _alone(step, False)
    top = d.min(2 * moved(step.reach, True) - d)

    def upto(x: arb) -> arb:
        smaller = ((-abs(x)).exp() / 2 - t) / (1 - 2 * t)
        return piece(x, arb(0), lambda: smaller, lambda: 1 - smaller)

    def beyond(place: arb) -> tuple[arb, arb]:
        # What only one member has is taken together with what has the largest loss.
        def right() -> tuple[arb, arb]:
            x = (d - place.min(top)) / 2
            return upto(x), upto(x - d)

        if place <= -top:
            return arb(1), 1 - alone
        return right()

    return beyond


def _guide(step: TruncatedLaplacePair, reach: float) -> Guide:
    d, least = step.distance, max(step.distance - step.reach, 0.0)
    x = points(d - 2.0 * least, reach)[::-1]
    width = np.maximum(-np.gradient(x), 1e-300)
    losses = np.maximum(d - 2.0 * (x + least), 0.0)
    log_masses = -(x + least) + np.log(width) - math.log(2.0)
    if least == 0.0:
        # All places to the left of the first centre, as far as both members have them.
        log_masses[-1] = math.log(max(-math.expm1(d - step.reach), 1e-300)) - math.log(2.0)
    kept = losses > 0.0
    return symmetric_guide(losses[kept], log_masses[kept])


def _atoms(step: TruncatedLaplacePair) -> Array:
    top = min(step.distance, 2.0 * step.reach - step.distance)
    return np.array([-top, top])


TRUNCATED_LAPLACE = LossKind(
    curve=_curve,
    guide=_guide,
    tails=_tails,
    largest=_largest,
    infinite=lambda step: _alone(step, True),
    atoms=_atoms,
)
