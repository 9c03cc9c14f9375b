"""Subset sizes, where privacy has no fixed direction: searched without assuming one.

A mean over t of n records with noise s has the sampling probability t/n and the noise multiplier
s t / D: both grow with t, and what they do to the divergence nearly cancels. Every theorem rises
with the probability and falls with the multiplier. So a release with the probability at l and the
multiplier at h has at most the divergence of any t in [l, h]; if even that misses the target, all t
of the interval do. Intervals that are not ruled out are halved, down to single numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

IntervalScore = Callable[[int, int], float]
"""Maps l and h to a lower bound on the scores of all t in [l, h]; for l = h to the score of l."""


@dataclass(frozen=True, slots=True)
class Scan:
    """What a scan found."""

    meets: int | None  # The first t, from the preferred end, that meets the target
    misses: int | None  # Its neighbour on the preferred side; None if there is none in the range


def first(
    score: IntervalScore,
    *,
    # The ends of the range, at least 1.
    lowest: int,
    highest: int,
    smallest: bool,  # Which end is preferred
) -> Scan:
    """The smallest or the largest t in [lowest, highest] that meets the target.

    Every other t on the preferred side is ruled out: alone, or by an interval that holds it.
    """
    pending = [(lowest, highest)]
    while pending:
        low, high = pending.pop()
        if score(low, high) > 0.0:
            continue
        if low == high:
            beside = low - 1 if smallest else low + 1
            return Scan(meets=low, misses=beside if lowest <= beside <= highest else None)
        middle = min(max(math.isqrt(low * high), low), high - 1)
        halves = [(low, middle), (middle + 1, high)]
        pending.extend(reversed(halves) if smallest else halves)
    return Scan(meets=None, misses=None)
