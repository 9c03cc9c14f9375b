"""Tests of the sizes of batches; all are exact or conservative, and none needs the true rate.

Given their sum, the sizes of Poisson samples are those of a hypergeometric draw of that many cells
from batches times records, whatever the rate is.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

Integers = NDArray[np.int64]
_SIMULATED = 256
_MOST_SIMULATIONS = 40_000


def log_choose(
    n: NDArray[np.float64] | float, k: NDArray[np.float64] | float
) -> NDArray[np.float64]:
    """The logarithm of a binomial coefficient."""
    found: NDArray[np.float64] = np.asarray(
        special.gammaln(np.add(n, 1.0))
        - special.gammaln(np.add(k, 1.0))
        - special.gammaln(np.subtract(n, k) + 1.0)
    )
    return found


def same_size(sizes: Integers, records: int) -> tuple[float, int, int]:
    """How likely it is that so many Poisson samples have one and the same size.

    At least the probability that any size comes as often as the most frequent one did; the
    most frequent size; how often it came.
    """
    values, counts = np.unique(sizes, return_counts=True)
    times = int(counts.max())
    mode = int(values[counts.argmax()])
    batches, total = len(sizes), int(sizes.sum())
    if batches < 2 or total == 0:
        return 1.0, mode, times
    size = np.arange(records + 1, dtype=np.float64)
    rest = total - times * size
    possible = (rest >= 0) & (rest <= records * (batches - times))
    logs = (
        log_choose(float(batches), float(times))
        + times * log_choose(float(records), size[possible])
        + log_choose(float(records * (batches - times)), rest[possible])
        - log_choose(float(records * batches), float(total))
    )
    return min(1.0, math.exp(min(0.0, float(special.logsumexp(logs))))), mode, times


def capped(sizes: Integers, records: int) -> tuple[float, int, int]:
    """How likely it is that so many Poisson samples have the largest size.

    At least the probability that the largest size comes so often; the largest size; how
    often it came.
    """
    largest = int(sizes.max())
    times = int((sizes == largest).sum())
    batches, total = len(sizes), int(sizes.sum())
    if batches < 2 or not 0 < total < records * batches:
        return 1.0, largest, times
    rate = total / (records * batches)
    spread = math.sqrt(records * rate * (1.0 - rate))
    low = max(0, int(records * rate - 12.0 * spread))
    high = min(records, int(records * rate + 12.0 * spread) + 20)
    size = np.arange(low, high + 1)
    here = stats.binom.logpmf(size, records, rate)
    upto = stats.binom.logcdf(size, records, rate)
    # At least `times` of them have this size, and none has a larger one.
    logs = log_choose(float(batches), float(times)) + times * here + (batches - times) * upto
    # Sizes beyond twelve standard deviations are left out; this is more than their probability.
    logs = np.append(logs, math.log(2.0 * batches) + stats.norm.logsf(8.0))
    # What holds without a given sum is at most this much likelier with it.
    given = float(stats.binom.logpmf(total, records * batches, rate))
    return math.exp(min(0.0, float(special.logsumexp(logs)) - given)), largest, times


def excess(
    sizes: Integers, records: int, rate: float, *, level: float, rng: np.random.Generator
) -> float:
    """A p-value of large batches, where every record joins each batch with at most some rate.

    What sizes exceed the mean at that rate by, squared, is stochastically largest at the rate
    itself, also if rates are smaller in some batches or for some records.
    """
    some = sizes[:_SIMULATED]
    if len(some) < 2 or not 0.0 < rate < 1.0:
        return 1.0
    simulations = min(_MOST_SIMULATIONS, math.ceil(2.0 / level))
    drawn = np.zeros(simulations)
    for _ in range(len(some)):
        batch = rng.binomial(records, rate, simulations)
        drawn += np.maximum(batch - records * rate, 0.0) ** 2
    seen = float((np.maximum(some - records * rate, 0.0) ** 2).sum())
    return (1 + int((drawn >= seen).sum())) / (simulations + 1)


def dispersion(
    sizes: Integers, records: int, *, level: float, rng: np.random.Generator
) -> tuple[float, float, float]:
    """Whether sizes vary as much as those of Poisson samples with the same sum.

    Returns the p-value of varying less; that of varying more, if all records have one rate; their
    variance over that of a binomial distribution.
    """
    some = sizes[:_SIMULATED]
    batches, total = len(some), int(some.sum())
    rate = total / (records * batches) if batches else 0.0
    if batches < 2 or not 0.0 < rate < 1.0 or records * batches >= 1_000_000_000:
        return 1.0, 1.0, 1.0
    simulations = min(_MOST_SIMULATIONS, math.ceil(2.0 / level))
    left = np.full(simulations, total, dtype=np.int64)
    squares = np.zeros(simulations)
    for place in range(batches):
        remaining = batches - place - 1
        drawn = rng.hypergeometric(records, records * remaining, left) if remaining else left
        squares += drawn.astype(np.float64) ** 2
        left = left - drawn
    seen = float((some.astype(np.float64) ** 2).sum())
    below = (1 + int((squares <= seen).sum())) / (simulations + 1)
    above = (1 + int((squares >= seen).sum())) / (simulations + 1)
    variance = float(some.var(ddof=1))
    return below, above, variance / (records * rate * (1.0 - rate))
