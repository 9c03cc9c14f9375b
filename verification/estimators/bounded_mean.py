r"""A confidence interval for the mean of bounded variables, by betting.

A gambler who claims that the mean exceeds m bets a predictable share of the capital on every draw.
With factors 1 + l_i (x_i - m) >= 0 the capital is a nonnegative supermartingale if the mean is at
most m. By Markov's inequality it then reaches 2/alpha with probability at most alpha/2, so every m
at which it reaches 2/alpha can be ruled out. The shares depend on the variance of earlier draws.
Therefore the interval is as narrow as a Gaussian interval with the true variance, up to a factor,
and yet valid for every distribution in the range and every number of draws.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from rdpkit import _validate
from rdpkit.verification.estimators.base import Array, ConfidenceInterval, check_scores

# The largest part of the capital that one draw may lose.
_BOLDEST = 0.75
# Without an upper bound, the first draws set the scale: one draw in this many.
_SCALING = 20
_HALVINGS = 60
# Without an upper bound, values are cut here, relative to the scale, so that squares stay finite.
_LARGEST_UNIT = 1e100


def bounded_mean_interval(
    values: ArrayLike,
    *,
    lower: float,
    upper: float,
    confidence: float,
) -> ConfidenceInterval:
    """An interval for the mean of independent, identically distributed values in [lower, upper].

    Guarantee
    ---------
    The interval contains the mean with probability at least ``confidence``, at every number of
    values and for every distribution on the range.

    Assumes
    -------
    The values are independent draws, in the order in which they were drawn. The range was known
    before they were drawn.

    Parameters
    ----------
    values : array_like, shape (n,)
        Draws.
    lower, upper : float
        The range. With ``upper = inf`` the interval has no upper end.
    confidence : float
        In (0, 1); each end fails with half of the remaining probability.

    Raises
    ------
    ValueError
        If a value is outside of the range.
    ArithmeticError
        If a value is NaN.

    Source
    ------
    Waudby-Smith and Ramdas, "Estimating means of bounded random variables by betting", JRSS B 2024
    (arXiv 2010.09686v7), Theorem 3, with the shares of its equation (26) for a fixed number of
    draws.

    Examples
    --------
    >>> import numpy as np
    >>> draws = np.random.default_rng(1).random(10_000)
    >>> found = bounded_mean_interval(draws, lower=0.0, upper=1.0, confidence=0.95)
    >>> 0.5 in found, found.width < 0.02
    (True, True)
    """
    x = check_scores("values", values)
    level = _validate.open_probability("confidence", confidence)
    if not (math.isfinite(lower) and lower < upper):
        raise _validate.fail("lower", "to be finite and below upper", lower)
    if x.min() < lower or x.max() > upper:
        bad = x.min() if x.min() < lower else x.max()
        raise _validate.fail("values", f"in [{lower!r}, {upper!r}]", float(bad))
    if math.isinf(upper):
        # A lower end needs no upper bound: a bet on large values can lose no more than its stake.
        # The scale must not depend on the values that are bet on, so the first draws set it and
        # are not bet on.
        first = max(1, x.size // _SCALING)
        if x.size == first:
            return ConfidenceInterval(lower=lower, upper=math.inf, confidence=level)
        scale = float(x[:first].mean() - lower) or 1.0
        # Cutting large values makes the lower bound smaller, so it stays valid.
        with np.errstate(over="ignore"):
            unit = np.minimum((x[first:] - lower)[None, :] / scale, _LARGEST_UNIT)
        low = float(mean_lower_bounds(unit, failure=1.0 - level, top=None)[0])
        return ConfidenceInterval(lower=lower + scale * low, upper=math.inf, confidence=level)
    width = upper - lower
    unit = np.clip((x - lower) / width, 0.0, 1.0)[None, :]
    failure = 0.5 * (1.0 - level)
    low = float(mean_lower_bounds(unit, failure=failure)[0])
    high = 1.0 - float(mean_lower_bounds(1.0 - unit, failure=failure)[0])
    # In exact arithmetic the ends cannot cross: both contain the sample mean.
    return ConfidenceInterval(
        lower=lower + width * low, upper=lower + width * max(low, high), confidence=level
    )


def mean_lower_bounds(
    values: Array,  # One experiment a row, in the order of the draws; shape (k, n)
    *,
    failure: float,  # Probability that a bound is too large
    # The largest possible value, if there is one; it helps to choose good bets.
    top: float | None = 1.0,
) -> Array:
    """Lower confidence bounds on the mean of each row; values in [0, 1], or >= 0 if top is None."""
    count = values.shape[1]
    target = math.log(1.0 / failure)
    before = np.arange(1, count + 1, dtype=np.float64)
    # Estimates from earlier draws; they begin as if one draw in the middle had been seen.
    start_mean, start_variance = (0.5, 0.25) if top is not None else (1.0, 1.0)
    mean = (start_mean + np.cumsum(values, axis=1)) / (before + 1.0)
    variance = (start_variance + np.cumsum((values - mean) ** 2, axis=1)) / (before + 1.0)
    previous = np.concatenate(
        [np.full((values.shape[0], 1), start_variance), variance[:, :-1]], axis=1
    )
    with np.errstate(divide="ignore"):
        shares = np.sqrt(2.0 * target / (count * previous))
    low = np.zeros(values.shape[0])
    high = values.mean(axis=1)
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        ruled_out = _log_capital(values, shares, middle) >= target
        low = np.where(ruled_out, middle, low)
        high = np.where(ruled_out, high, middle)
    return low


def _log_capital(values: Array, shares: Array, m: Array) -> Array:
    """The gambler's log-capital against "the mean is at most m", for each row.

    It decreases in m, because 1 + min(l, c/m) (x - m) decreases in m for every x >= 0.
    """
    with np.errstate(divide="ignore"):
        bold = _BOLDEST / m[:, None]
    bets = np.minimum(shares, bold)
    with np.errstate(invalid="ignore"):
        found = np.log1p(bets * (values - m[:, None])).sum(axis=1)
    # At m = 0 the bet on a positive draw is unlimited.
    return np.asarray(np.where(np.isnan(found), np.inf, found))
