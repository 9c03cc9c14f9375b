"""How columns of many ordered codes are cut into parts, by noisy counts of coarser parts alone.

A partition of a column is an array: the code with which each part begins, from 0 upwards.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rdpkit.mechanisms.parts.marginals.counting import Codes, Floats
from rdpkit.mechanisms.parts.marginals.rounds import MeasuredCounts

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
