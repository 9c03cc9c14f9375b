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
# Outputs are sorted by a known score into at most so many bins, of at least so many outputs each,
# and compared at about three times so many levels.
_BINS, _FOR_A_BIN, _LEVELS = 64, 25, 24


def clearness(
    # Scores of outputs that the score was not learnt from; shape (n,) and (m,)
    p_scores: Array,
    q_scores: Array,
) -> float:
    """How clearly scores differ, in standard deviations; about 0 or less if nothing is seen.

    It is the signed root of the largest likelihood ratio of an event {score > t}, less a part of
    what chance gives for as many events.
    """
    values, places = np.unique(np.concatenate([p_scores, q_scores]), return_inverse=True)
    if len(values) < 2:
        return -math.inf
    above, below = (
        np.cumsum(np.bincount(part, minlength=len(values)))[:-1]
        for part in (places[: len(p_scores)], places[len(p_scores) :])
    )
    n, m = len(p_scores), len(q_scores)
    # Of two different probabilities against a single one.
    ratio = _entropy(above, n) + _entropy(below, m) - _entropy(above + below, n + m)
    chance = math.sqrt(2.0 * math.log(1.0 + min(len(values), _MOST_VALUES)))
    return math.sqrt(2.0 * max(0.0, float(ratio.max()))) - 0.5 * chance


def _entropy(hits: Counts, n: int) -> Array:
    rate = hits / n
    return np.asarray(xlogy(hits, rate) + xlogy(n - hits, 1.0 - rate))


def clearness_beyond(
    # Scores of outputs that the score was not learnt from; shape (n,) and (m,)
    p_scores: Array,
    q_scores: Array,
    # The known score of the same outputs; shape (n,) and (m,)
    p_known: Array,
    q_known: Array,
) -> float:
    """How clearly scores differ among outputs of which another score says about the same.

    Outputs are sorted into bins by the known score. For each event {score > t}, the numbers from D
    in the bins are compared with what is expected if the event says nothing beyond the bin, as
    Mantel and Haenszel do; what counts is the clearest event, less a part of what chance gives.
    """
    scores, known = np.concatenate([p_scores, q_scores]), np.concatenate([p_known, q_known])
    count = int(np.clip(len(known) // _FOR_A_BIN, 2, _BINS))
    edges = np.unique(np.quantile(known, np.arange(1, count) / count, method="inverted_cdf"))
    bins = np.searchsorted(edges, known, side="left")
    values = np.unique(scores)
    if len(values) < 2:
        return -math.inf
    levels = values[_spread_out(len(values))]
    cells = np.searchsorted(levels, scores, side="right")
    shape = (len(edges) + 1, len(levels) + 1)
    places = bins * shape[1] + cells
    hits, every = (
        np.bincount(part, minlength=shape[0] * shape[1]).reshape(shape).astype(np.float64)
        for part in (places[: len(p_scores)], places)
    )
    # For each level, outputs from below it.
    below, all_below = np.cumsum(hits, axis=1)[:, :-1], np.cumsum(every, axis=1)[:, :-1]
    size, own = every.sum(axis=1, keepdims=True), hits.sum(axis=1, keepdims=True)
    size_or_one = np.maximum(size, 1.0)
    expected = (own * all_below / size_or_one).sum(axis=0)
    variance = (
        own
        * (size - own)
        * all_below
        * (size - all_below)
        / size_or_one**2
        / np.maximum(size - 1.0, 1.0)
    ).sum(axis=0)
    gap = np.abs(below.sum(axis=0) - expected)
    clear = np.zeros(len(levels))
    np.divide(gap, np.sqrt(variance), out=clear, where=variance > 0.0)
    chance = math.sqrt(2.0 * math.log(1.0 + min(len(values), _MOST_VALUES)))
    return float(clear.max()) - 0.5 * chance


def _spread_out(count: int) -> Counts:
    """Places among so many ordered values: evenly spread, and closer together at both ends."""
    ends = np.unique(np.round(np.geomspace(1, max(1, count - 1), _LEVELS)).astype(np.intp))
    evenly = np.linspace(1, count - 1, _LEVELS).astype(np.intp)
    return np.unique(np.concatenate([ends, count - ends, evenly]))


def same_order(first: Array, second: Array) -> bool:
    """Whether two scores order outputs in the same way, or in opposite ways, with the same ties."""
    ranks = [np.unique(scores, return_inverse=True)[1] for scores in (first, second)]
    return bool((ranks[0] == ranks[1]).all() or (ranks[0] == ranks[1].max() - ranks[1]).all())
