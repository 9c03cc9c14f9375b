r"""How likely so many right guesses are, if each bit is hidden by randomised response at best.

An auditor guesses r of m fair bits and is right v times. With X ~ Bin(r, e^epsilon /
(1 + e^epsilon)), the probability of v or more right guesses is bounded by

    P(X >= v) + 2 m delta max_{1 <= i <= v} P(v - i <= X < v) / i

(Steinke, Nasr and Jagielski 2023, arXiv 2305.08846v1, Corollary 5.4). What a bit stands for, and
why the bound holds, is said by whoever asks.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.special import betainc, expit

LARGEST_EPSILON = 700.0
_STEP = 1e-9


def right_guesses_tail(
    *,
    # m >= 1, r in [0, m] and v in [0, r].
    bits: int,
    guesses: int,
    right: int,
    epsilon: float,  # In [0, 700]
    delta: float,  # In [0, 1]
) -> float:
    """The bound above, at most 1. Raises ArithmeticError if it comes out NaN."""
    r, v = guesses, right
    if v == 0:
        return 1.0
    # P(X >= k) for k = v, v - 1, ..., 0.
    k = np.arange(v, -1, -1, dtype=np.float64)
    positive = np.maximum(k, 1.0)
    # expit(-e) is 1 / (1 + e^epsilon) with all its digits, which 1 - expit(e) would lose.
    tails = np.where(k == 0.0, 1.0, 1.0 - betainc(r - positive + 1.0, positive, expit(-epsilon)))
    small = betainc(positive, r - positive + 1.0, expit(epsilon))
    tails = np.where((k > 0.0) & (small < 0.5), small, tails)
    steepest = 0.0
    if delta > 0.0:
        i = np.arange(1, v + 1, dtype=np.float64)
        steepest = float(((tails[1:] - tails[0]) / i).max())
    value = float(tails[0]) + 2.0 * bits * delta * max(0.0, steepest)
    if math.isnan(value):
        raise ArithmeticError("The tail of right guesses came out NaN.")
    return min(1.0, value)


def largest_rejected(
    is_rejected: Callable[[float], bool],  # Whether an epsilon is; if one is not, no larger one is
    *,
    most: float,  # The largest epsilon that may be asked about
) -> float:
    """The largest epsilon such that it and all smaller ones are rejected, rounded down to 1e-9."""
    if not is_rejected(0.0):
        return 0.0
    low, step = 0.0, 0.5
    while low + step <= most and is_rejected(low + step):
        low += step
    high = min(low + step, most)
    while high - low > _STEP:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if is_rejected(middle) else (low, middle)
    return low
