"""Checks of what a test of code assumes: that runs are independent, and that they are alike.

Every guarantee of a test of code assumes that runs are independent. A mechanism that keeps its
noise for the next run, alternates signs, or shares noise between the two data sets breaks that. It
shows in scores of consecutive runs of one side, or in scores of runs with the same number on both
sides. If the runs are independent, all orders of the scores are equally likely, so the order that
was seen is compared with random ones.

Whether two samples of outputs come from one distribution is seen in a few numbers that are made of
every output, whose distributions Kolmogorov's test compares. Which numbers these are depends on the
two samples taken together alone, so each p-value is valid. With ties it is too large rather than
too small.

Source
------
Besag and Clifford, "Sequential Monte Carlo p-values", Biometrika 1991: orders are drawn until
enough of them look as dependent as the one that was seen; the p-value is exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln
from scipy.stats import rankdata

from rdpkit.verification.estimators.base import Array, Diagnostic, DiagnosticKind

FALSE_ALARM_RATE = 1e-3
"""Independent runs are called dependent with at most this probability."""
_LAGS = (1, 2, 3)
# One comparison for each side, and one between the sides.
_COMPARISONS = 3
# Orders that are drawn at most, and how many of them must look as dependent to stop earlier.
_MOST_ORDERS, _ENOUGH = 4999, 10
_MOST_RUNS = 4096
_FEWEST_RUNS = 20
_SEED = 1991


def dependence(
    # One or several scores of each run on D and on D', in the order of the runs. With fewer than 20
    # runs on a side, nothing is said. Shape (n,) or (n, k), and (m,) or (m, k).
    p_scores: Array,
    q_scores: Array,
) -> Diagnostic | None:
    """A diagnostic if the runs depend on each other.

    Guarantee
    ---------
    If the runs are independent and those of a side have the same distribution, whatever it is,
    there is a diagnostic with probability at most 1e-3.
    """
    p, q = (np.asarray(side, dtype=np.float64)[:_MOST_RUNS] for side in (p_scores, q_scores))
    p, q = (side[:, None] if side.ndim == 1 else side for side in (p, q))
    both = min(len(p), len(q))
    if both < _FEWEST_RUNS:
        return None
    found = [
        _p_value(_side_order(p), len(p), "consecutive runs on D"),
        _p_value(_side_order(q), len(q), "consecutive runs on D'"),
        _p_value(
            _between_sides(p[:both], q[:both]), both, "runs with the same number on D and on D'"
        ),
    ]
    p_value, where = min(found)
    if p_value > FALSE_ALARM_RATE / _COMPARISONS:
        return None
    return Diagnostic(
        kind=DiagnosticKind.DEPENDENT_RUNS,
        message=f"The outputs of {where} depend on each other (p-value "
        f"{min(1.0, _COMPARISONS * p_value):.2g}, of permutations). All stated error rates assume "
        "independent runs.",
        advice="Look for state that survives a call: a generator of the module, cached noise, a "
        "counter, a sign that alternates. Draw all noise from the generator that is passed to the "
        "mechanism.",
    )


_Statistic = Callable[[NDArray[np.intp]], float]
"""Of an order of runs: the largest of several, each about as large as a standard normal one."""


def _side_order(scores: Array) -> _Statistic:
    """How strongly the runs of one side depend on those shortly before."""
    every = _ranks(scores)
    # Whether the scale alternates or persists, although the sign does not.
    every_size = _ranks(np.abs(every))
    # A number for each row, the same for equal rows.
    codes = np.unique(scores, axis=0, return_inverse=True)[1].ravel()
    counts = np.bincount(codes).astype(np.float64)
    # How many neighbours are equal, on average over all orders.
    expected = float((counts * (counts - 1.0)).sum() / len(codes))

    def statistic(order: NDArray[np.intp]) -> float:
        ranks, sizes, values = every[order], every_size[order], codes[order]
        found = [np.abs((ranks[lag:] * ranks[:-lag]).sum(axis=0)).max() for lag in _LAGS]
        found.append(np.abs((sizes[1:] * sizes[:-1]).sum(axis=0)).max())
        surprise = ((values[1:] == values[:-1]).sum() - expected) / math.sqrt(expected + 1.0)
        return max(float(max(found)) * math.sqrt(len(scores)), float(surprise))

    return statistic


def _between_sides(p: Array, q: Array) -> _Statistic:
    """How strongly runs with the same number on both sides depend on each other."""
    p_ranks, q_ranks = _ranks(p), _ranks(q)
    codes = np.unique(np.concatenate([p, q]), axis=0, return_inverse=True)[1].ravel()
    one, two = codes[: len(p)], codes[len(p) :]
    counts = [np.bincount(side, minlength=len(codes)) for side in (one, two)]
    expected = float(counts[0] @ counts[1]) / len(p)

    def statistic(order: NDArray[np.intp]) -> float:
        correlation = np.abs((p_ranks * q_ranks[order]).sum(axis=0)).max()
        surprise = ((one == two[order]).sum() - expected) / math.sqrt(expected + 1.0)
        return max(float(correlation) * math.sqrt(len(p)), float(surprise))

    return statistic


def _p_value(statistic: _Statistic, size: int, where: str) -> tuple[float, str]:
    """The p-value of the order that was seen, among random ones."""
    seen = statistic(np.arange(size))
    rng = np.random.default_rng(_SEED)
    # What rounding alone makes smaller counts as equal.
    least = seen - 1e-9 * (1.0 + abs(seen))
    as_large = 0
    for drawn in range(1, _MOST_ORDERS + 1):
        as_large += statistic(rng.permutation(size)) >= least
        if as_large == _ENOUGH:
            return _ENOUGH / drawn, where
    return (as_large + 1.0) / (_MOST_ORDERS + 1.0), where


def _ranks(values: Array) -> Array:
    """Centred ranks of each column, of length one; zero for a constant column."""
    ranks = rankdata(values, axis=0)
    ranks = ranks - ranks.mean(axis=0)
    length = np.sqrt((ranks**2).sum(axis=0))
    return np.asarray(ranks / np.where(length > 0.0, length, 1.0))


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
