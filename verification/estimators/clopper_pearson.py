"""The exact confidence interval for a probability."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv

from rdpkit import _validate
from rdpkit.verification.estimators.base import Array, ConfidenceInterval


def clopper_pearson(*, successes: int, trials: int, confidence: float) -> ConfidenceInterval:
    """An interval for a probability from the number of successes in independent trials.

    Guarantee
    ---------
    The interval contains the probability with probability at least ``confidence``. Each end fails
    with at most half of the remaining probability.

    Parameters
    ----------
    successes, trials : int
        0 <= successes <= trials, trials >= 1.
    confidence : float
        In (0, 1).

    Source
    ------
    Clopper and Pearson, "The use of confidence or fiducial limits illustrated in the case of the
    binomial", Biometrika 1934.

    Examples
    --------
    >>> found = clopper_pearson(successes=0, trials=100, confidence=0.95)
    >>> found.lower, round(found.upper, 4)
    (0.0, 0.0362)
    """
    count = _validate.integer("trials", trials)
    hits = _validate.integer("successes", successes, minimum=0, maximum=count)
    level = _validate.open_probability("confidence", confidence)
    failure = 0.5 * (1.0 - level)
    return ConfidenceInterval(
        lower=float(lower_bound(hits, count, failure)),
        upper=float(upper_bound(hits, count, failure)),
        confidence=level,
    )


def lower_bound(successes: ArrayLike, trials: ArrayLike, failure: ArrayLike) -> Array:
    """A lower bound that is too large with probability at most ``failure``; vectorised."""
    x, n = np.asarray(successes, dtype=np.float64), np.asarray(trials, dtype=np.float64)
    found = betaincinv(np.maximum(x, 1.0), n - np.maximum(x, 1.0) + 1.0, failure)
    return _checked(np.where(x == 0.0, 0.0, found))


def upper_bound(successes: ArrayLike, trials: ArrayLike, failure: ArrayLike) -> Array:
    """An upper bound that is too small with probability at most ``failure``; vectorised."""
    x, n = np.asarray(successes, dtype=np.float64), np.asarray(trials, dtype=np.float64)
    # 1 - I^-1(b, a, f) equals I^-1(a, b, 1 - f), without the loss of digits in 1 - f.
    misses = np.maximum(n - x, 1.0)
    found = 1.0 - betaincinv(misses, n - misses + 1.0, failure)
    return _checked(np.where(x == n, 1.0, found))


def _checked(found: Array) -> Array:
    if np.isnan(found).any():
        raise ArithmeticError("A Clopper-Pearson bound came out NaN.")
    return np.asarray(found, dtype=np.float64)
