r"""Tails of the symmetric Skellam distribution, the difference of two Poisson variables, in balls.

With variance v the probability of the integer k is e^-v I_k(v), I the modified Bessel function. The
ratios r_k = I_(k+1)(v) / I_k(v) fall in k and satisfy r_(k-1) = 1 / (2k/v + r_k); from anything in
[0, 1] for a large k on, this forgets where it began. So the probabilities follow from ratios, up to
a factor that their sum gives; what lies beyond the last one is at most a geometric series.

Source
------
Skellam 1946; Abramowitz and Stegun 9.6.26 (the recurrence), 9.6.34 (the sum).
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

MOST = 1e7
"""The largest variance: beyond it there are too many integers to list."""
# Floats are listed as far as probabilities of e^-720 are.
_LISTED = 720.0


def _reach(rate: float, variance: float) -> int:
    """An integer beyond which probabilities are below e^-rate (Chernoff), and not far beyond."""

    def exponent(k: float) -> float:
        # Without cancellation: sqrt(v^2 + k^2) - v = k^2 / (sqrt(v^2 + k^2) + v).
        return k * math.asinh(k / variance) - k * (k / (math.hypot(variance, k) + variance))

    high = 1.0
    while exponent(high) < rate:
        high *= 1.1
    return math.ceil(high) + 1


def upper_tail(
    m: int,  # Any integer
    variance: float,  # Taken as exact; in (0, MOST]
) -> arb:
    """P(k > m), as a ball at the working precision."""
    if m < 0:
        return 1 - upper_tail(-m - 1, variance)
    tails = _tails(variance, ctx.prec)
    return tails[m] if m < len(tails) else arb(0).union(tails[-1])


@lru_cache(maxsize=16)
def _tails(variance: float, bits: int) -> tuple[arb, ...]:
    """P(k > m) for m from 0 to where they no longer matter."""
    v = arb(variance)
    last = _reach(math.log(2.0) * (2 * bits + 64), variance)
    # An error shrinks by the square of the ratio in each step, which is far more than is needed.
    ratio = arb("0.5 +/- 0.5")
    for j in range(2 * last, last, -1):
        ratio = 1 / (2 * j / v + ratio)
    mass, total = arb(1), arb(0).union(ratio / (1 - ratio))
    found = [total]
    for j in range(last, 0, -1):
        total += mass
        found.append(total)
        grown = 2 * j / v + ratio
        mass, ratio = mass * grown, 1 / grown
    whole = mass + 2 * total
    return tuple([one / whole for one in reversed(found)])


@lru_cache(maxsize=16)
def log_masses(variance: float) -> NDArray[np.float64]:
    """Logarithms of the probabilities of 0, 1, 2 and so on, in floats, but for a common summand."""
    last = _reach(_LISTED, variance)
    # Nearly the ratio that far out, of which an error shrinks with each step.
    ratio, ratios = math.exp(-math.asinh((last + 65) / variance)), []
    for j in range(last + 64, 0, -1):
        ratio = 1.0 / (2.0 * j / variance + ratio)
        ratios.append(ratio)
    falls = np.log(np.array(ratios[::-1][:last]))
    return np.concatenate([[0.0], np.cumsum(falls)])
