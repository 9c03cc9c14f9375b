"""Losses of single releases in floats, from which grids and tilts are chosen.

No number that is computed here is part of a bound. A wrong guide makes a bound loose or its
certificate fail, but never makes it false.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

RARE = 1e-6
"""The part of delta that may be moved to infinity above a window."""
# The part of delta that may be lost because its losses lie below a window or wrap around in it.
_LOST = 1e-6
# Distances of tilts that are tried for the ends of a window, in standard deviations.
_TILTS = np.geomspace(0.1, 64.0, 20)
# Factors of a tilt that are tried for its upper end.
_FACTORS = np.geomspace(1.0, 1e3, 25)
_LARGEST_TILT = 1e9
# For estimates of epsilon: the accuracy, the logarithm of what aliases may contribute, the most
# frequencies, how many points of a guide are taken as one, the part of a sum that floats resolve,
# and steps of a bisection.
_ABOUT, _CLEAR, _MOST_FREQUENCIES, _THIN, _RESOLVED, _HALVINGS = 0.01, -30.0, 600, 3, 1e-11, 12
# How far below the tilt of a conversion that of the saddle point is sought, as a logarithm; and the
# epsilon, over the deviation of the tilted sum, above which it is taken.
_TILTS_BELOW, _FAR = 3.0, 4.0
# The largest product of a tilt and an epsilon.
_STEEPEST = 3000.0


@dataclass(frozen=True, slots=True)
class Guide:
    """Points of the loss of one release, under the first member of its pair."""

    losses: Array  # Ascending; shape (k,)
    log_masses: Array  # Logarithms of the probabilities of these points; shape (k,)
    places: Array | None = None
    """For a pair, where the tails of its kind have about these losses; monotone; shape (k,)."""

    def cumulant(self, tilt: float) -> float:
        """Logarithm of the mean of e^(tilt loss)."""
        return log_sum(self.log_masses + tilt * self.losses)

    def moments(self, tilt: float) -> tuple[float, float, float]:
        """The cumulant, and mean and variance of the loss once tilted."""
        exponents = self.log_masses + tilt * self.losses
        top = float(exponents.max())
        weights = np.exp(exponents - top)
        total = float(weights.sum())
        mean = float(np.dot(weights, self.losses)) / total
        variance = float(np.dot(weights, (self.losses - mean) ** 2)) / total
        return top + math.log(total), mean, variance

    def truncated(self, log_tail: float) -> Guide:
        """Without the largest losses, as far as their probability is at most e^log_tail."""
        tail = np.cumsum(np.exp(np.minimum(self.log_masses - log_tail, 300.0))[::-1])
        dropped = int(np.searchsorted(tail, 1.0))
        kept = max(self.losses.size - dropped, 1)
        return Guide(
            losses=self.losses[:kept],
            log_masses=self.log_masses[:kept],
            places=None if self.places is None else self.places[:kept],
        )

    def log_excess(self, epsilon: float) -> float:
        """Logarithm of about the delta of one release at an epsilon."""
        far = self.losses > epsilon
        if not far.any():
            return -math.inf
        gains = np.log(-np.expm1(epsilon - self.losses[far]))
        return log_sum(self.log_masses[far] + gains)

    def spread(self, tilt: float, ends: Array) -> float:
        """What the variance of the tilted loss gains when it is split between ends of cells."""
        exponents = self.log_masses + tilt * self.losses
        weights = np.exp(exponents - log_sum(exponents))
        place = np.clip(np.searchsorted(ends, self.losses) - 1, 0, ends.size - 2)
        gaps = (self.losses - ends[place]) * (ends[place + 1] - self.losses)
        return float((weights * np.maximum(gaps, 0.0)).sum())

    def inflation(self, tilt: float, step: float) -> float:
        """What the variance of the tilted loss gains when it is split between grid points."""
        cumulant, _, _ = self.moments(tilt)
        weights = np.exp(self.log_masses + tilt * self.losses - cumulant)
        places = self.losses / step
        left = places - np.floor(places)
        return float(np.dot(weights, left * (1.0 - left))) * step * step


def log_sum(exponents: Array) -> float:
    """The logarithm of a sum, from logarithms of its terms."""
    top = float(exponents.max())
    return top + math.log(float(np.exp(exponents - top).sum()))


@dataclass(frozen=True, slots=True)
class Sum:
    """Independent losses added up: guides with their counts."""

    parts: tuple[tuple[Guide, int], ...]

    def moments(self, tilt: float) -> tuple[float, float, float]:
        """The cumulant, and mean and variance once tilted, of the sum."""
        found = [(count, guide.moments(tilt)) for guide, count in self.parts]
        return (
            math.fsum([n * k for n, (k, _, _) in found]),
            math.fsum([n * m for n, (_, m, _) in found]),
            math.fsum([n * v for n, (_, _, v) in found]),
        )

    def cumulant(self, tilt: float) -> float:
        """Logarithm of the mean of e^(tilt sum)."""
        return math.fsum([count * guide.cumulant(tilt) for guide, count in self.parts])

    def log_excess(self, epsilon: float) -> float:
        """Logarithm of about the delta at an epsilon that comes from single losses."""
        return max([math.log(n) + guide.log_excess(epsilon) for guide, n in self.parts])

    def ends(self, at: Saddle, times: int) -> tuple[float, float, float]:
        """Ends of a window outside of which little of the sum lies, if it is taken ``times`` times.

        All three ends are chosen by Chernoff's inequality. Little of the tilted mass lies
        below ``low`` or above ``wrapping``, and little of the probability above ``high``.
        """
        tilt = at.tilt
        log_lost = at.log_share + math.log(_LOST / times)
        here, mean, variance = self.moments(tilt)
        apart: list[float] = (_TILTS / math.sqrt(max(variance, 1e-300))).tolist()
        low = min(mean, max([(here - self.cumulant(tilt - d) + log_lost) / d for d in apart]))
        wrapping = max(mean, min([(self.cumulant(tilt + d) - here - log_lost) / d for d in apart]))
        # Beyond the tilted mean the best tilt is larger than the one in use.
        larger: list[float] = (max(tilt, 0.5 / at.deviation) * _FACTORS).tolist()
        log_rare = at.log_delta + math.log(RARE / times)
        high = min([(self.cumulant(t) - log_rare) / t for t in larger])
        return low, max(high, mean + 4.0 * math.sqrt(variance)), wrapping


@dataclass(frozen=True, slots=True)
class Saddle:
    """The tilt at which a composition is looked at."""

    tilt: float  # The tilt, >= 0
    epsilon: float  # About the epsilon in question
    log_delta: float  # About the logarithm of the delta in question
    deviation: float  # Standard deviation of the tilted sum
    log_share: float  # About the logarithm of the part of the tilted mass that makes delta


def saddle(
    total: Sum,  # The composition
    *,
    # The logarithm of delta, or epsilon: what is given. With both, epsilon is asked about and the
    # other is what delta is expected to be.
    log_delta: float | None,
    epsilon: float | None,
    around: float | None = None,  # About the epsilon at that delta, if known
) -> Saddle:
    """The tilt for epsilon at ``delta``, or the reverse.

    It is the Renyi order less 1 that gives the least by the conversion of Balle et al. 2020, whose
    epsilon and delta are the first guess. Where a better one is at hand, the tilted mean is put
    there: then as much of the tilted mass as possible is where the answer comes from.
    """
    _, mean, variance = total.moments(0.0)
    unit = 1.0 / math.sqrt(max(variance, 1e-300))
    known = epsilon if epsilon is not None else around
    if known is None:
        assert log_delta is not None
        tilt, asked = _by_conversion(total, log_delta, unit)
    else:
        tilt, asked = _tilt_for(total, known, mean, unit), known
        if known > 0.0:
            tilt = min(tilt, _STEEPEST / known)
    cumulant, _, variance = total.moments(tilt)
    deviation = math.sqrt(max(variance, 1e-300))
    share = -math.log1p(math.sqrt(2.0 * math.pi) * deviation * tilt * (tilt + 1.0))
    if log_delta is None:
        log_delta = min(cumulant - tilt * asked + share, 0.0)
    elif known is not None:
        share = min(share, log_delta - cumulant + tilt * asked)
    return Saddle(
        tilt=tilt, epsilon=asked, log_delta=log_delta, deviation=deviation, log_share=share
    )


def estimated_epsilon(
    total: Sum,  # The composition
    at: Saddle,  # About the epsilon and the delta in question, from a conversion
) -> float:
    """About the epsilon at a delta: by the saddle point, or where that fails, by inversion.

    It fails where delta comes from single losses that are rare and large.
    """
    found = _by_saddle_point(total, at)
    if found > _FAR * at.deviation:
        return found
    return max(
        _by_inversion(total, at),
        _where_zero(lambda x: total.log_excess(x) - at.log_delta, at.epsilon),
    )


def _by_saddle_point(total: Sum, at: Saddle) -> float:
    """The mean at the tilt whose saddle point has this delta."""

    def excess(log_tilt: float) -> float:
        tilt = math.exp(log_tilt)
        cumulant, mean, variance = total.moments(tilt)
        share = math.log1p(math.sqrt(2.0 * math.pi * variance) * tilt * (tilt + 1.0))
        return cumulant - tilt * mean - share - at.log_delta

    if not at.tilt > 0.0:
        return at.epsilon
    high = math.log(at.tilt)
    low = _where_zero(excess, high, high - _TILTS_BELOW)
    return total.moments(math.exp(low))[1]


def _by_inversion(total: Sum, at: Saddle) -> float:
    """By the transform of the sum along a line, in floats; 0 where they do not resolve it."""
    t = at.tilt
    here = total.cumulant(t)
    apart: list[float] = (_TILTS / at.deviation).tolist()
    above = min([(total.cumulant(t + d) - here - _CLEAR) / d for d in apart]) - at.epsilon
    apart = [min(d, t) for d in apart]
    below = min([(total.cumulant(t - d) - here - _CLEAR) / d for d in apart]) + at.epsilon
    deviation = math.sqrt(2.0 * _ABOUT * max(at.epsilon, 0.05 * at.deviation) / (t + 1.0))
    deviation = min(deviation, 0.1 * at.deviation)
    h = 2.0 * math.pi / (max(above, below) + 8.0 * deviation)
    places = 1j * h * np.arange(min(math.ceil(8.0 / (deviation * h)), _MOST_FREQUENCIES))
    s = t + places
    exponents = 0.5 * deviation**2 * (s * s + s)
    for found, count in total.parts:
        tilted = found.log_masses + t * found.losses
        weights = np.exp(tilted - log_sum(tilted))
        ends = np.arange(0, weights.size, _THIN)
        thin = np.add.reduceat(weights, ends)
        losses = np.add.reduceat(weights * found.losses, ends) / np.maximum(thin, 1e-300)
        moved = (np.expm1(np.outer(places, losses)) * (thin / thin.sum())).sum(axis=1)
        exponents += count * np.log1p(moved)
    values = np.exp(exponents) / (s * (s + 1.0))
    values[0] *= 0.5
    least = _RESOLVED * float(np.abs(values).sum())

    def excess(epsilon: float) -> float:
        """The logarithm of delta over the one asked for."""
        found = float((values * np.exp(-places * epsilon)).real.sum())
        if not found > least:
            return -math.inf
        return math.log(found * h / math.pi) + here - t * epsilon - at.log_delta

    return _where_zero(excess, at.epsilon)


def _where_zero(falling: Callable[[float], float], high: float, low: float = 0.0) -> float:
    """Where a function that falls is 0, by bisection, and ``low`` if nowhere."""
    if not falling(low) > 0.0:
        return low
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if falling(middle) > 0.0 else (low, middle)
    return high


def _by_conversion(total: Sum, log_delta: float, unit: float) -> tuple[float, float]:
    def converted(log_tilt: float) -> float:
        tilt = math.exp(log_tilt)
        # What the conversion of Balle et al. 2020 adds to the cumulant.
        added = tilt * math.log(tilt / (tilt + 1.0)) - math.log1p(tilt) if tilt > 0.0 else 0.0
        return (total.cumulant(tilt) - log_delta + added) / tilt

    # A delta of nearly 1 says nothing about where to begin.
    start = math.log(unit * math.sqrt(max(-2.0 * log_delta, 1e-12)))
    found = lowest(converted, start, width=1.0, rounds=40)
    asked = max(converted(found), 0.0)
    if math.exp(found) * asked > _STEEPEST:
        # Losses are bounded, and epsilon is close to their largest sum: a larger tilt would only
        # distinguish deltas that differ by many orders of magnitude.
        found = math.log(_STEEPEST / asked)
        asked = max(converted(found), 0.0)
    return math.exp(found), asked


def _tilt_for(total: Sum, epsilon: float, mean: float, unit: float) -> float:
    """The tilt at which the mean is ``epsilon``, or 0 where it is larger without one."""
    if mean >= epsilon:
        return 0.0
    low, high = 0.0, unit
    while total.moments(high)[1] < epsilon and high < _LARGEST_TILT * unit:
        low, high = high, 2.0 * high
    while high - low > 1e-3 * high:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if total.moments(middle)[1] < epsilon else (low, middle)
    return high


def lowest(function: Callable[[float], float], start: float, *, width: float, rounds: int) -> float:
    """About where a function with one minimum is least: steps that grow downhill, then shrink."""
    place, value = start, function(start)
    for _ in range(rounds):
        for candidate in (place + width, place - width):
            found = function(candidate)
            if found < value:
                place, value = candidate, found
                break
        else:
            width *= 0.4
    return place
