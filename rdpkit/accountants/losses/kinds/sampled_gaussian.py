r"""Gaussians on a sample of the records: curves in balls, tails, and points in floats.

In units of the noise, with s = 1/z and G(x) = P(N(0, 1) > x):

* removed: (1-q) N(0) + q N(s) against N(0): h(e^l) = q d(l'), e^l = 1 - q + q e^l', d the curve of
  N(s) against N(0); 1 - e^l where e^l <= 1 - q.
* replaced: (1-q) N(0) + q N(s) against (1-q) N(0) + q N(rho s), -1 <= rho < 1, at l >= 0, and its
  mirror image h(-l) = 1 - e^-l + e^-l h(l) to the left. The ratio exceeds e^l beyond one point x
  alone: (1-q)(1 - e^l) + q e^(s x - s^2/2) - e^l q e^(rho s x - rho^2 s^2/2) has one change of sign
  in the order of its exponents (Descartes' rule for exponential sums).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np
from flint import arb

from rdpkit.accountants.losses.guide import Array, Guide, log_sum
from rdpkit.accountants.losses.kinds.base import (
    MARGIN,
    Curve,
    LossKind,
    Tails,
    added_curve,
    mirrored,
    removed_curve,
    tolerance,
)
from rdpkit.events.losses import NoLossDistributionError, Step
from rdpkit.numerics.balls import upper_tail

_NEWTON = 60
_POINTS = 1000
# With a distance over noise outside of this range, losses are too close to each other for floats,
# or too large.
_LEAST_DISTANCE, _MOST_DISTANCE = 1e-7, 1e5


def _curve(step: Step, leaks_more: bool) -> Curve:
    q, z = parameters(step, leaks_more=leaks_more)
    alone = partial(gaussian, z=z)
    if step.is_gaussian:
        return alone
    removed = removed_curve(alone, q)
    if step.kind == "removed":
        return removed
    if step.kind == "added":
        return added_curve(alone, removed, q)
    if step.other == 0.0:
        return mirrored(removed)
    return mirrored(_replaced(z, q, arb(step.other)))


def parameters(step: Step, *, leaks_more: bool) -> tuple[arb, arb]:
    """Sampling probability and noise multiplier, eight units in the last place to one side."""
    sign = 1.0 if leaks_more else -1.0
    z = arb(step.noise_multiplier * (1.0 - sign * MARGIN))
    if step.sampling_probability == 1.0:
        return arb(1), z / (1 - arb(step.other))
    return arb(min(step.sampling_probability * (1.0 + sign * MARGIN), 1.0)), z


def unsampled_distance(step: Step) -> arb:
    """Over the noise, from above: of the Gaussians of a step that is not sampled."""
    _, z = parameters(step, leaks_more=True)
    return (1 - arb(step.other)) / z if step.sampling_probability < 1.0 else 1 / z


def gaussian(loss: arb, z: arb) -> arb:
    """The curve of N(1/z, 1) against N(0, 1)."""
    t = loss * z - 1 / (2 * z)
    return upper_tail(t) - loss.exp() * upper_tail(t + 1 / z)


def _replaced(z: arb, q: arb, other: arb) -> Curve:
    def height(loss: arb) -> arb:
        # Here, at the precision that is in force when the curve is asked.
        s = 1 / z
        ratio = loss.exp()
        x = _threshold(loss, s, q, other)
        both = (1 - q) * -loss.expm1() * upper_tail(x)
        return both + q * (upper_tail(x - s) - ratio * upper_tail(x - other * s))

    return height


def _threshold(loss: arb, s: arb, q: arb, other: arb) -> arb:
    """The point beyond which the ratio exceeds e^loss, loss >= 0."""
    if other == -1:
        # A quadratic equation for e^(s x), times e^(s^2/2).
        half = (1 - q) * loss.expm1() / (2 * q) * (s * s / 2).exp()
        return (half + (half * half + loss.exp()).sqrt()).log() / s
    # log(q e^(s x - s^2/2)) - log((1-q)(e^l - 1) + e^l q e^(rho s x - rho^2 s^2/2)) increases in x
    # with a slope of at least s (1 - max(rho, 0)): so a small value encloses the zero.
    common = (1 - q) * loss.expm1()
    slope = s * (1 - other) if other > 0 else s

    def off(x: arb) -> tuple[arb, arb]:
        second = loss.exp() * q * (other * s * x - (other * s) ** 2 / 2).exp()
        whole = common + second
        return q.log() + s * x - s * s / 2 - whole.log(), s - other * s * second / whole

    x = (loss.expm1() / q).log1p() / s + s * (1 + other) / 2
    for _ in range(_NEWTON):
        x = x.mid()
        value, derivative = off(x)
        distance = abs(value) / slope
        if distance < tolerance(x):
            break
        x = x - value / derivative
    x = x.mid()
    value, _ = off(x)
    return x + (value / slope).union(-value / slope)


def _tails(step: Step) -> Tails:
    q, z = parameters(step, leaks_more=False)
    shift = 1 / z
    other = arb(step.other) * shift if step.kind == "replaced" and not step.is_gaussian else arb(0)

    def beyond(x: arb) -> tuple[arb, arb]:
        common = (1 - q) * upper_tail(x)
        first = common + q * upper_tail(x - shift)
        second = common + q * upper_tail(x - other)
        return (second, first) if step.kind == "added" else (first, second)

    return beyond


def _largest(step: Step, leaks_more: bool) -> arb | None:
    """Of additions -log(1 - q); other losses are unbounded."""
    if step.kind != "added":
        return None
    q, _ = parameters(step, leaks_more=leaks_more)
    return -((-q).log1p()) if q < 1 else None


def _guide(step: Step, reach: float) -> Guide:
    far = math.sqrt(2.0 * reach) + 2.0
    s = 1.0 / step.noise_multiplier
    if not _LEAST_DISTANCE <= s <= _MOST_DISTANCE:
        raise NoLossDistributionError(
            "Privacy loss distributions of several releases are computed for noise multipliers in "
            f"[{1.0 / _MOST_DISTANCE:g}, {1.0 / _LEAST_DISTANCE:g}], got {step.noise_multiplier!r}."
        )
    if step.is_gaussian:
        s /= 1.0 - step.other
        places = _points((0.0, s), far)
        return _of_line(places, s * places - s * s / 2.0, -0.5 * (places - s) ** 2)
    q = step.sampling_probability
    common = math.log1p(-q) if q < 1.0 else -math.inf
    other = step.other if step.kind == "replaced" else None
    centres = (0.0, s) if other is None else (0.0, s, other * s)
    places = _points(centres, far)

    def log_density(x: Array, centre: float) -> Array:
        exponent = centre * x - 0.5 * centre * centre
        # Near 1 the sum is 1 + q (e^exponent - 1), which logaddexp would round.
        with np.errstate(over="ignore"):
            near = np.log1p(q * np.expm1(np.minimum(exponent, 1.0)))
        return np.where(exponent < 1.0, near, np.logaddexp(common, math.log(q) + exponent))

    first = log_density(places, s)
    losses = first - (0.0 if other is None else log_density(places, other * s))
    found = _of_line(places, losses, -0.5 * places * places + first)
    if step.kind == "added":
        return Guide(
            losses=-found.losses[::-1],
            log_masses=(found.log_masses - found.losses)[::-1],
            places=None if found.places is None else found.places[::-1],
        )
    return found if step.is_a_pair else _symmetric(found)


def _points(centres: Sequence[float], far: float) -> Array:
    low, high = min(centres) - far, max(centres) + far
    if high - low <= 2.0 * len(set(centres)) * far:
        return np.linspace(low, high, _POINTS)
    pieces = [np.linspace(c - far, c + far, _POINTS) for c in sorted(set(centres))]
    return np.unique(np.concatenate(pieces))


def _of_line(places: Array, losses: Array, log_densities: Array) -> Guide:
    """Points of a line, their losses, and densities up to a factor."""
    losses = np.maximum.accumulate(losses)
    width = np.gradient(places)
    log_masses = log_densities + np.log(width) - 0.5 * math.log(2.0 * math.pi)
    # Masses are renormalised: the pieces of the line that are left out have little mass.
    return Guide(losses=losses, log_masses=log_masses - log_sum(log_masses), places=places)


def _symmetric(found: Guide) -> Guide:
    """The loss of a symmetric profile: the positive losses, their mirror images, and 0."""
    right = found.losses > 0.0
    losses, log_masses = found.losses[right], found.log_masses[right]
    mirrored = log_masses - losses
    rest = max(1.0 - float(np.exp(log_masses).sum() + np.exp(mirrored).sum()), 1e-300)
    return Guide(
        losses=np.concatenate([-losses[::-1], [0.0], losses]),
        log_masses=np.concatenate([mirrored[::-1], [math.log(rest)], log_masses]),
    )


SAMPLED_GAUSSIAN = LossKind(curve=_curve, guide=_guide, tails=_tails, largest=_largest)
