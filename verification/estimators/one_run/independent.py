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
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rdpkit import _validate
from rdpkit.verification.estimators.base import Array, check_scores
from rdpkit.verification.estimators.one_run.families import GAUSSIAN
from rdpkit.verification.estimators.one_run.guesses import checked_canaries

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
        self.inside, self.others = chosen.size, rest.size
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
    """Sorted uniform numbers, a row for each simulation."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class IndependentLowerBound:
    """A lower bound on mu of Gaussian differential privacy from independent scores."""

    mu: float  #: The lower bound
    epsilon: float
    """The epsilon of a Gaussian with this mu at ``delta``: a lower bound if the mechanism leaks
    like some Gaussian.
    """
    delta: float  #: In (0, 1)
    confidence: float  #: In (0, 1)


def one_run_independent_audit(
    scores: ArrayLike,
    included: ArrayLike,
    *,
    delta: float,
    confidence: float,
    references: ArrayLike = (),
    seed: int = 0,
) -> IndependentLowerBound:
    """A lower bound on mu from canaries whose scores do not depend on each other.

    Guarantee
    ---------
    If the mechanism is mu-GDP, the returned number exceeds mu with probability at most
    1 - ``confidence``, up to the simulation's own 1,000 draws, whose p-value is exact.

    Assumes
    -------
    That of :class:`RankTest`: all scores are independent, and those of canaries that are out and
    of references have one distribution, which a canary that is in would have if it were out. That
    holds for gradient canaries at coordinates of their own with independent noise. For losses of
    one model it does not; :func:`rdpkit.verification.estimators.one_run.tradeoff
    .one_run_tradeoff_audit` assumes nothing about scores.

    Parameters
    ----------
    scores : array_like, shape (m,)
        One for each canary; larger if the canary seems to be in.
    included : array_like of bool, shape (m,)
        Whether each canary was in.
    delta : float
        For the lower bound on epsilon; in (0, 1).
    confidence : float
        In (0, 1).
    references : array_like
        Further scores of what was never in, such as coordinates without canaries.
    seed : int
        Of the simulation; independent of the scores.

    Raises
    ------
    ArithmeticError
        If a score is NaN.
    ValueError
        If shapes do not match, ``included`` is not boolean, or nobody is in or nobody out.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> included = rng.random(1000) < 0.5
    >>> scores = rng.normal(size=1000) + 1.0 * included
    >>> found = one_run_independent_audit(scores, included, delta=1e-5, confidence=0.95)
    >>> 0.7 < found.mu < 1.0
    True
    """
    s, coins = checked_canaries(scores, included)
    if not coins.any() or (coins.all() and np.size(references) == 0):
        raise _validate.fail("included", "to hold canaries that are in and others", included)
    _validate.open_probability("delta", delta)
    failure = 1.0 - _validate.open_probability("confidence", confidence)
    others = np.concatenate([np.asarray(references, dtype=np.float64), s[~coins]])
    test = RankTest(s[coins], others, seed=seed, weights=GAUSSIAN, told=1.0, failure=failure)
    mu = test.lower_bound(GAUSSIAN, failure=failure, most=float(GAUSSIAN.cells()[-1]))
    return IndependentLowerBound(
        mu=mu,
        epsilon=GAUSSIAN.epsilon(mu, delta),
        delta=float(delta),
        confidence=float(confidence),
    )
