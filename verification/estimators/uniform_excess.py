"""An upper confidence bound on the excess of all threshold events of a score over a claim.

For each of K ranks, the probability above the order statistic of that rank has a beta distribution,
whatever the distribution of the scores. So Clopper-Pearson bounds hold for each rank, and for all
ranks together if each has a K-th part of the error. Between ranks probabilities are monotone. The
logarithms of the ranks are equally spaced, so the relative width of the bounds is similar in the
tail and in the middle.
"""

from __future__ import annotations

import numpy as np

from rdpkit import _validate
from rdpkit.verification.estimators import clopper_pearson
from rdpkit.verification.estimators.base import Array, check_scores
from rdpkit.verification.estimators.privacy_claims import PrivacyClaim

_RANKS = 400


def largest_excess(
    claim: PrivacyClaim,
    # Independent scores from either side; shape (n,) and (m,)
    p_scores: Array,
    q_scores: Array,
    *,
    confidence: float,  # In (0, 1)
) -> float:
    """A bound on P(E) - e^epsilon Q(E) - delta, in both directions, for all threshold events E.

    Raises ArithmeticError if a score is NaN.

    Guarantee
    ---------
    With probability at least ``confidence``, no event {score > t} or {score < t} exceeds any of
    the claim's supporting lines by more than the returned value.
    """
    level = _validate.open_probability("confidence", confidence)
    p, q = check_scores("p_scores", p_scores), check_scores("q_scores", q_scores)
    epsilons, deltas = claim.supporting_lines()
    slopes = np.exp(epsilons)[:, None]
    found = -np.inf
    # There are eight bands: an upper and a lower one for each distribution and each side.
    failure = (1.0 - level) / 8.0
    for sign in (1.0, -1.0):
        sides = (np.sort(sign * p), np.sort(sign * q))
        for first, second in (sides, sides[::-1]):
            starts, above = _upper_band(first, failure)
            ends, below = _lower_band(second, failure)
            # On [starts_i, starts_{i+1}) the first band is constant, and the second band is
            # smallest just before the end.
            limits = np.append(starts[1:], np.inf)
            place = np.searchsorted(ends, limits, side="left")
            least = np.append(below, 0.0)[place]
            excess = above[None, :] - slopes * least[None, :] - deltas[:, None]
            found = max(found, float(excess.max()))
    return found


def _ranks(size: int) -> Array:
    return np.unique(np.round(np.geomspace(1.0, size, min(size, _RANKS))))


def _upper_band(ordered: Array, failure: float) -> tuple[Array, Array]:
    """Points t_0 = -inf < t_1 < ..., and upper bounds on P(X > t) for t from each point on."""
    ranks = _ranks(ordered.size)[::-1]
    points = ordered[(ordered.size - ranks).astype(np.int64)]
    # These bound P(X > t) where t is the order statistic with rank - 1 scores above it.
    bounds = clopper_pearson.upper_bound(ranks - 1.0, ordered.size, failure / ranks.size)
    return np.append(-np.inf, points), np.append(1.0, bounds)


def _lower_band(ordered: Array, failure: float) -> tuple[Array, Array]:
    """Points t_1 < t_2 < ..., and lower bounds on P(X > t) for t below each point."""
    ranks = _ranks(ordered.size)[::-1]
    points = ordered[(ordered.size - ranks).astype(np.int64)]
    bounds = clopper_pearson.lower_bound(ranks, ordered.size, failure / ranks.size)
    return points, bounds
