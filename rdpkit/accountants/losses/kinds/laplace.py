r"""Laplace distributions of scale 1, a distance d apart, and the same on a sample of records.

With P = L(0), Q = L(d) the loss at x is d for x <= 0, d - 2x between 0 and d, and -d beyond. The
curve is 1 - e^((l - d)/2) for -d <= l <= d, 1 - e^l to the left and 0 to the right.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from flint import arb

from rdpkit.accountants.losses.guide import Array, Guide
from rdpkit.accountants.losses.kinds.base import (
    Curve,
    LossKind,
    Tails,
    mirrored,
    moved,
    moved_probability,
    piece,
    symmetric_guide,
)
from rdpkit.events.pairs import LaplacePair, OpposedLaplacePair

_POINTS = 1500


def _curve(step: LaplacePair, leaks_more: bool) -> Curve:
    d = moved(step.distance, leaks_more)

    def height(loss: arb) -> arb:
        def within() -> arb:
            return piece(loss, d, lambda: -((loss - d) / 2).expm1(), lambda: arb(0))

        return piece(loss, -d, lambda: -loss.expm1(), within)

    return height


def _tails(step: LaplacePair) -> Tails:
    d = moved(step.distance, False)

    def beyond(place: arb) -> tuple[arb, arb]:
        # The loss is above the place where x is below this.
        x = (d - place) / 2
        return piece(x, arb(0), lambda: x.exp() / 2, lambda: 1 - (-x).exp() / 2), piece(
            x, d, lambda: (x - d).exp() / 2, lambda: 1 - (d - x).exp() / 2
        )

    return beyond


def points(distance: float, reach: float) -> Array:
    """Places between two centres, from the first to the middle, closer to each other at its end."""
    far = min(distance / 2.0, reach + 1.0)
    near = np.geomspace(min(1e-4, far / 2.0), far, _POINTS // 2)
    return np.unique(np.concatenate([np.linspace(0.0, far, _POINTS), near]))


def _guide(step: LaplacePair, reach: float) -> Guide:
    d = step.distance
    x = points(d, reach)[::-1]
    width = np.maximum(-np.gradient(x), 1e-300)
    losses = np.maximum(d - 2.0 * x, 0.0)
    log_masses = -x + np.log(width) - math.log(2.0)
    # The point at 0 is the one with a probability of its own.
    log_masses[-1] = -math.log(2.0)
    kept = losses > 0.0
    return symmetric_guide(losses[kept], log_masses[kept])


def _opposed_curve(step: OpposedLaplacePair, leaks_more: bool) -> Curve:
    r"""At l >= 0, P exceeds e^l Q beyond one x >= 0, where with t = e^x

    (1-q) / t + q e^-d t = e^l ((1-q) / t + q e^-d / t) for x <= d; beyond d the ratio is constant.
    """
    d = moved(step.distance, leaks_more)
    q = moved_probability(step.sampling_probability, leaks_more)
    weights = ((1 - q, arb(0)), (q, d)), ((1 - q, arb(0)), (q, -d))

    def right(loss: arb) -> arb:
        square = (loss.exp() * (1 - q + q * (-d).exp()) - (1 - q)) * d.exp() / q
        x = square.log() / 2

        def inside() -> arb:
            return _mixture_tail(weights[0], x) - loss.exp() * _mixture_tail(weights[1], x)

        return piece(x, d, inside, lambda: arb(0))

    return mirrored(right)


def _mixture_tail(weights: Any, x: arb) -> arb:
    return sum((w * _tail(x - centre) for w, centre in weights), arb(0))


def _tail(x: arb) -> arb:
    return piece(x, arb(0), lambda: 1 - x.exp() / 2, lambda: (-x).exp() / 2)


def _opposed_tails(step: OpposedLaplacePair) -> Tails:
    d, q = moved(step.distance, False), moved_probability(step.sampling_probability, False)

    def beyond(x: arb) -> tuple[arb, arb]:
        both = (1 - q) * _tail(x)
        return both + q * _tail(x - d), both + q * _tail(x + d)

    return beyond


def _opposed_largest(step: OpposedLaplacePair, leaks_more: bool) -> arb:
    d = moved(step.distance, leaks_more)
    q = moved_probability(step.sampling_probability, leaks_more)
    return ((1 - q + q * d.exp()) / (1 - q + q * (-d).exp())).log()


def _opposed_guide(step: OpposedLaplacePair, reach: float) -> Guide:
    d, q = step.distance, step.sampling_probability
    far = reach + 1.0
    x = np.concatenate([np.linspace(0.0, min(d, far), _POINTS), np.linspace(d - far, d, _POINTS)])
    x = np.unique(x[x >= 0.0])
    # The ratio is constant beyond d, so that place stands for all places beyond it.
    width = np.gradient(x) if x.size > 1 else np.ones(1)
    first = np.logaddexp(math.log1p(-q) - x, math.log(q) - np.abs(x - d)) - math.log(2.0)
    second = np.logaddexp(math.log1p(-q) - x, math.log(q) - (x + d)) - math.log(2.0)
    losses = first - second
    log_masses = first + np.log(np.maximum(width, 1e-300))
    log_masses[-1] = first[-1]
    found = symmetric_guide(np.maximum.accumulate(losses[1:]), log_masses[1:])
    return Guide(
        losses=found.losses,
        log_masses=found.log_masses,
        places=np.concatenate([-x[1:][::-1], x[1:]]),
    )


def _opposed_atoms(step: OpposedLaplacePair) -> Array:
    d, q = step.distance, step.sampling_probability
    if d > 700.0:
        return np.empty(0)
    largest = math.log1p(q * math.expm1(d)) - math.log1p(q * math.expm1(-d))
    return np.array([-largest, largest])


LAPLACE = LossKind(
    curve=_curve,
    guide=_guide,
    tails=_tails,
    largest=lambda step, leaks_more: moved(step.distance, leaks_more),
    atoms=lambda step: np.array([-step.distance, step.distance]),
)
OPPOSED_LAPLACE = LossKind(
    curve=_opposed_curve,
    guide=_opposed_guide,
    tails=_opposed_tails,
    largest=_opposed_largest,
    atoms=_opposed_atoms,
)
