r"""An exact test of p <= s q + d from two binomial counts.

An event contains X of n outputs on one data set and Y of m outputs on the other. If it was chosen
without looking at them, X ~ Bin(n, p) and Y ~ Bin(m, q) are independent. (epsilon, delta)-DP says
p <= s q + d with s = e^epsilon and d = delta. This test uses the joint distribution of both counts,
and is therefore more powerful than two Clopper-Pearson intervals with half of the error each.

The statistic is the excess over its standard deviation,

    T(x, y) = (x/n - s' y/m - d) / sqrt(v(y)),

with v the variance on the boundary p = s' q + d, at q = (y + 1/2)/(m + 1). The p-value is the
largest probability, over the null hypothesis, of a T at least as large as the one that was seen.

*Only the boundary matters.* Let k(y) be the smallest x with T(x, y) >= t, replaced by the minimum
of k over all y' >= y. This makes k increasing and the region {X >= k(Y)} larger. Its probability
increases in p and decreases in q. So on a piece [q_1, q_2] of the boundary it is at most its value
at (p, q) = (s q_2 + d, q_1), which is an upper bound on the supremum. Its value at any point is a
lower bound. Pieces are split until the two bounds agree.

*The unknown q.* Following Berger and Boos, the supremum is taken over the q of a confidence
interval that fails with probability beta, and beta is added to the p-value.

*Many hypotheses with one statistic.* T depends on the s' that it was tuned for, and not on the
epsilon that is tested. The hypotheses grow with epsilon, and so do the p-values. So the epsilons
that are not rejected form an interval, and its lower end is a confidence bound.

Source
------
Barnard, "Significance tests for 2 x 2 tables", Biometrika 1947 (the unconditional test); Berger and
Boos, "P values maximized over a confidence set for the nuisance parameter", JASA 1994. The bound on
pieces is ours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import bdtrc, betainc, gammaln

from rdpkit import _validate
from rdpkit.verification.estimators import clopper_pearson
from rdpkit.verification.estimators.base import Array

# The part of the false-alarm rate that is spent on the confidence interval for q.
_CONFINING = 0.005
_PIECES = 8
_MOST_PIECES = 2048
# The relative difference at which the upper and the lower bound on a p-value agree.
_PRECISION = 0.03
# Binomial mass outside of the range that is summed; it is added to the result.
_LEFT_OUT = 1e-13
_REACH = 8.0
_ULP = 2.3e-16


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoCounts:
    """How often an event happened on each side."""

    # X and n, on the side whose probability p is bounded by the hypothesis.
    hits_p: int
    trials_p: int
    # Y and m.
    hits_q: int
    trials_q: int

    def __post_init__(self) -> None:
        for hits, trials in (("hits_p", "trials_p"), ("hits_q", "trials_q")):
            count = _validate.integer(trials, getattr(self, trials))
            _validate.integer(hits, getattr(self, hits), minimum=0, maximum=count)


def p_value(
    counts: TwoCounts,
    *,
    slope: float,
    intercept: float,
    tuned_slope: float | None = None,
    level: float = 0.05,
) -> float:
    """A p-value for the hypothesis p <= slope q + intercept.

    Guarantee
    ---------
    Under the hypothesis it is at most u with probability at most u, for every u in (0, 1), as long
    as ``level`` and ``tuned_slope`` do not depend on the counts.

    Parameters
    ----------
    counts : TwoCounts
        The counts.
    slope : float
        s > 0.
    intercept : float
        d in [0, 1).
    tuned_slope : float, optional
        s', the slope for which the statistic is tuned; by default s.
    level : float
        The level that the p-value will be compared with. A part of it is spent on the interval for
        q, and p-values far from it are computed less precisely.

    Raises
    ------
    ValueError
        If an argument is outside of its range.
    ArithmeticError
        If a probability comes out NaN.

    Examples
    --------
    >>> counts = TwoCounts(hits_p=700, trials_p=10_000, hits_q=180, trials_q=10_000)
    >>> p_value(counts, slope=2.72, intercept=0.01) < 0.05 < p_value(
    ...     counts, slope=3.5, intercept=0.01
    ... )
    True
    """
    s = _validate.positive("slope", slope)
    d = _validate.probability("intercept", intercept)
    tuned = s if tuned_slope is None else _validate.positive("tuned_slope", tuned_slope)
    alpha = _validate.open_probability("level", level)
    statistic = _Statistic.of(counts, tuned, d)
    if statistic.value <= 0.0 or s + d <= 0.0:
        return 1.0
    beta = _CONFINING * alpha
    m = counts.trials_q
    low = float(clopper_pearson.lower_bound(counts.hits_q, m, 0.5 * beta))
    high = float(clopper_pearson.upper_bound(counts.hits_q, m, 0.5 * beta))
    found = _supremum(statistic, _Boundary(slope=s, intercept=d, low=low, high=high), alpha - beta)
    return min(1.0, found + beta)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Statistic:
    """The region {X >= k(Y)} of all counts at least as extreme as those that were seen."""

    n: int
    m: int
    value: float
    tuned: float
    d: float

    @classmethod
    def of(cls, counts: TwoCounts, tuned: float, d: float) -> _Statistic:
        n, m = counts.trials_p, counts.trials_q
        excess = counts.hits_p / n - tuned * counts.hits_q / m - d
        y = np.array([float(counts.hits_q)])
        value = excess / math.sqrt(_variance(y, n, m, tuned, d)[0])
        return cls(n=n, m=m, value=value, tuned=tuned, d=d)

    def thresholds(self, y: Array) -> Array:
        """The thresholds k(y) at consecutive y."""
        mean = self.tuned * y / self.m + self.d
        spread = np.sqrt(_variance(y, self.n, self.m, self.tuned, self.d))
        # Slightly lower than computed, so that the observed counts are inside of the region.
        k = np.ceil(self.n * (mean + self.value * spread) * (1.0 - 1e-12) - 1e-9)
        return np.asarray(np.minimum.accumulate(k[::-1])[::-1])


def _variance(y: Array, n: int, m: int, s: float, d: float) -> Array:
    q = (y + 0.5) / (m + 1.0)
    p = np.clip(s * q + d, 0.5 / (n + 1.0), 1.0 - 0.5 / (n + 1.0))
    return np.asarray(p * (1.0 - p) / n + s * s * q * (1.0 - q) / m)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Boundary:
    """The boundary p = slope q + intercept of the hypothesis, for q in [low, high]."""

    slope: float
    intercept: float
    low: float
    high: float


def _supremum(statistic: _Statistic, boundary: _Boundary, level: float) -> float:
    """An upper bound on the region's largest probability along the boundary."""
    s, d, low = boundary.slope, boundary.intercept, boundary.low
    # At a larger q the boundary has p = 1, so that a larger q only makes the region less likely.
    high = min(boundary.high, max(low, (1.0 - d) / s))
    ends = np.linspace(low, high, _PIECES + 1)
    left, right = ends[:-1], ends[1:]
    # The largest upper bound of the pieces that need no more splitting.
    done = 0.0
    pieces = _PIECES
    largest = float(_probability(statistic, s * left + d, left).max())
    while True:
        bounds = _probability(statistic, s * right + d, left)
        middles = 0.5 * (left + right)
        largest = max(largest, float(_probability(statistic, s * middles + d, middles).max()))
        found = max(done, float(bounds.max()))
        # More precision is not needed once the decision is certain, or the bounds agree.
        if largest > 2.0 * level or found <= largest * (1.0 + _PRECISION) + 1e-15:
            return found
        if pieces >= _MOST_PIECES or (found < 0.5 * level and pieces >= 8 * _PIECES):
            return found
        open_ = bounds > largest * (1.0 + 0.5 * _PRECISION)
        if (~open_).any():
            done = max(done, float(bounds[~open_].max()))
        left, middle, right = left[open_], middles[open_], right[open_]
        left, right = np.concatenate([left, middle]), np.concatenate([middle, right])
        pieces = max(2 * pieces, left.size)


