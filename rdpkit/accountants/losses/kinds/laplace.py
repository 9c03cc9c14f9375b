r"""Laplace distributions a distance apart: of scale 1, on a sample of records, cut, and discrete.

*Laplace.* With P = L(0), Q = L(d) the loss at x is d for x <= 0, d - 2x between 0 and d, and -d
beyond. The curve is 1 - e^((l - d)/2) for -d <= l <= d, 1 - e^l to the left and 0 to the right.

*Cut at A from their centres.* With P around 0 and Q around d the loss is infinite for x < d - A,
d - 2x from max(0, d - A) to min(d, A), and what lies to the other side mirrors that. Let F be the
distribution function and t = e^-A / 2. At losses l >= 0 below the largest finite one,
min(d, 2 A - d), the best test is x < (d - l) / 2, so that the curve is

    F((d - l)/2) - e^l F(-(d + l)/2) = (1 - e^((l - d)/2) - (1 - e^l) t) / (1 - 2t).

It rises with t; further to the right it is F(d - A), the probability of an infinite loss.

*Discrete, n integers apart.* With P at 0 and Q at n, the loss at k is rate * n for k <= 0,
rate * (n - 2k) between, and -rate * n for k >= n. "The loss exceeds l" is "k <= m" for some m, so
that the curve is the largest of P(k <= m) - e^l Q(k <= m); with g = e^-rate, P(k <= m) is
1 - g^(m+1) / (1 + g) for m >= 0, and Q(k <= m) = g^(n-m) / (1 + g) for m < n.
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
    largest_of,
    mirrored,
    moved,
    moved_probability,
    piece,
    symmetric_guide,
)
from rdpkit.events.pairs import (
    DiscreteLaplacePair,
    LaplacePair,
    OpposedLaplacePair,
    TruncatedLaplacePair,
)

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


def _cut_parameters(step: TruncatedLaplacePair, leaks_more: bool) -> tuple[arb, arb]:
    """The distance, and t."""
    reach = moved(step.reach, not leaks_more)
    return moved(step.distance, leaks_more), (-reach).exp() / 2


def _alone(step: TruncatedLaplacePair, leaks_more: bool) -> arb:
    """F(d - A), the probability of what one of the two distributions has alone."""
    d, t = _cut_parameters(step, leaks_more)
    reach = moved(step.reach, not leaks_more)
    whole = 1 - 2 * t
    near, far = d.expm1(), (2 * reach - d).expm1()
    return piece(d, reach, lambda: t * near / whole, lambda: 1 - t * far / whole)


def _cut_largest(step: TruncatedLaplacePair, leaks_more: bool) -> arb:
    d, far = moved(step.distance, leaks_more), 2 * moved(step.reach, leaks_more)
    return d.min(far - moved(step.distance, not leaks_more))


def _cut_curve(step: TruncatedLaplacePair, leaks_more: bool) -> Curve:
    d, t = _cut_parameters(step, leaks_more)
    alone = _alone(step, leaks_more)
    top = d.min(2 * moved(step.reach, not leaks_more) - d)

    def right(loss: arb) -> arb:
        def inside() -> arb:
            return (t * loss.expm1() - ((loss - d) / 2).expm1()) / (1 - 2 * t)

        return piece(loss, top, inside, lambda: alone)

    return mirrored(right)


def _cut_tails(step: TruncatedLaplacePair) -> Tails:
    d, t = _cut_parameters(step, False)
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


def _cut_guide(step: TruncatedLaplacePair, reach: float) -> Guide:
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


def _cut_atoms(step: TruncatedLaplacePair) -> Array:
    top = min(step.distance, 2.0 * step.reach - step.distance)
    return np.array([-top, top])


TRUNCATED_LAPLACE = LossKind(
    curve=_cut_curve,
    guide=_cut_guide,
    tails=_cut_tails,
    largest=_cut_largest,
    infinite=lambda step: _alone(step, True),
    atoms=_cut_atoms,
)


# Atoms are listed one by one up to this distance.
_FEW = 2000


def _up_to(m: int, n: int, rate: arb) -> tuple[arb, arb]:
    """P(k <= m) and Q(k <= m) for -1 <= m <= n - 1; both 0 at -1."""
    if m < 0:
        return arb(0), arb(0)
    whole = 1 + (-rate).exp()
    return 1 - (-rate * (m + 1)).exp() / whole, (-rate * (n - m)).exp() / whole


def _discrete_curve(step: DiscreteLaplacePair, leaks_more: bool) -> Curve:
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


def _discrete_tails(step: DiscreteLaplacePair) -> Tails:
    n, rate = step.distance, moved(step.rate, False)

    def beyond(place: arb) -> tuple[arb, arb]:
        m = math.ceil((n - float(place.mid()) / step.rate) / 2.0) - 1
        if m >= n:
            return arb(1), arb(1)
        return _up_to(max(m, -1), n, rate)

    return beyond


def _discrete_places(step: DiscreteLaplacePair, reach: float) -> Array:
    """Integers from 0 to the middle, so many that the rest is too rare, thinned out if many."""
    last = min((step.distance - 1) // 2, math.ceil((reach + 1.0) / step.rate))
    if last <= _FEW:
        return np.arange(last + 1, dtype=np.float64)
    found: Array = np.unique(np.round(np.linspace(0.0, float(last), _FEW)))
    return found


def _discrete_guide(step: DiscreteLaplacePair, reach: float) -> Guide:
    n, rate = step.distance, step.rate
    k = _discrete_places(step, reach)
    width = np.gradient(k) if k.size > 1 else np.ones(1)
    log_masses = math.log(math.tanh(rate / 2.0)) - rate * k + np.log(width)
    # All integers <= 0 have the largest loss.
    log_masses[0] = -math.log1p(math.exp(-rate))
    losses = rate * (n - 2.0 * k)
    middle = None
    if n % 2 == 0 and k[-1] == (n - 1) // 2:
        middle = math.log(math.tanh(rate / 2.0)) - rate * (n / 2)
    return symmetric_guide(losses[::-1], log_masses[::-1], middle)


def _discrete_atoms(step: DiscreteLaplacePair) -> Array:
    if step.distance > _FEW:
        return np.array([-1.0, 1.0]) * (step.rate * step.distance)
    return step.rate * (step.distance - 2.0 * np.arange(step.distance + 1, dtype=np.float64))


DISCRETE_LAPLACE = LossKind(
    curve=_discrete_curve,
    guide=_discrete_guide,
    tails=_discrete_tails,
    largest=lambda step, leaks_more: moved(step.rate, leaks_more) * step.distance,
    atoms=_discrete_atoms,
)
