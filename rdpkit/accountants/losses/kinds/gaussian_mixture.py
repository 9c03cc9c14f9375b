r"""A mixture of Gaussians with centres >= 0 against the Gaussian at 0.

In units of the noise, with centres c_i and weights w_i the ratio at x is
r(x) = Sum w_i e^(c_i x - c_i^2/2), which does not fall. So the ratio exceeds e^l beyond one point,
and h(e^l) = Sum w_i G(x - c_i) - e^l G(x), G(x) = P(N(0, 1) > x).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from flint import arb

from rdpkit.accountants.losses.guide import Array, Guide
from rdpkit.accountants.losses.kinds.base import (
    Curve,
    LossKind,
    Tails,
    reversed_curve,
    sided_guide,
    tolerance,
)
from rdpkit.events.losses import NoLossDistributionError
from rdpkit.events.pairs import GaussianMixturePair
from rdpkit.numerics.balls import upper_tail

_POINTS = 3000
_NEWTON = 200
_FAR = 1e5
_NEGLIGIBLE = 1e-30
Parts = list[tuple[arb, arb]]


def _parts(step: GaussianMixturePair) -> Parts:
    """Weights, which add up to 1, and centres in units of the noise."""
    weights = [arb(weight) for weight in step.weights]
    total = sum(weights, arb(0))
    std = arb(step.noise_std)
    return [
        (weight / total, arb(place) / std)
        for weight, place in zip(weights, step.positions, strict=True)
    ]


def _curve(step: GaussianMixturePair, leaks_more: bool) -> Curve:
    parts = _parts(step)
    at_zero = sum((weight for weight, centre in parts if centre == 0), arb(0))
    start = _starts(step)

    farthest = arb(max(step.positions)) / arb(step.noise_std)
    if farthest < _NEGLIGIBLE:
        # Floats do not resolve the ratio. The total variation distance is below the distance.
        return lambda loss: (-loss.expm1()).max(arb(0)) + arb(0).union(farthest)

    def removed(loss: arb) -> arb:
        ratio = loss.exp()
        if not ratio > at_zero:
            # The ratio is above the weight at 0 everywhere.
            return -loss.expm1()
        x = _threshold(loss, parts, start(float(loss.mid())))
        first = sum((weight * upper_tail(x - centre) for weight, centre in parts), arb(0))
        return first - ratio * upper_tail(x)

    return removed if step.kind == "removed" else reversed_curve(removed, at_zero)


def _starts(step: GaussianMixturePair) -> Callable[[float], float]:
    """About where the ratio is e^loss, from which Newton's method starts."""
    places, losses = _line(step, 800.0)

    def start(loss: float) -> float:
        return float(np.interp(loss, losses, places))

    return start


def _threshold(loss: arb, parts: Parts, start: float) -> arb:
    """A ball around the point at which log r(x) = l."""

    def off(x: arb) -> tuple[arb, arb]:
        terms = [(weight * (c * x - c * c / 2).exp(), c) for weight, c in parts]
        whole = sum((term for term, _ in terms), arb(0))
        slope = sum((term * c for term, c in terms), arb(0)) / whole
        return whole.log() - loss, slope

    x = arb(start)
    for _ in range(_NEWTON):
        x = x.mid()
        value, slope = off(x)
        if not slope > 0:
            break
        move = value / slope
        if abs(move).mid() < tolerance(x) / slope.min(arb(1)):
            break
        # log r is convex with slopes up to the largest centre: Newton's method from the right of
        # the root converges; from the left it may overshoot, but then it is on the right.
        x = x - move
    x = x.mid()
    value, slope = off(x)
    radius = (4 * abs(value / slope) + tolerance(x)).upper()
    for _ in range(_NEWTON):
        low, high = (x - radius).mid(), (x + radius).mid()
        # log r grows, so a change of sign between the ends encloses the root.
        if off(low)[0] <= 0 and off(high)[0] >= 0:
            return low.union(high)
        radius = 2 * radius
    raise ArithmeticError(f"No threshold was found for the loss {loss}.")


def _tails(step: GaussianMixturePair) -> Tails:
    parts = _parts(step)

    def beyond(x: arb) -> tuple[arb, arb]:
        mixture = sum((weight * upper_tail(x - centre) for weight, centre in parts), arb(0))
        second = upper_tail(x)
        return (mixture, second) if step.kind == "removed" else (second, mixture)

    return beyond


def _largest(step: GaussianMixturePair, leaks_more: bool) -> arb | None:
    if step.kind == "removed":
        return None
    at_zero = [weight for weight, centre in _parts(step) if centre == 0]
    return -sum(at_zero, arb(0)).log() if at_zero else None


def _line(step: GaussianMixturePair, reach: float) -> tuple[Array, Array]:
    """Points of the line, in units of the noise, and the logarithm of the ratio at each."""
    centres = np.array(step.positions) / step.noise_std
    if float(centres.max()) > _FAR:
        raise NoLossDistributionError(
            "Privacy loss distributions of mixtures of Gaussians are computed for distances of at "
            f"most {_FAR:g} times the noise, got {float(centres.max())!r}."
        )
    log_weights = np.log(np.array(step.weights) / math.fsum(step.weights))
    far = math.sqrt(2.0 * reach) + 2.0
    spread = [np.linspace(c - far, c + far, _POINTS) for c in np.unique(np.append(centres, 0.0))]
    whole = np.unique(np.concatenate(spread[:: max(1, len(spread) // 16)] + spread[-1:]))
    if whole.size > 4 * _POINTS:
        whole = whole[:: whole.size // (4 * _POINTS)]
    exponents = log_weights[:, None] + np.outer(centres, whole) - 0.5 * centres[:, None] ** 2
    return whole, np.maximum.accumulate(np.logaddexp.reduce(exponents, axis=0))


def _guide(step: GaussianMixturePair, reach: float) -> Guide:
    places, losses = _line(step, reach)
    width, log_density = np.log(np.gradient(places)), -0.5 * places * places
    return sided_guide(step, losses, log_density + losses + width, log_density + width, places)


GAUSSIAN_MIXTURE = LossKind(curve=_curve, guide=_guide, tails=_tails, largest=_largest)