def _probability(statistic: _Statistic, p: Array, q: Array) -> Array:
    """P(X >= k(Y)) for pairs of p and q; the mass that is left out is added."""
    n, m = statistic.n, statistic.m
    p = np.minimum(p, 1.0)
    spread = math.sqrt(m * float((q * (1.0 - q)).max()))
    first = max(0, math.floor(m * float(q.min()) - _REACH * spread - 40.0))
    last = min(m, math.ceil(m * float(q.max()) + _REACH * spread + 40.0))
    y = np.arange(first, last + 1, dtype=np.float64)
    k = statistic.thresholds(y)
    inside = k <= n
    if not inside.any():
        return np.full(q.shape, _LEFT_OUT)
    # k increases, so from some y on no x is large enough.
    y, k = y[inside], np.maximum(k[inside], 0.0)
    tails = _binomial_tails(k, n, p)
    mass = _binomial_masses(y, m, q)
    found = np.einsum("ij,ij->i", tails, mass) + _LEFT_OUT
    # Below the range every x may be in the region, so its whole probability is added. The
    # probability above the range is within _LEFT_OUT.
    if first > 0:
        found = found + 1.0 - bdtrc(float(first - 1), m, q)
    if np.isnan(found).any():
        raise ArithmeticError("The probability of a rejection region came out NaN.")
    return np.asarray(np.minimum(found, 1.0))


def _binomial_tails(k: Array, n: int, p: Array) -> Array:
    """P(X >= k), shape (len(p), len(k)); each different threshold is computed once."""
    values, where = np.unique(k, return_inverse=True)
    positive = np.maximum(values, 1.0)
    tails = betainc(positive[None, :], n - positive[None, :] + 1.0, p[:, None])
    tails = np.where(values[None, :] <= 0.0, 1.0, tails)
    return np.asarray(tails[:, where])


def _binomial_masses(y: Array, m: int, q: Array) -> Array:
    """P(Y = y), shape (len(q), len(y))."""
    largest = gammaln(m + 1.0)
    choose = largest - gammaln(y + 1.0) - gammaln(m - y + 1.0)
    choose += 4.0 * _ULP * largest  # the rounding of a difference of large logarithms
    with np.errstate(divide="ignore", invalid="ignore"):
        hits = np.where(y[None, :] == 0.0, 0.0, y[None, :] * np.log(q)[:, None])
        misses = np.where(y[None, :] == m, 0.0, (m - y)[None, :] * np.log1p(-q)[:, None])
    return np.asarray(np.exp(choose[None, :] + hits + misses))
