"""How far one record moves the product of a strategy matrix and the sums of its steps.

Entries are taken as the exact numbers that their floats are. A Toeplitz matrix is summed in
integers, so that only the square root is rounded; sums over a matrix that is written out are
rounded up by more than their floats can be off.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import isqrt, nextafter, ulp

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_EXTRA_BITS = 128


@dataclass(frozen=True, slots=True)
class Distance:
    """How far one record of norm 1 moves the release: at most, and at least for some data set."""

    above: float
    below: float


@dataclass(frozen=True, slots=True)
class Pattern:
    """In which steps a record may take part."""

    separation: int  # Two participations of one record are at least that many steps apart
    participations: int  # The largest number of participations


def _integers(values: Sequence[float]) -> tuple[list[int], int]:
    """Floats as integers over one power of two."""
    ratios = [value.as_integer_ratio() for value in values]
    common = max(denominator for _, denominator in ratios)
    return [number * (common // denominator) for number, denominator in ratios], common


def _root(total: int, common: int) -> Distance:
    """The square root of total / common^2, rounded to both sides."""
    root = isqrt(total << 2 * _EXTRA_BITS)
    scale = common << _EXTRA_BITS
    return Distance(
        above=nextafter((root + 1) / scale, float("inf")), below=nextafter(root / scale, 0.0)
    )


def _squares_of_sum(column: list[int], steps: int, pattern: Pattern, sign: int) -> int:
    """|sum_m sign^m c_(m b)|^2 over the columns m b, m < k, of a Toeplitz matrix."""
    b, k = pattern.separation, pattern.participations
    width = len(column)
    last = sign**k
    moved = [0] * steps
    for t in range(steps):
        value = column[t] if t < width else 0
        if t >= b:
            value += sign * moved[t - b]
        if 0 <= t - k * b < width:
            value -= last * column[t - k * b]
        moved[t] = value
    return sum(value * value for value in moved)


@lru_cache(maxsize=32)
def of_toeplitz(coefficients: tuple[float, ...], steps: int, pattern: Pattern) -> Distance:
    """The distance for a lower-triangular Toeplitz matrix with this first column.

    The columns of two participations overlap if the matrix has more bands than steps between them.
    Inner products of columns are then bounded by those of the smallest sequence above the absolute
    coefficients that does not increase (theory page "Matrix factorisation").
    """
    column, common = _integers(coefficients[:steps])
    while len(column) > 1 and column[-1] == 0:
        column.pop()
    largest = column
    if len(column) > pattern.separation and pattern.participations > 1:
        largest, highest = [0] * len(column), 0
        for index in range(len(column) - 1, -1, -1):
            highest = max(highest, abs(column[index]))
            largest[index] = highest
    above = _squares_of_sum(largest, steps, pattern, 1)
    if largest == column:
        return _root(above, common)
    single = Pattern(separation=pattern.separation, participations=1)
    below = max(
        _squares_of_sum(column, steps, pattern, 1),
        _squares_of_sum(column, steps, pattern, -1),
        _squares_of_sum(column, steps, single, 1),
    )
    return Distance(above=_root(above, common).above, below=_root(below, common).below)


def bands_of_toeplitz(coefficients: tuple[float, ...], steps: int) -> int:
    """The number of bands: the rows below the diagonal that are not zero, and the diagonal."""
    return max((i + 1 for i, value in enumerate(coefficients[:steps]) if value != 0.0), default=0)


def lower_triangle(entries: Sequence[float], steps: int) -> Array:
    """The matrix whose lower triangle has these entries, row by row; shape (steps, steps)."""
    matrix = np.zeros((steps, steps))
    matrix[np.tril_indices(steps)] = entries
    return matrix


def bands_of_matrix(matrix: Array) -> int:
    """The number of bands of a lower-triangular matrix."""
    rows, columns = np.nonzero(matrix)
    return int((rows - columns).max(initial=-1)) + 1


def largest_column(matrix: Array) -> float:
    """The largest L2 norm of a column, rounded up."""
    slack: float = (matrix.shape[0] + 16) * ulp(1.0)
    longest = float(np.sqrt((matrix * matrix).sum(axis=0).max()))
    return longest * (1.0 + slack)


@lru_cache(maxsize=8)
def of_matrix(entries: tuple[float, ...], steps: int, pattern: Pattern) -> Distance:
    """The distance for a lower-triangular matrix that is written out.

    The square is at most the largest sum of absolute inner products of pairs of columns that one
    record may take part in. A column's inner products with the others are bounded by the largest
    ones of as many blocks of steps as there are other participations.
    """
    matrix = lower_triangle(entries, steps)
    slack = (4 * steps + 64) * ulp(1.0)
    products = np.abs(matrix.T @ matrix) + slack * (np.abs(matrix).T @ np.abs(matrix))
    b, k = pattern.separation, pattern.participations
    weights = products.diagonal().copy()
    if k > 1 and bands_of_matrix(matrix) > b:
        weights += _overlaps(products, b, k)
    above = float(np.sqrt(_largest_sum(weights, b, k))) * (1.0 + slack)
    return Distance(above=above, below=_attained(matrix, b, k, slack))


def _overlaps(products: Array, b: int, k: int) -> Array:
    """For each column, a bound on its inner products with the record's other columns."""
    steps = products.shape[0]
    found = np.zeros(steps)
    for i in range(steps):
        later, earlier = products[i, i + b :], products[i, : max(i - b + 1, 0)][::-1]
        blocks = [
            np.maximum.reduceat(side, np.arange(0, side.size, b))
            for side in (later, earlier)
            if side.size
        ]
        if blocks:
            largest = np.sort(np.concatenate(blocks))[::-1]
            found[i] = largest[: k - 1].sum()
    return found


def _largest_sum(weights: Array, b: int, k: int) -> float:
    """The largest sum of at most k weights of which any two are at least b places apart."""
    steps = weights.size
    # best[t, m]: the largest sum of at most m of the first t weights.
    best = np.zeros((steps + 1, k + 1))
    for t in range(1, steps + 1):
        taken = weights[t - 1] + best[max(t - b, 0), :-1]
        best[t, 1:] = np.maximum(best[t - 1, 1:], taken)
    return float(best[steps, k])


def _attained(matrix: Array, b: int, k: int, slack: float) -> float:
    """What a record that takes part as often as it may, with one vector, is certain to move."""
    largest = float(np.sqrt((matrix * matrix).sum(axis=0).max()))
    absolute = np.abs(matrix)
    for offset in range(min(b, matrix.shape[0])):
        chosen = slice(offset, offset + b * k, b)
        moved = matrix[:, chosen].sum(axis=1)
        off = slack * absolute[:, chosen].sum(axis=1)
        largest = max(largest, float(np.linalg.norm(np.maximum(np.abs(moved) - off, 0.0))))
    return largest * (1.0 - slack)
