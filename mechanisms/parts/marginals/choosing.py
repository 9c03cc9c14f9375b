"""What is measured next, decided by noisy numbers alone: pairs of columns, and parts of columns."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from rdpkit.mechanisms.parts.marginals.rounds import (
    Chosen,
    Codes,
    Floats,
    MeasuredCounts,
    Pair,
    weights,
)

_HALF_NORMAL = math.sqrt(2.0 / math.pi)
# A fitted model smooths the noise: this part of a table's noise is left, by experience.
_NOISE_LEFT = 0.6
# What is left of chance in the data, which a model cannot know, of an unmeasured pair.
_CHANCE = 0.7
# So many standard deviations of its noise are taken from a score.
_DOUBT = 2.0
_POWER = 0.5  # Of a table's size, to which its weight is in proportion
_OF_COLUMNS = 2.0 / 3.0  # The same power, for single columns
# Parts of the third round that may go to single columns.
_PARTS = (0.15, 0.4)
_TRIALS = 48  # Numbers of pairs that are compared


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


def chosen_tables(
    # The noisy sum of absolute differences between a pair's marginal and independence.
    scores: Mapping[Pair, float],
    expected: Mapping[Pair, Floats],  # Expected counts of each pair under independence
    singles: Sequence[MeasuredCounts],  # All columns, as they are known
    *,
    std: float,  # Noise of the round that measures them, for a table with weight 1
    of_scores: float,  # Noise of each score. Dependence is believed as far as it stands out of it.
    records: float,  # The noisy number of records
) -> dict[Chosen, float]:
    """The pairs to measure, and the columns to measure again, with the weight of each.

    The pairs are sorted by how much stronger their noisy dependence is than chance makes it. Their
    number, and the part of the budget that goes to columns, are those with the least predicted
    error: a table that is measured has the noise's error, and a pair that is not keeps its
    dependence. So few records get no pairs at all, and all of the budget goes to the columns.
    """
    chance = {
        pair: _HALF_NORMAL * np.sqrt(np.maximum(table, 0.0)).sum()
        for pair, table in expected.items()
    }
    order = sorted(scores, key=lambda pair: chance[pair] - scores[pair])
    believed = {pair: score - _DOUBT * of_scores for pair, score in scores.items()}
    unmeasured = np.array([max(believed[pair], _CHANCE * chance[pair]) for pair in order])
    of_columns = weights([one.counts.size for one in singles], _OF_COLUMNS)
    weights_of_columns = {part: math.sqrt(part) * of_columns for part in (0.0, *_PARTS, 1.0)}
    # A column is a part of so many pairs, and counts once for itself.
    columns = {
        part: len(singles) * _error_of_columns(singles, std, shares, records)
        for part, shares in weights_of_columns.items()
    }
    best, best_error = (0, 1.0), float(unmeasured.sum()) + columns[1.0]
    for count in sorted({round(v) for v in np.geomspace(1, len(order), _TRIALS)} if order else ()):
        some = order[:count]
        shares = weights([expected[pair].size for pair in some], _POWER)
        for part in (0.0, *_PARTS):
            error = float(unmeasured[count:].sum()) + columns[part]
            for pair, weight, most in zip(some, shares, unmeasured, strict=False):
                own = std / (weight * math.sqrt(1.0 - part))
                noisy = _HALF_NORMAL * np.minimum(own, expected[pair]).sum()
                error += min(_NOISE_LEFT * noisy, most)
            if error < best_error:
                best, best_error = (count, part), error
    count, part = best
    shares = weights([expected[pair].size for pair in order[:count]], _POWER)
    found: dict[Chosen, float] = {
        pair: float(weight) * math.sqrt(1.0 - part)
        for pair, weight in zip(order[:count], shares, strict=True)
    }
    return found | {
        (j,): float(weight) for j, weight in enumerate(weights_of_columns[part]) if weight > 0.0
    }


def _error_of_columns(
    singles: Sequence[MeasuredCounts], std: float, shares: Floats, records: float
) -> float:
    """The predicted error of all columns, in records, if they are measured again."""
    found = 0.0
    for one, share in zip(singles, shares, strict=True):
        noise = 1.0 / math.sqrt(one.std**-2 + (share / std) ** 2)
        counts = nearest_probabilities(one.counts / records) * records
        found += (
            _NOISE_LEFT
            * _HALF_NORMAL
            * float(np.minimum(noise, np.maximum(counts, noise / 4)).sum())
        )
    return found


def together(first: MeasuredCounts, second: MeasuredCounts) -> MeasuredCounts:
    """Two measurements of the same counts, weighted by how precise they are."""
    of_first, of_second = first.std**-2, second.std**-2
    counts = (of_first * first.counts + of_second * second.counts) / (of_first + of_second)
    return MeasuredCounts(counts, (of_first + of_second) ** -0.5)


# How columns of many ordered codes are cut into parts, by noisy counts of coarser parts alone.
#
# A partition of a column is an array: the code with which each part begins, from 0 upwards.

_GROUPS = 16  # Of the ordered codes of a column, at most
# So many standard deviations of noise a part has in records if its group is even, by experience.
_DEVIATIONS = 4.0


def public_groups(codes: int, ordered: int) -> Codes:
    """Sixteen groups of the ordered codes, which come first; every other code is by itself."""
    few = np.linspace(0, ordered, min(ordered, _GROUPS), endpoint=False)
    return np.concatenate([few.astype(np.int64), np.arange(ordered, codes)])


def in_parts(codes: Codes, partitions: Sequence[Codes]) -> tuple[Codes, tuple[int, ...]]:
    """The part of each code, column by column, and how many parts there are."""
    columns = [
        np.searchsorted(starts, codes[:, j], side="right") - 1
        for j, starts in enumerate(partitions)
    ]
    return np.column_stack(columns), tuple(len(starts) for starts in partitions)


def split_groups(groups: Codes, measured: MeasuredCounts, codes: int, std: float) -> Codes:
    """Cut groups with many records into parts that each stand out of noise of a size ``std``."""
    widths = np.diff(groups, append=codes)
    pieces = np.clip(measured.counts / (_DEVIATIONS * std), 1, widths).astype(np.int64)
    return np.concatenate(
        [
            first + np.arange(count) * width // count
            for first, count, width in zip(groups, pieces, widths, strict=True)
        ]
    )


def with_totals(
    parts: MeasuredCounts, starts: Codes, of_groups: MeasuredCounts, groups: Codes
) -> MeasuredCounts:
    """The counts of parts, moved by what is known of each group's total: least squares."""
    group = np.searchsorted(groups, starts, side="right") - 1
    number = np.bincount(group)
    apart = of_groups.counts - np.bincount(group, weights=parts.counts)
    moved = apart * parts.std**2 / (number * parts.std**2 + of_groups.std**2)
    return MeasuredCounts(parts.counts + moved[group], parts.std)


def contiguous_places(probabilities: Floats, ordered: NDArray[np.bool_], most: int) -> Codes:
    """A place for each part, of about one in ``most`` records; neighbours share one.

    Parts that are not ordered, which come last, have a place each.
    """
    middles = np.cumsum(probabilities) - probabilities / 2.0
    # Where records are about even, a place is a part of the cumulative distribution.
    places = np.minimum((middles * most).astype(np.int64), most - 1)
    places[~ordered] = most + np.arange(np.count_nonzero(~ordered))
    return np.unique(places, return_inverse=True)[1].astype(np.int64)
