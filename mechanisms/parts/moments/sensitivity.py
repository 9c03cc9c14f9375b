"""How far one record moves sums of records and of their products.

The proofs are on the pages :doc:`/theory/moments` and :doc:`/theory/moments-rounds`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from rdpkit import Adjacency
from rdpkit.events import ClassMoments

# Squared diameters are rounded up by more than the rounding errors of their few operations.
_UP = 1.0 + 1e-14


def moments_diameter(
    # Squares of the weights of the class sums, of the second moments of all records, of those of
    # each class, of which a block of coordinates may be left, and of class counts. They add up to
    # 1.
    sums: float,
    pooled: float,
    by_class: float,
    counts: float = 0.0,
) -> float:
    """How far class sums, moments and counts move under replace-one; see :class:`ClassMoments`."""
    event = ClassMoments(
        noise_std=1.0,
        sum_weight=math.sqrt(sums),
        pooled_weight=math.sqrt(pooled),
        class_weight=math.sqrt(by_class),
        count_weight=math.sqrt(counts),
    )
    # The squares of the roots add up to 1 only nearly.
    return min(2.0, event.sensitivity(Adjacency.REPLACE_ONE) * _UP)


def location_diameter(
    # Weights of the sum of all records, of norms of at most 1, and of the sums of the squares of
    # the coordinates of each group. The squares of the weights add up to 1.
    sums: float,
    squares: float,
) -> float:
    """An upper bound on how far a sum and sums of squares of groups move under replace-one."""
    return min(2.0, _root_up(4.0 * sums * sums + 2.0 * squares * squares))


def together(
    diameters: Sequence[float],  # Of the releases
    shares: Sequence[float],  # Their shares, which add up to 1
) -> float:
    """The diameter of one Gaussian release that is as private as several, one after the other.

    A release that moves by at most d, with noise of standard deviation s / sqrt(share), is a
    Gaussian mechanism with the mean sqrt(share) d / s. Several, each of which may depend on what
    the ones before it gave, are as private as one with the root of the sum of squares of the means.
    """
    return min(2.0, _root_up(math.fsum(s * d * d for s, d in zip(shares, diameters, strict=True))))


def _root_up(square: float) -> float:
    return math.nextafter(math.sqrt(square * _UP), math.inf)
