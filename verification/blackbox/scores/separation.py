"""How clearly a score tells outputs on D from outputs on D', on outputs it was not learnt from."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from rdpkit.verification.estimators.base import Array

Counts = NDArray[np.intp]

# With this many different values of a score or more, chance alone gives about the same clearness.
_MOST_VALUES = 1000


def clearness(p_scores: Array, q_scores: Array) -> float:
    """How clearly scores differ, in standard deviations; about 0 or less if nothing is seen.

    It is the signed root of the largest likelihood ratio of an event {score > t}, less a part of
    what chance gives for as many events.

    Parameters
    ----------
    p_scores, q_scores : ndarray, shape (n,) and (m,)
        Scores of outputs that the score was not learnt from.
    """
    values, places = np.unique(np.concatenate([p_scores, q_scores]), return_inverse=True)
    if len(values) < 2:
        return -math.inf
    above, below = (
        np.cumsum(np.bincount(part, minlength=len(values)))[:-1]
        for part in (places[: len(p_scores)], places[len(p_scores) :])
    )
    ratio = _log_likelihood_ratio(above, len(p_scores), below, len(q_scores))
    chance = math.sqrt(2.0 * math.log(1.0 + min(len(values), _MOST_VALUES)))
    return math.sqrt(2.0 * max(0.0, float(ratio.max()))) - 0.5 * chance


def _log_likelihood_ratio(hits: Counts, n: int, others: Counts, m: int) -> Array:
    """Of two different probabilities against a single one, for counts of an event."""
    parts = _entropy(hits, n) + _entropy(others, m) - _entropy(hits + others, n + m)
    return np.asarray(parts)


def _entropy(hits: Counts, n: int) -> Array:
    rate = hits / n
    return np.asarray(xlogy(hits, rate) + xlogy(n - hits, 1.0 - rate))


def same_order(first: Array, second: Array) -> bool:
    """Whether two scores order outputs in the same way, or in opposite ways, with the same ties."""
    ranks = [np.unique(scores, return_inverse=True)[1] for scores in (first, second)]
    return bool((ranks[0] == ranks[1]).all() or (ranks[0] == ranks[1].max() - ranks[1]).all())


__all__ = ["clearness", "same_order"]
