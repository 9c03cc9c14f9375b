"""Rows of a table whose counts are near those of a mixture: rounded, then improved by swaps.

Rows that are drawn at random have the error of a sample besides that of the mixture. Here each
component gives its share of rows with rounded counts, and then values of one column are swapped
between two rows wherever that brings the counts of pairs nearer to the mixture's.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from rdpkit.mechanisms.parts.marginals.counting import Codes, Floats, in_front
from rdpkit.mechanisms.parts.marginals.mixture import pair_marginals

SWAPS_PER_VALUE = 20
"""How many swaps are tried for each value of the table."""


def rows_of_mixture(
    # For each column the probabilities of its codes in each component; shape (components, codes)
    columns: Sequence[Floats],
    count: int,  # Number of rows
    rng: np.random.Generator,  # Randomness; it sees no private record
) -> Codes:  # Shape (count, columns): the rows, in random order
    """Rows whose marginals of one and two columns are near those of a mixture."""
    components = len(columns[0])
    sizes = np.diff(np.floor(np.linspace(0, count, components + 1) + 1e-9)).astype(np.int64)
    sizes = sizes[rng.permutation(components)]
    found = np.empty((count, len(columns)), dtype=np.int32)
    for j, probabilities in enumerate(columns):
        found[:, j] = _rounded_column(probabilities, sizes, rng)
    if len(columns) > 1 and count > 1:
        wanted = (pair_marginals(columns) * count).astype(np.float32)
        starts = in_front([one.shape[1] for one in columns])
        _swaps()(found, starts, wanted, found.size * SWAPS_PER_VALUE, int(rng.integers(2**32)))
    return rng.permutation(found).astype(np.int64)


def _rounded_column(probabilities: Floats, sizes: Any, rng: np.random.Generator) -> Codes:
    """Codes of one column, component by component: what rounding takes, the next one gives back."""
    codes = np.arange(probabilities.shape[1])
    carried = np.zeros(codes.size)
    parts = []
    for row, size in zip(probabilities, sizes, strict=True):
        carried += row * size
        counts = np.maximum(np.floor(carried), 0.0).astype(np.int64)
        missing = int(size - counts.sum())
        order = np.argsort(-(carried - counts) + 1e-9 * rng.random(codes.size))
        while missing > 0:
            counts[order[:missing]] += 1
            missing = int(size - counts.sum())
        while missing < 0:
            over = [code for code in order[::-1] if counts[code] > 0][:-missing]
            counts[over] -= 1
            missing = int(size - counts.sum())
        carried -= counts
        parts.append(rng.permutation(np.repeat(codes, counts)))
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)


@cache
def _swaps() -> Any:
    """The compiled search, compiled when it is first used."""
    import numba  # noqa: PLC0415 (it takes half a second)

    return numba.njit(cache=False)(_improve)


def _improve(codes: Any, starts: Any, wanted: Any, tries: int, seed: int) -> None:
    """Swap values of one column between two rows where that brings pair counts nearer."""
    np.random.seed(seed)  # noqa: NPY002 (inside numba, which has no other generator of its own)
    rows, columns = codes.shape
    off = -wanted
    for r in range(rows):
        for i in range(columns):
            for j in range(columns):
                if i != j:
                    off[starts[i] + codes[r, i], starts[j] + codes[r, j]] += 1.0
    for _ in range(tries):
        r = np.random.randint(rows)  # noqa: NPY002
        s = np.random.randint(rows)  # noqa: NPY002
        i = np.random.randint(columns)  # noqa: NPY002
        a, b = starts[i] + codes[r, i], starts[i] + codes[s, i]
        if a == b:
            continue
        change = 0.0
        for j in range(columns):
            u, v = starts[j] + codes[r, j], starts[j] + codes[s, j]
            if i != j and u != v:
                change += 2.0 + off[b, u] + off[a, v] - off[a, u] - off[b, v]
        if change >= 0.0:
            continue
        for j in range(columns):
            u, v = starts[j] + codes[r, j], starts[j] + codes[s, j]
            if i != j and u != v:
                off[a, u] -= 1.0
                off[u, a] -= 1.0
                off[b, v] -= 1.0
                off[v, b] -= 1.0
                off[b, u] += 1.0
                off[u, b] += 1.0
                off[a, v] += 1.0
                off[v, a] += 1.0
        codes[r, i], codes[s, i] = codes[s, i], codes[r, i]
