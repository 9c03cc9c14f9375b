r"""Bounds on a probability that hold at all times together.

For k hits in n trials the mixture

    M_n(p) = B(k + 1/2, n - k + 1/2) / B(1/2, 1/2) / (p^k (1-p)^(n-k))

of likelihood ratios is a nonnegative martingale that begins at 1 if p is the true probability. So
M_n(p) ever reaches 1/failure with probability at most ``failure`` (Ville's inequality), and the
probabilities at which it has not reached it form an interval that holds whenever one looks.

Source
------
Ville 1939; Robbins, "Statistical methods related to the law of the iterated logarithm", Annals of
Mathematical Statistics 1970; the prior is that of Jeffreys.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaln, xlog1py, xlogy

from rdpkit import _validate
from rdpkit.verification.estimators.base import Array

_HALVINGS = 60


def lower_bound(
    hits: ArrayLike,  # In [0, trials]; need not be whole, for plans
    trials: float,  # At least 0
    failure: float,  # In (0, 1)
) -> Array:
    """A lower bound on the probability of a hit, which holds at all times together.

    Guarantee
    ---------
    It is ever above the true probability with probability at most ``failure``, however often and
    whenever one looks.
    """
    found, size, level = _checked(hits, trials, failure)
    low, high = np.zeros_like(found), found / max(size, 1.0)
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        outside = _log_mixture(found, size, middle) >= level
        low, high = np.where(outside, middle, low), np.where(outside, high, middle)
    return low


def upper_bound(hits: ArrayLike, trials: float, failure: float) -> Array:
    """An upper bound on the probability of a hit: see :func:`lower_bound`."""
    found, size, level = _checked(hits, trials, failure)
    return np.asarray(1.0 - lower_bound(size - found, size, math.exp(-level)))


def _checked(hits: ArrayLike, trials: float, failure: float) -> tuple[Array, float, float]:
    size = _validate.non_negative("trials", trials)
    found = np.asarray(_validate.real_array("hits", hits, "to be in [0, trials]"))
    if not ((found >= 0.0) & (found <= size)).all():
        raise _validate.fail("hits", f"to be in [0, {size:g}]", hits)
    return found, size, math.log(1.0 / _validate.open_probability("failure", failure))


def _log_mixture(hits: Array, trials: float, probability: Array) -> Array:
    prior = betaln(0.5, 0.5)
    misses = trials - hits
    likelihood = xlogy(hits, probability) + xlog1py(misses, -probability)
    return np.asarray(betaln(hits + 0.5, misses + 0.5) - prior - likelihood)
