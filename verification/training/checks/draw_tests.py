"""Tests of the sizes of batches, and of which records are in batches of such sizes.

Each bound is exact or conservative for batches that are uniformly random subsets of their sizes,
as Poisson samples, samples of fixed size and parts of a shuffled order all are. No test of sizes
needs the true rate: given their sum, the sizes of Poisson samples are those of a hypergeometric
draw of that many cells from batches times records, whatever the rate is.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, special, stats

from rdpkit.verification.training.checks.draws import Draws, Positions

Integers = NDArray[np.int64]
_SIMULATED_SIZES = 256


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
    some = sizes[:_SIMULATED_SIZES]
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
    some = sizes[:_SIMULATED_SIZES]
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


_COMPARED = 400
COMPARED_EPOCHS = 4
_PAIRED = 1500
_PAIRS = 30
_MOST_SIMULATIONS = 40_000
_SIMULATED = 128
_SHARES = (0.5, 0.1, 0.01, 0.0)


def tail(seen: float, draws: float, mean: float) -> float:
    """At least the probability of ``seen`` or more among draws with that mean probability.

    Hoeffding's bound, which holds for sums of independent trials with different probabilities and
    for draws without replacement.
    """
    if draws <= 0.0 or seen <= draws * mean:
        return 1.0
    share = min(1.0, seen / draws)
    if mean <= 0.0:
        return 0.0
    distance = share * math.log(share / mean)
    if share < 1.0:
        distance += (1.0 - share) * math.log((1.0 - share) / (1.0 - mean))
    return math.exp(-draws * distance)


def windows(epochs: Sequence[Sequence[Positions]], length: int) -> list[list[Positions]]:
    """Epochs, or parts of a given length of such as are longer than one and a half of it."""
    found: list[list[Positions]] = []
    for epoch in epochs:
        if len(epoch) <= 1.5 * length:
            found.append(list(epoch))
            continue
        whole = len(epoch) // length * length
        found += [list(epoch[begin : begin + length]) for begin in range(0, whole, length)]
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Distinct:
    """How many different records the epochs have."""

    apart: float  # p-value of batches that overlap less than independent ones
    alike: float  # p-value of batches that overlap more
    overlap: int  # How often a record came again within its epoch
    expected: float  # How often it would, on average


def distinct(
    epochs: list[list[Positions]],
    records: int,
    *,
    most: float,
    level: float,
    rng: np.random.Generator,
) -> Distinct:
    """Whether records come again within an epoch as often as in independent batches.

    Where records may be drawn at different rates, they come again more often; too often is more
    than at the largest rate, ``most``.
    """
    found = _overlap(epochs, records)
    if found.overlap == 0:
        return found
    simulations = min(_MOST_SIMULATIONS, math.ceil(2.0 / level))
    # Simulated are the first epochs, or what there is of the first.
    some, left = [], _SIMULATED
    for epoch in epochs:
        if left > 0:
            some.append(epoch[:left])
            left -= len(epoch)
    seen = _overlap(some, records)
    again = np.zeros(simulations)
    for epoch in some:
        union = np.zeros(simulations, dtype=np.int64)
        for batch in epoch:
            size = len(batch)
            common = rng.hypergeometric(union, records - union, size) if size else 0 * union
            again += common
            union = union + size - common
    return Distinct(
        apart=(1 + int((again <= seen.overlap).sum())) / (simulations + 1),
        alike=max(
            (1 + int((again >= seen.overlap).sum())) / (simulations + 1),
            _again_at(most, epochs, records, found.overlap),
        ),
        overlap=seen.overlap,
        expected=seen.expected,
    )


def _again_at(rate: float, epochs: list[list[Positions]], records: int, seen: int) -> float:
    """At least the probability that records come again so often at a rate (Bernstein)."""
    if rate >= 1.0:
        return 0.0
    mean = variance = 0.0
    longest = max(map(len, epochs), default=0)
    for length, times in Counter(map(len, epochs)).items():
        again = np.maximum(np.arange(length + 1) - 1.0, 0.0)
        law = stats.binom.pmf(np.arange(length + 1), length, rate)
        first = float(again @ law)
        mean += times * records * first
        variance += times * records * (float(again**2 @ law) - first**2)
    over = seen - mean
    if over <= 0.0:
        return 1.0
    return math.exp(-(over**2) / (2.0 * (variance + longest * over / 3.0)))


def _overlap(epochs: list[list[Positions]], records: int) -> Distinct:
    """How often records come again, and how likely it is that none does."""
    overlap = 0
    logs = 0.0
    means = 0.0
    for epoch in epochs:
        seen: NDArray[np.bool_] = np.zeros(records, dtype=bool)
        missed = 1.0
        for batch in epoch:
            there = int(seen.sum())
            overlap += int(seen[batch].sum())
            seen[batch] = True
            if there + len(batch) > records:
                logs = -math.inf
            else:
                logs += float(
                    log_choose(float(records - there), float(len(batch)))
                    - log_choose(float(records), float(len(batch)))
                )
            means += len(batch) * (1.0 - missed)
            missed *= 1.0 - len(batch) / records
    apart = math.exp(logs) if overlap == 0 and logs > -math.inf else 1.0
    return Distinct(apart=apart, alike=1.0, overlap=overlap, expected=means)


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeats:
    """Batches that have too much in common with earlier ones."""

    pairs: tuple[tuple[int, int, int, int], ...]
    """Epoch and place of the earlier batch, and of the later one."""
    identical: int  # How many of them are exactly the same
    batches: int  # How many later batches there are in these pairs
    compared: int  # How many batches were compared

    @property
    def again(self) -> bool:
        """Whether batches come again; otherwise they have groups of records in common."""
        return bool(self.pairs) and 2 * self.identical >= len(self.pairs)


def repeats(draws: Draws, *, level: float, most: float = 1.0) -> Repeats:
    """Batches that share more than half of their records, and more than random ones would.

    With rates up to ``most``, a record of one batch is in another with at most that probability.
    """
    each = _COMPARED // min(COMPARED_EPOCHS, len(draws.epochs))
    places = [
        (number, place)
        for number, epoch in enumerate(draws.epochs[:COMPARED_EPOCHS])
        for place in range(min(len(epoch), each))
    ]
    chosen = [np.unique(draws.epochs[number][place]) for number, place in places]
    matrix = _matrix(chosen, draws.records)
    common = np.asarray((matrix @ matrix.T).todense(), dtype=np.float64)
    sizes = np.array([len(batch) for batch in chosen], dtype=np.float64)
    limit = math.log(level) - math.log(max(1, len(places) * (len(places) - 1) / 2))
    found = []
    identical = 0
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(sizes[:, None] > 0, common / np.maximum(sizes[:, None], 1.0), 0.0)
        mean = np.broadcast_to(sizes[None, :] / draws.records, share.shape)
        mean = np.maximum(mean, most) if most < 1.0 else mean
        left = np.where(share > 0, share * np.log(share / mean), 0.0)
        right = np.where(share < 1, (1 - share) * np.log((1 - share) / (1 - mean)), 0.0)
        logs = np.where(share > mean, -sizes[:, None] * (left + right), 0.0)
    alike = (np.nan_to_num(logs) < limit) & (share > 0.5)
    for first, second in zip(*np.nonzero(np.triu(alike, k=1)), strict=True):
        found.append((*places[first], *places[second]))
        identical += bool(np.array_equal(chosen[first], chosen[second]))
    return Repeats(
        pairs=tuple(found),
        identical=identical,
        batches=len({(number, place) for _, _, number, place in found}),
        compared=len(places),
    )


def halves(draws: Draws, *, by_batch: bool) -> tuple[list[Positions], list[Positions]]:
    """Two parts of the draws that are independent: epochs, or else batches."""
    if len(draws.epochs) >= 2:
        middle = len(draws.epochs) // 2
        return (
            [batch for epoch in draws.epochs[:middle] for batch in epoch],
            [batch for epoch in draws.epochs[middle:] for batch in epoch],
        )
    everything = draws.batches
    middle = len(everything) // 2 if by_batch else len(everything)
    return everything[:middle], everything[middle:]


@dataclass(frozen=True, slots=True, kw_only=True)
class Favoured:
    """Records that were chosen by the first half of the draws, and counted in the second."""

    records: int  # How many they are
    inclusions: int  # How often they are in batches of the second half
    batches: int  # How many batches that has
    unequal: float  # At least the probability of so many, given the sizes, if all records are alike
    sets: int  # How many sets were chosen

    @property
    def rate(self) -> float:
        """How often one of them is in a batch."""
        return self.inclusions / (self.records * self.batches)

    def above(self, rate: float) -> float:
        """The probability of so many inclusions, or more, at a given rate."""
        return float(stats.binom.sf(self.inclusions - 1, self.records * self.batches, rate))

    def p(self, rate: float) -> float:
        """A p-value for all sets together, of records that are alike or have at most this rate.

        At a rate of 1 nothing is said of it.
        """
        above = 0.0 if rate >= 1.0 else self.above(rate)
        return min(1.0, self.sets * max(self.unequal, above))


def favoured(draws: Draws, *, by_batch: bool) -> list[Favoured]:
    """Sets of records that might be drawn more often than others."""
    first, second = halves(draws, by_batch=by_batch)
    if not first or not second:
        return []
    counts = _counts(first, draws.records).astype(np.float64)
    counts[list(draws.several)] = -1.0
    order = np.argsort(-counts, kind="stable")
    later = _counts(second, draws.records)
    draws_there = sum(len(batch) for batch in second)
    found = []
    for share in _SHARES:
        many = max(1, int(share * draws.records))
        chosen = order[:many]
        included = int(later[chosen].sum())
        found.append(
            Favoured(
                records=many,
                inclusions=included,
                batches=len(second),
                unequal=tail(included, draws_there, many / draws.records),
                sets=len(_SHARES),
            )
        )
    return found


def adjacent(batches: list[Positions], records: int, *, most: float) -> tuple[float, float]:
    """Whether neighbours in the data come together: a p-value, and the share of such records.

    The p-value is valid for uniform batches and, where ``most`` is below 1, also for records that
    join independently with different rates up to that. Every second pair is then independent.
    """
    joined = total = 0
    mean = 0.0
    halves_joined = [0, 0]
    for batch in batches:
        places = np.unique(batch)
        first = places[:-1][np.diff(places) == 1]
        joined += len(first)
        halves_joined[1] += int((first % 2).sum())
        halves_joined[0] += len(first) - int((first % 2).sum())
        total += len(places)
        mean += len(places) * max(0, len(places) - 1) / records
    if total == 0:
        return 1.0, 0.0
    p = tail(joined, total, mean / total)
    if most < 1.0:
        counts = (records // 2, (records - 1) // 2)
        at_rate = min(
            float(stats.binom.sf(seen - 1, count * len(batches), most**2))
            for seen, count in zip(halves_joined, counts, strict=True)
        )
        p = max(p, min(1.0, 2.0 * at_rate))
    return p, joined / total


def ordered_in_time(
    epochs: list[list[Positions]], records: int, *, most: float
) -> tuple[float, float]:
    """Whether records of the first half of the data come in the first half of an epoch.

    As in :func:`adjacent`, records may have different rates up to ``most``. Returns the p-value,
    for more as well as for fewer than half of them; which share of the first halves' records they
    are.
    """
    early = total = batches = 0
    half = records // 2
    for epoch in epochs:
        for batch in epoch[: len(epoch) // 2]:
            early += int((batch < half).sum())
            total += len(batch)
            batches += 1
    if total == 0 or half == 0:
        return 1.0, 0.5
    mean = half / records
    sides = [
        (tail(early, total, mean), early, half),
        (tail(total - early, total, 1.0 - mean), total - early, records - half),
    ]
    both = min(
        max(p, float(stats.binom.sf(seen - 1, count * batches, most)) if most < 1.0 else 0.0)
        for p, seen, count in sides
    )
    return min(1.0, 2.0 * both), early / total


def together(
    draws: Draws, *, by_batch: bool, most: float, rng: np.random.Generator
) -> tuple[float, tuple[int, int], int, float]:
    """Whether some two records are in the same batches.

    As in :func:`adjacent`, records may have different rates up to ``most``. Returns the p-value;
    the two records; in how many batches of the second half both are; in how many they would be on
    average.
    """
    first, second = halves(draws, by_batch=by_batch)
    if len(first) < 2 or len(second) < 2 or draws.records < 3:
        return 1.0, (0, 0), 0, 0.0
    some = np.setdiff1d(np.arange(draws.records), np.array(sorted(draws.several), dtype=np.int64))
    if len(some) > _PAIRED:
        some = np.sort(rng.choice(some, _PAIRED, replace=False))
    before = _matrix(first, draws.records)[:, some]
    counts = np.asarray((before.T @ before).todense())
    np.fill_diagonal(counts, -1)
    flat = np.argsort(-np.triu(counts, k=1).ravel(), kind="stable")[:_PAIRS]
    after = _matrix(second, draws.records)[:, some].tocsc()
    sizes = np.array([len(np.unique(batch)) for batch in second], dtype=np.float64)
    mean = float((sizes * (sizes - 1)).sum() / (draws.records * (draws.records - 1)))
    best = (1.0, (0, 0), 0, mean)
    for place in flat:
        one, other = divmod(int(place), len(some))
        both = int(after[:, one].multiply(after[:, other]).sum())
        p = tail(both, len(second), mean / len(second))
        if most < 1.0:
            p = max(p, float(stats.binom.sf(both - 1, len(second), most**2)))
        p = min(1.0, _PAIRS * p)
        if p < best[0]:
            best = (p, (int(some[one]), int(some[other])), both, mean)
    return best


def again_at_each_start(
    first: list[Positions], second: list[Positions], records: int
) -> tuple[float, int, int]:
    """Whether two trainings draw the same batches.

    Returns the p-value; how many batches are the same; how many were compared.
    """
    common = total = same = compared = 0
    mean = 0.0
    for one, other in zip(first, second, strict=False):
        left, right = np.unique(one), np.unique(other)
        compared += 1
        same += bool(len(left)) and bool(np.array_equal(left, right))
        common += len(np.intersect1d(left, right, assume_unique=True))
        total += len(left)
        mean += len(left) * len(right) / records
    if total == 0:
        return 1.0, same, compared
    return tail(common, total, mean / total), same, compared


def twice(draws: Draws) -> tuple[int, int]:
    """In how many batches some record is more than once, and how often one is at most."""
    batches, most = 0, 1
    for batch in draws.batches:
        values, counts = np.unique(batch, return_counts=True)
        kept = [
            int(count)
            for value, count in zip(values[counts > 1], counts[counts > 1], strict=True)
            if int(value) not in draws.several
        ]
        if kept:
            batches += 1
            most = max(most, *kept)
    return batches, most


def _matrix(batches: list[Positions], records: int) -> sparse.csr_matrix:
    rows = [np.unique(batch) for batch in batches]
    ends = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    columns = np.concatenate(rows) if rows else np.zeros(0, dtype=np.int64)
    return sparse.csr_matrix(
        (np.ones(len(columns), dtype=np.int32), columns, ends), shape=(len(rows), records)
    )


def _counts(batches: list[Positions], records: int) -> NDArray[np.int64]:
    everything = np.concatenate(batches) if batches else np.zeros(0, dtype=np.int64)
    return np.bincount(everything, minlength=records)[:records].astype(np.int64)
