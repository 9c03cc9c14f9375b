"""Whether two samples of outputs come from one distribution.

A few numbers are made of every output, and Kolmogorov's test compares their distributions. Which
numbers these are depends on the two samples taken together alone, so each p-value is valid. With
ties it is too large rather than too small.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from rdpkit.verification.estimators.base import Array

# The most columns of numbers, and of categories, that are compared one by one.
_MOST_COLUMNS = 5
# With more columns of numbers than this, no principal component is computed.
_MOST_FOR_COMPONENT = 500


def two_sample_p_value(
    # The samples, of equal sizes; shape (n, d)
    one: Array,
    two: Array,
    # Whether a column holds a number; otherwise it holds codes of categories; shape (d,)
    is_number: NDArray[np.bool_],
    *,
    name: Callable[[int], str] = str,  # The name of a column
) -> tuple[float, str]:
    """A p-value for the hypothesis that outputs of both samples have the same distribution.

    Returns the smallest p-value of all comparisons times their number, at most 1; what differs most
    clearly.

    Guarantee
    ---------
    If they have, and all outputs are independent, the p-value is at most a with probability at most
    a, for each a.
    """
    found = [
        (_kolmogorov(values[: len(one)], values[len(one) :]), what)
        for what, values in _compared(np.concatenate([one, two]), is_number, name)
    ]
    if not found:
        return 1.0, ""
    smallest, what = min(found)
    return min(1.0, smallest * len(found)), what


def _kolmogorov(one: Array, two: Array) -> float:
    """The exact p-value of Kolmogorov's two-sample test for two samples of equal size.

    Gnedenko and Koroljuk 1951: for samples of n without ties, the distribution functions differ by
    k/n or more somewhere with probability 2 sum_j (-1)^(j-1) C(2n, n - jk) / C(2n, n), j from 1 to
    n/k. Ties make such a difference less probable.
    """
    n = len(one)
    values = np.concatenate([one, two])
    counts = [np.searchsorted(np.sort(side), values, side="right") for side in (one, two)]
    k = int(np.abs(counts[0] - counts[1]).max())
    if k == 0:
        return 1.0
    j = np.arange(1, n // k + 1)
    logs = 2.0 * gammaln(n + 1) - gammaln(n - j * k + 1) - gammaln(n + j * k + 1)
    return float(min(1.0, 2.0 * (np.exp(logs) * np.where(j % 2, 1.0, -1.0)).sum()))


def _compared(
    both: Array, is_number: NDArray[np.bool_], name: Callable[[int], str]
) -> list[tuple[str, Array]]:
    """The numbers that are made of every output; those that are constant are left out."""
    varies = (both != both[0]).any(axis=0)
    numbers, categories = np.flatnonzero(varies & is_number), np.flatnonzero(varies & ~is_number)
    found: list[tuple[str, Array]] = []
    # The whole output, as equal to the most frequent one or not.
    _, codes, counts = np.unique(both, axis=0, return_inverse=True, return_counts=True)
    if 1 < counts.max() < len(both):
        most = (codes.ravel() == counts.argmax()).astype(np.float64)
        found.append(("how often the most frequent release comes", most))
    for column in categories[:_MOST_COLUMNS]:
        found.append((f"the category {name(int(column))}", both[:, column]))
    if not len(numbers):
        return found
    values = both[:, numbers]
    spread = values.std(axis=0)
    for place in np.argsort(-spread, kind="stable")[:_MOST_COLUMNS]:
        found.append((f"the number {name(int(numbers[place]))}", values[:, place]))
    if len(numbers) > 1:
        scaled = (values - values.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)
        found.append(("the sum of all numbers", scaled.sum(axis=1)))
        found.append(("the size of all numbers", np.abs(scaled).sum(axis=1)))
        if len(numbers) <= _MOST_FOR_COMPONENT:
            component = np.linalg.svd(scaled, full_matrices=False)[2][0]
            found.append(("the principal component of all numbers", scaled @ component))
    return found
