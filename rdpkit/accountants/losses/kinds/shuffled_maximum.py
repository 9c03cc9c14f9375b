r"""The largest noisy sum of an epoch of shuffled batches (Chua et al. 2024, arXiv 2403.17673v1).

In units of the noise, with a = 1/z, F the distribution function of N(0, 1), k batches and presence
p, the largest is at most c with probabilities p F(c - 2a) F(c)^(k-1) + (1-p) F(c)^k, and the same
with sa in place of 2a, where s is 1 or 0. With p = 1 the ratio of the densities,

    (e^(2ac - 2a^2) F(c) + (k-1) F(c - 2a)) / (e^(sac - (sa)^2/2) F(c) + (k-1) F(c - sa)),

grows in c (theory page "How batches are made"), so that the divergence at l is attained beyond the
point where it is e^l. The curve with p < 1 is at most p times this one plus (1-p) (1 - e^l)_+.
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
    moved,
    moved_probability,
    reversed_curve,
    sided_guide,
)
from rdpkit.events.losses import NoLossDistributionError
from rdpkit.events.pairs import ShuffledMaximum
from rdpkit.numerics.balls import upper_tail
from rdpkit.numerics.special import log_ndtr

_POINTS, _LARGEST_SHIFT = 4000, 50.0
_ROUNDS, _PARTS, _OFF = 2, 33, 1e-7


def _distribution(x: arb) -> arb:
    return 1 - upper_tail(x) if x > 0 else upper_tail(-x)


def _beyond(c: arb, a: arb, step: ShuffledMaximum, presence: arb) -> tuple[arb, arb]:
    """Probabilities that the largest is above c, under both members."""
    f = _distribution(c)
    rest = f ** (step.batches - 1)
    first, second = (
        presence * _distribution(c - m * a) + (1 - presence) * f for m in (2, step.second)
    )
    return 1 - rest * first, 1 - rest * second


def _line(step: ShuffledMaximum, reach: float) -> tuple[Array, Array, Array]:
    """Places, the logarithm of the ratio at each, and that of the first density, in floats."""
    a, k = 1.0 / step.noise_multiplier, step.batches
    if a > _LARGEST_SHIFT:
        raise NoLossDistributionError(
            "The largest of shuffled sums is computed for noise multipliers of at least "
            f"{1.0 / _LARGEST_SHIFT:g}, got {step.noise_multiplier!r}."
        )
    far = math.sqrt(2.0 * reach) + 2.0
    low = -far if k < 10 else -2.0
    places = np.linspace(low, 2.0 * a + far, _POINTS)
    logs = _log_densities(places, step, step.presence)
    base = -0.5 * places**2 + (k - 2) * log_ndtr(places)
    return places, _losses(logs), base + logs[0]


def _log_densities(places: Array, step: ShuffledMaximum, presence: float) -> list[Array]:
    """The logarithms of both members' densities, up to a common factor."""
    a, k = 1.0 / step.noise_multiplier, step.batches
    below = log_ndtr(places)
    logs = []
    for m in (2.0, float(step.second)):
        own = m * a * places - 0.5 * (m * a) ** 2 + below
        others = math.log(max(k - 1, 1e-300)) + log_ndtr(places - m * a)
        present = np.logaddexp(own, others) + math.log(presence)
        absent = math.log(max(k * (1.0 - presence), 1e-300)) + below
        logs.append(np.logaddexp(present, absent))
    return logs


def _losses(logs: list[Array]) -> Array:
    return np.maximum.accumulate(logs[0] - logs[1])


def _curve(step: ShuffledMaximum, leaks_more: bool) -> Curve:
    a = 1 / moved(step.noise_multiplier, not leaks_more)
    presence = moved_probability(step.presence, leaks_more)
    places, losses, _ = _line(step, 800.0)
    alone = _losses(_log_densities(places, step, 1.0))

    def below(loss: arb) -> arb:
        c = arb(float(np.interp(float(loss.mid()), losses, places)))
        first, second = _beyond(c, a, step, presence)
        height = first - loss.exp() * second
        return height.max(arb(0)).max(-loss.expm1())

    def above(loss: arb) -> arb:
        # Probabilities at two places with the best threshold between them.
        low, high = _around(float(loss.mid()), places, alone, step)
        if not _log_ratio(arb(low), a, step) < loss:
            low = -math.inf
        if not _log_ratio(arb(high), a, step) > loss:
            high = math.inf
        first = arb(1)
        if math.isfinite(low):
            first = _beyond(arb(low), a, step, arb(1))[0]
        second = arb(0)
        if math.isfinite(high):
            second = _beyond(arb(high), a, step, arb(1))[1]
        present = (first - loss.exp() * second).min(arb(1))
        return presence * present + (1 - presence) * (-loss.expm1()).max(arb(0))

    found = above if leaks_more else below
    return found if step.kind == "removed" else reversed_curve(found)


def _around(
    loss: float, places: Array, losses: Array, step: ShuffledMaximum
) -> tuple[float, float]:
    """Two places with the point between them at which the ratio is e^loss, for presence 1."""
    for _ in range(_ROUNDS):
        at = int(np.clip(np.searchsorted(losses, loss), 1, losses.size - 1))
        places = np.linspace(places[at - 1], places[at], _PARTS)
        losses = _losses(_log_densities(places, step, 1.0))
    middle = float(np.interp(loss, losses, places))
    off = _OFF * (1.0 + abs(middle))
    return middle - off, middle + off


def _log_ratio(c: arb, a: arb, step: ShuffledMaximum) -> arb:
    """The logarithm of the ratio of the densities at c, for presence 1."""
    f = _distribution(c)
    first, second = (
        (m * a * c - (m * a) ** 2 / 2).exp() * f + (step.batches - 1) * _distribution(c - m * a)
        for m in (2, step.second)
    )
    return (first / second).log()


def _tails(step: ShuffledMaximum) -> Tails:
    a = 1 / moved(step.noise_multiplier, True)
    presence = moved_probability(step.presence, False)

    def beyond(place: arb) -> tuple[arb, arb]:
        first, second = _beyond(place, a, step, presence)
        return (first, second) if step.kind == "removed" else (second, first)

    return beyond


def _guide(step: ShuffledMaximum, reach: float) -> Guide:
    places, losses, masses = _line(step, reach)
    return sided_guide(step, losses, masses, masses - losses, places)


SHUFFLED_MAXIMUM = LossKind(curve=_curve, guide=_guide, tails=_tails)
