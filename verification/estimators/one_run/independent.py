r"""A lower bound on a leak from the ranks of canaries' scores among the scores of others.

Say that no attack on the event with leak L has a false positive rate below F(x) at a true positive
rate of x. Then the false positive rate at which a canary that is in is just found is, in
distribution, at least F(V) with V uniform, because P(rate <= F(x)) <= x. If scores are independent,
all canaries together are no better than independent draws of F(V), and the sum of any weights that
decrease with the rank is no larger in distribution. That sum is simulated, with the others' scores
drawn as well, so that no rate is estimated; the p-value counts simulations that are as large.
"""

from __future__ import annotations

import math
import time
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rdpkit.verification.estimators.base import Array, check_scores

_FEWEST_SIMULATED = 1000
# Simulated scores of others, in all: 160 MB.
_ROOM = 40_000_000
# Leaks that are looked at: powers of this, among them 1. A bound is rounded down to one.
_STEP = 1.04
_LEAST_POWER = -80


class Leaks(Protocol):
    """Trade-off curves, ordered by one number."""

    def rates(self, leak: float, found: Array) -> Array:
        """The least false positive rate at each true positive rate, or less."""
        ...


class RankTest:
    """Canaries' scores beside others', to be compared with one leak after another.

    The draws are the same for all leaks, so that the p-value increases with the leak.

    Guarantee
    ---------
    If the scores have the leak L of a family or a smaller one, ``p_value(L)`` is at most u with
    probability at most u.

    Assumes
    -------
    All scores are independent, and those of the others have one distribution, which canaries that
    are out have as well.
    """

    def __init__(
        self,
        # Scores of canaries that are in, and of coordinates that no canary that is in is at.
        inside: ArrayLike,
        others: ArrayLike,
        *,
        seed: int,  # Of the simulation
        # Ranks are weighed by how much they would say if the leak were the told one of this family.
        # Chosen beforehand.
        weights: Leaks,
        told: float,
        # The smallest error rate at which a leak is to be rejected: there are so many simulations
        # that it can be, and fewer of the others where these would not fit.
        failure: float = 0.01,
    ) -> None:
        chosen = check_scores("inside", inside)
        self.simulated = max(_FEWEST_SIMULATED, math.ceil(2.0 / failure))
        # Which of the others are left out does not depend on their scores.
        kept = max(1, min(len(np.asarray(others)), _ROOM // self.simulated))
        rest = np.sort(check_scores("others", np.asarray(others)[-kept:]))
        rng = np.random.default_rng(seed)
        self._found = rng.random((self.simulated, chosen.size))
        self._rest = _sorted_uniforms(rng, self.simulated, rest.size)
        self._weights = _weights(weights, told, rest.size)
        # How many of the others are as large; ties count for the others.
        places = rest.size - np.searchsorted(rest, chosen, side="left")
        self.found = float(self._weights[places].sum())

    def p_value(self, family: Leaks, leak: float) -> float:
        """The p-value of a leak."""
        rates = family.rates(leak, self._found)
        as_large = 0
        for row, rest in zip(rates, self._rest, strict=True):
            places = np.searchsorted(rest, row.astype(np.float32), side="right")
            as_large += float(self._weights[places].sum()) >= self.found
        return (1 + as_large) / (1 + self.simulated)

    def lower_bound(
        self,
        family: Leaks,  # Whose members are compared
        *,
        failure: float,  # In (0, 1): how often the bound is too large, at most
        most: float,  # The largest leak that is looked at
        # When to end with what is rejected so far, by the clock of ``time.perf_counter``.
        until: float = math.inf,
    ) -> float:
        """The largest leak such that it and all smaller ones are rejected; 0 if there is none."""
        if self.p_value(family, 0.0) > failure:
            return 0.0
        powers = range(_LEAST_POWER, 1 + int(np.log(most) / np.log(_STEP)))
        rejected, high = -1, len(powers)
        while high - rejected > 1 and (rejected < 0 or time.perf_counter() < until):
            middle = (rejected + high) // 2
            if self.p_value(family, _STEP ** powers[middle]) <= failure:
                rejected = middle
            else:
                high = middle
        return 0.0 if rejected < 0 else float(_STEP ** powers[rejected])


def _sorted_uniforms(rng: np.random.Generator, simulated: int, count: int) -> NDArray[np.float32]:
    found = np.empty((simulated, count), dtype=np.float32)
    for row in found:
        steps = np.cumsum(rng.standard_exponential(count + 1))
        row[:] = steps[:-1] / steps[-1]
    return found


def _weights(family: Leaks, told: float, others: int) -> Array:
    """The logarithm of the likelihood ratio at each rank, under the told leak.

    Any decreasing weights are valid; these are the most telling ones if the leak is as told.
    """
    found = np.linspace(0.0, 1.0, 4001)
    rates = np.maximum.accumulate(family.rates(told, found))
    rank = (np.arange(others + 1) + 0.5) / (others + 1)
    edges = np.concatenate([[0.0], (rank[1:] + rank[:-1]) / 2.0, [1.0]])
    kept = np.concatenate([[True], np.diff(rates) > 0.0])
    above = np.interp(edges, rates[kept], found[kept])
    slope = np.diff(above) / np.diff(edges)
    smooth = np.minimum.accumulate(np.maximum(slope, 1e-4))
    return np.asarray(np.log(smooth))
