"""Exact counts of a table of codes: marginals of one column and of two."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rdpkit import _validate

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]
Pair = tuple[int, int]

LARGEST_PAIR = 2**22
"""The most cells of a marginal of two columns: a limit about public numbers alone."""


def checked_codes(
    codes: ArrayLike,  # Whole numbers; shape (n, columns)
    domain: Sequence[int],  # How many codes each column has, which is public
) -> tuple[Codes, tuple[int, ...]]:
    """Codes as integers, clipped into their domain, and the domain.

    A code outside of its range is clipped and not refused: an error would tell that a private
    record had such a code.
    """
    sizes = tuple(
        int(_validate.integer(f"domain[{i}]", size, minimum=1)) for i, size in enumerate(domain)
    )
    if not sizes:
        raise _validate.fail("domain", "to have at least one column", domain)
    found = np.asarray(codes)
    if found.ndim != 2 or found.shape[1] != len(sizes):
        raise _validate.fail("codes", f"to have the shape (n, {len(sizes)})", found.shape)
    if found.dtype.kind not in "iu":
        raise _validate.fail("codes", "to be an array of integers", found.dtype)
    top = np.array(sizes, dtype=np.int64) - 1
    return np.clip(found.astype(np.int64), 0, top), sizes


def one_way(codes: Codes, domain: Sequence[int]) -> list[Floats]:
    """How many records have each code, column by column."""
    return [
        np.bincount(codes[:, j], minlength=size).astype(np.float64) for j, size in enumerate(domain)
    ]


def two_way(codes: Codes, domain: Sequence[int], pair: Pair) -> Floats:
    """How many records have each combination of the codes of two columns."""
    i, j = pair
    flat = codes[:, i] * domain[j] + codes[:, j]
    counts = np.bincount(flat, minlength=domain[i] * domain[j])
    found: Floats = counts.reshape(domain[i], domain[j]).astype(np.float64)
    return found


def pairs_of(domain: Sequence[int]) -> list[Pair]:
    """All pairs of columns whose marginal is small enough to be counted."""
    return [
        (i, j)
        for i, j in combinations(range(len(domain)), 2)
        if domain[i] * domain[j] <= LARGEST_PAIR
    ]


def in_front(columns: Sequence[Any]) -> NDArray[np.int64]:
    """Where the codes of each column begin if all columns' codes are written in one row."""
    return np.concatenate([[0], np.cumsum([int(size) for size in columns])]).astype(np.int64)
