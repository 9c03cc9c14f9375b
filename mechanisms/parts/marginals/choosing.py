"""Which pairs of columns are worth a measurement: decided by noisy numbers alone."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from rdpkit.mechanisms.parts.marginals.counting import Floats, Pair
from rdpkit.mechanisms.parts.marginals.rounds import MeasuredCounts, weights

_HALF_NORMAL = math.sqrt(2.0 / math.pi)
# A fitted model smooths the noise: this part of a table's noise is left, by experience.
_LEFT = 0.6
# What is left of chance in the data, which a model cannot know, of an unmeasured pair.
_CHANCE = 0.7
_POWER = 0.5
_TRIALS = 48


def records_estimate(measured: Sequence[MeasuredCounts]) -> float:
    """The number of records that noisy marginals of single columns add up to; at least 1."""
    precision = np.array([1.0 / (one.counts.size * one.std**2) for one in measured])
    totals = np.array([one.counts.sum() for one in measured])
    return float(max(1.0, (precision * totals).sum() / precision.sum()))


def nearest_probabilities(values: Floats) -> Floats:
    """The nearest vector of numbers >= 0 that add up to 1.

    Source
    ------
    Duchi, Shalev-Shwartz, Singer and Chandra 2008, Figure 1.
    """
    ordered = np.sort(values)[::-1]
    excess = (np.cumsum(ordered) - 1.0) / np.arange(1, values.size + 1)
    last = int(np.nonzero(ordered > excess)[0][-1])
    kept = np.maximum(values - excess[last], 0.0)
    found: Floats = kept / kept.sum()
    return found


def frequent_codes(measured: MeasuredCounts, *, standard_deviations: float = 2.0) -> Floats:
    """Which codes stand out of the noise, as an array of truth values; at least one does."""
    found = measured.counts >= standard_deviations * measured.std
    if not found.any():
        found = measured.counts == measured.counts.max()
    return found.astype(np.float64)


def chosen_pairs(
    scores: Mapping[Pair, float], expected: Mapping[Pair, Floats], *, std: float, records: float
) -> dict[Pair, float]:
    """The pairs to measure with the weight of each.

    The pairs are sorted by how much stronger their noisy dependence is than chance makes it. The
    number of pairs is the one with the least predicted error: a pair that is measured has the
    noise's error, and one that is not keeps its dependence.

    Parameters
    ----------
    scores : mapping
        The noisy sum of absolute differences between a pair's marginal and independence.
    expected : mapping
        Expected counts of each pair under independence.
    std : float
        Noise of the round that measures them, for a table with weight 1.
    records : float
        The noisy number of records.
    """
    chance = {
        pair: _HALF_NORMAL * np.sqrt(np.maximum(table, 0.0)).sum()
        for pair, table in expected.items()
    }
    order = sorted(scores, key=lambda pair: chance[pair] - scores[pair])
    unmeasured = np.array([max(scores[pair], _CHANCE * chance[pair]) for pair in order])
    best, best_error = {}, float(unmeasured.sum())
    for count in sorted({round(v) for v in np.geomspace(1, len(order), _TRIALS)} if order else ()):
        some = order[:count]
        shares = weights([expected[pair].size for pair in some], _POWER)
        error = float(unmeasured[count:].sum())
        for pair, weight, most in zip(some, shares, unmeasured, strict=False):
            noisy = _HALF_NORMAL * np.minimum(std / weight, expected[pair]).sum()
            error += min(_LEFT * noisy, most)
        if error < best_error:
            best_error = error
            best = {pair: float(weight) for pair, weight in zip(some, shares, strict=True)}
    return best


__all__ = ["chosen_pairs", "frequent_codes", "nearest_probabilities", "records_estimate"]
