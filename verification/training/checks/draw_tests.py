"""Tests of the sizes of batches, and of which records are in batches of such sizes.

Each bound is exact or conservative for batches that are uniformly random subsets of their sizes,
as Poisson samples, samples of fixed size and parts of a shuffled order all are. No test of sizes
needs the true rate: given their sum, the sizes of Poisson samples are those of a hypergeometric
draw of that many cells from batches times records, whatever the rate is.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, special, stats

from rdpkit.verification.training.checks.draws import Draws, Positions

Epochs = Sequence[Sequence[Positions]]
COMPARED_EPOCHS = 4
_COMPARED, _PAIRED, _PAIRS = 400, 1500, 30
_SIMULATED_SIZES, _SIMULATED, _MOST_SIMULATIONS = 256, 128, 40_000
_SHARES = (0.5, 0.1, 0.01, 0.0)


def log_choose(n: Any, k: Any) -> NDArray[np.float64]:
    """The logarithm of a binomial coefficient."""
    return np.asarray(
        special.gammaln(np.add(n, 1.0))
        - special.gammaln(np.add(k, 1.0))
        - special.gammaln(np.subtract(n, k) + 1.0)
    )


def _simulations(level: float) -> int:
    return min(_MOST_SIMULATIONS, math.ceil(2.0 / level))


def _p(extreme: NDArray[np.bool_]) -> float:
    return (1 + int(extreme.sum())) / (extreme.size + 1)


def same_size(sizes: Positions, records: int) -> tuple[float, int, int]:
    """How likely it is that so many Poisson samples have one and the same size.

    At least the probability that any size comes as often as the most frequent one did; the
    most frequent size; how often it came.
    """
    values, counts = np.unique(sizes, return_counts=True)
    times, mode = int(counts.max()), int(values[counts.argmax()])
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


def capped(sizes: Positions, records: int) -> tuple[float, int, int]:
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
    sizes: Positions, records: int, rate: float, *, level: float, rng: np.random.Generator
) -> float:
    """A p-value of large batches, where every record joins each batch with at most some rate.

    What sizes exceed the mean at that rate by, squared, is stochastically largest at the rate
    itself, also if rates are smaller in some batches or for some records.
    """
    some = sizes[:_SIMULATED_SIZES]
    if len(some) < 2 or not 0.0 < rate < 1.0:
        return 1.0
    drawn = np.zeros(_simulations(level))
    for _ in some:
        batch = rng.binomial(records, rate, drawn.size)
        drawn += np.maximum(batch - records * rate, 0.0) ** 2
    return _p(drawn >= float((np.maximum(some - records * rate, 0.0) ** 2).sum()))


def dispersion(
    sizes: Positions, records: int, *, level: float, rng: np.random.Generator
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
    left = np.full(_simulations(level), total, dtype=np.int64)
    squares = np.zeros(left.size)
    for remaining in reversed(range(batches)):
        drawn = rng.hypergeometric(records, records * remaining, left) if remaining else left
        squares += drawn.astype(np.float64) ** 2
        left = left - drawn
    seen = float((some.astype(np.float64) ** 2).sum())
    variance = float(some.var(ddof=1)) / (records * rate * (1.0 - rate))
    return _p(squares <= seen), _p(squares >= seen), variance


def tail(seen: float, draws: float, mean: float) -> float:
    """At least the probability of ``seen`` or more among draws with that mean probability.

    Hoeffding's bound, which holds for sums of independent trials with different probabilities and
    for draws without replacement.
    """
    if draws <= 0.0 or seen <= draws * mean:
        return 1.0
    if mean <= 0.0:
        return 0.0
    share = min(1.0, seen / draws)
    distance = share * math.log(share / mean)
    if share < 1.0:
        distance += (1.0 - share) * math.log((1.0 - share) / (1.0 - mean))
    return math.exp(-draws * distance)


def _at_rate(seen: int, trials: int, most: float, together: int = 1) -> float:
    """The probability of so many among records that join independently at a rate up to ``most``.

    Zero where nothing is said of rates: with a p-value for uniform batches, the larger of the two
    is then valid for both.
    """
    return float(stats.binom.sf(seen - 1, trials, most**together)) if most < 1.0 else 0.0


def least_rate(seen: int, trials: int, failure: float) -> float:
    """A lower confidence limit of the rate of independent trials (Clopper and Pearson)."""
    return float(stats.beta.ppf(failure, seen, trials - seen + 1)) if seen else 0.0


def windows(epochs: Epochs, rate: float) -> list[Epochs]:
    """Epochs as they are or as long as the rate says they should be, in one or two ways.

    An epoch that is longer than one and a half of that is cut.
    """
    if not 0.0 < rate < 1.0:
        return [epochs]
    lengths = {max(1, math.floor(1.0 / rate + 1e-9)), max(1, math.ceil(1.0 / rate - 1e-9))}

    def cut(epoch: Sequence[Positions], length: int) -> list[Sequence[Positions]]:
        if len(epoch) <= 1.5 * length:
            return [epoch]
        starts = range(0, len(epoch) // length * length, length)
        return [epoch[begin : begin + length] for begin in starts]

    return [[part for epoch in epochs for part in cut(epoch, n)] for n in sorted(lengths)]


class Distinct(NamedTuple):
    """How many different records the epochs have."""

    apart: float  # p-value of batches that overlap less than independent ones
    alike: float  # p-value of batches that overlap more
    overlap: int  # How often a record came again within its epoch
    expected: float  # How often it would, on average


def distinct(
    ways: Sequence[Epochs],  # Ways to cut the same batches into epochs
    records: int,
    *,
    most: float,
    level: float,
    rng: np.random.Generator,
) -> Distinct:
    """Whether records come again within an epoch as often as in independent batches.

    Where records may be drawn at different rates, they come again more often; too often is more
    than at the largest rate, ``most``. The most telling way is returned, with p-values for all.
    """
    found = [_distinct(epochs, records, most, level / len(ways), rng) for epochs in ways]
    best = min(found, key=lambda one: one.apart)
    return best._replace(
        apart=min(1.0, len(found) * best.apart),
        alike=min(1.0, len(found) * min(one.alike for one in found)),
    )


def _distinct(
    epochs: Epochs, records: int, most: float, level: float, rng: np.random.Generator
) -> Distinct:
    found = _overlap(epochs, records)
    if found.overlap == 0:
        return found
    # Simulated are the first epochs, or what there is of the first.
    some, left = [], _SIMULATED
    for epoch in epochs:
        if left > 0:
            some.append(epoch[:left])
            left -= len(epoch)
    seen = _overlap(some, records)
    again = np.zeros(_simulations(level))
    for epoch in some:
        union = np.zeros(again.size, dtype=np.int64)
        for batch in epoch:
            size = len(batch)
            common = rng.hypergeometric(union, records - union, size) if size else 0 * union
            again += common
            union = union + size - common
    alike = max(_p(again >= seen.overlap), _again_at(most, epochs, records, found.overlap))
    return seen._replace(apart=_p(again <= seen.overlap), alike=alike)


def _again_at(rate: float, epochs: Epochs, records: int, seen: int) -> float:
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


def _overlap(epochs: Epochs, records: int) -> Distinct:
    """How often records come again, and how likely it is that none does."""
    overlap, logs, means = 0, 0.0, 0.0
    for epoch in epochs:
        seen: NDArray[np.bool_] = np.zeros(records, dtype=bool)
        missed = 1.0
        for batch in epoch:
            there, size = int(seen.sum()), len(batch)
            overlap += int(seen[batch].sum())
            seen[batch] = True
            if there + size > records:
                logs = -math.inf
            else:
                left = log_choose(float(records - there), float(size))
                logs += float(left - log_choose(float(records), float(size)))
            means += size * (1.0 - missed)
            missed *= 1.0 - size / records
    apart = math.exp(logs) if overlap == 0 and logs > -math.inf else 1.0
    return Distinct(apart=apart, alike=1.0, overlap=overlap, expected=means)


class Repeats(NamedTuple):
    """Batches that have too much in common with earlier ones."""

    pairs: tuple[tuple[int, int, int, int], ...]
    """Epoch and place of the earlier batch, and of the later one."""
    identical: int  # How many of them are exactly the same
    compared: int  # How many batches were compared

    @property
    def later(self) -> set[tuple[int, int]]:
        """Epoch and place of each batch that comes again.

        None do where pairs are mostly not the same: they have groups of records in common.
        """
        if 2 * self.identical < len(self.pairs):
            return set()
        return {(number, place) for _, _, number, place in self.pairs}


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
    # Which of several records with one content is drawn is not known.
    several = sorted(draws.several)
    chosen = [np.setdiff1d(draws.epochs[number][place], several) for number, place in places]
    records = draws.records - len(several)
    matrix = _matrix(chosen, draws.records)
    common = np.asarray((matrix @ matrix.T).todense(), dtype=np.float64)
    sizes = np.array([len(batch) for batch in chosen], dtype=np.float64)
    limit = math.log(level) - math.log(max(1, len(places) * (len(places) - 1) / 2))
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(sizes[:, None] > 0, common / np.maximum(sizes[:, None], 1.0), 0.0)
        mean = np.broadcast_to(sizes[None, :] / records, share.shape)
        mean = np.maximum(mean, most) if most < 1.0 else mean
        left = np.where(share > 0, share * np.log(share / mean), 0.0)
        right = np.where(share < 1, (1 - share) * np.log((1 - share) / (1 - mean)), 0.0)
        logs = np.where(share > mean, -sizes[:, None] * (left + right), 0.0)
    alike = (np.nan_to_num(logs) < limit) & (share > 0.5)
    pairs = list(zip(*np.nonzero(np.triu(alike, k=1)), strict=True))
    return Repeats(
        pairs=tuple((*places[first], *places[second]) for first, second in pairs),
        identical=sum(np.array_equal(chosen[first], chosen[second]) for first, second in pairs),
        compared=len(places),
    )


def _halves(draws: Draws, *, by_batch: bool) -> tuple[list[Positions], list[Positions]]:
    """Two parts of the draws that are independent: epochs, or else batches."""
    everything = draws.batches
    middle = len(everything) // 2 if by_batch else len(everything)
    if len(draws.epochs) >= 2:
        middle = sum(map(len, draws.epochs[: len(draws.epochs) // 2]))
    return everything[:middle], everything[middle:]


class Favoured(NamedTuple):
    """Records that were chosen by the first half of the draws, and counted in the second."""

    records: int  # How many they are
    inclusions: int  # How often they are in batches of the second half
    batches: int  # How many batches that has
    unequal: float  # At least the probability of so many, given the sizes, if all records are alike

    @property
    def rate(self) -> float:
        """How often one of them is in a batch."""
        return self.inclusions / (self.records * self.batches)

    def p(self, rate: float) -> float:
        """A p-value for all sets together, of records that are alike or have at most this rate.

        At a rate of 1 nothing is said of it.
        """
        above = _at_rate(self.inclusions, self.records * self.batches, rate)
        return min(1.0, len(_SHARES) * max(self.unequal, above))

    def least_rate(self, confidence: float) -> float:
        """A lower confidence limit of the rate, for all sets together."""
        failure = (1.0 - confidence) / len(_SHARES)
        return least_rate(self.inclusions, self.records * self.batches, failure)


def favoured(draws: Draws, *, by_batch: bool) -> Iterator[Favoured]:
    """Sets of records that might be drawn more often than others."""
    first, second = _halves(draws, by_batch=by_batch)
    if not first or not second:
        return
    counts, later = (
        np.bincount(np.concatenate(half), minlength=draws.records)[: draws.records]
        for half in (first, second)
    )
    counts[list(draws.several)] = -1
    order = np.argsort(-counts, kind="stable")
    drawn = sum(map(len, second))
    for share in _SHARES:
        many = max(1, int(share * draws.records))
        included = int(later[order[:many]].sum())
        unequal = tail(included, drawn, many / draws.records)
        yield Favoured(records=many, inclusions=included, batches=len(second), unequal=unequal)


def adjacent(batches: list[Positions], records: int, *, most: float) -> tuple[float, float]:
    """Whether neighbours in the data come together: a p-value, and the share of such records.

    The p-value is valid for uniform batches and, where ``most`` is below 1, also for records that
    join independently with different rates up to that. Every second pair is then independent.
    """
    total, mean, joined = 0, 0.0, [0, 0]
    for batch in batches:
        places = np.unique(batch)
        first = places[:-1][np.diff(places) == 1]
        odd = int((first % 2).sum())
        joined = [joined[0] + len(first) - odd, joined[1] + odd]
        total += len(places)
        mean += len(places) * max(0, len(places) - 1) / records
    if total == 0:
        return 1.0, 0.0
    counts = (records // 2, (records - 1) // 2)
    at_rate = min(
        _at_rate(seen, count * len(batches), most, 2)
        for seen, count in zip(joined, counts, strict=True)
    )
    p = max(tail(sum(joined), total, mean / total), min(1.0, 2.0 * at_rate))
    return p, sum(joined) / total


def ordered_in_time(epochs: Epochs, records: int, *, most: float) -> tuple[float, float]:
    """Whether records of the first half of the data come in the first half of an epoch.

    As in :func:`adjacent`, records may have different rates up to ``most``. Returns the p-value,
    for more as well as for fewer than half of them; which share of the first halves' records they
    are.
    """
    half = records // 2
    batches = [batch for epoch in epochs for batch in epoch[: len(epoch) // 2]]
    early, total = sum(int((batch < half).sum()) for batch in batches), sum(map(len, batches))
    if total == 0 or half == 0:
        return 1.0, 0.5
    both = min(
        max(tail(seen, total, mean), _at_rate(seen, count * len(batches), most))
        for seen, mean, count in (
            (early, half / records, half),
            (total - early, 1.0 - half / records, records - half),
        )
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
    first, second = _halves(draws, by_batch=by_batch)
    if len(first) < 2 or len(second) < 2 or draws.records < 3:
        return 1.0, (0, 0), 0, 0.0
    some = np.setdiff1d(np.arange(draws.records), np.array(sorted(draws.several), dtype=np.int64))
    if len(some) > _PAIRED:
        some = np.sort(rng.choice(some, _PAIRED, replace=False))
    before = _matrix(first, draws.records)[:, some]
    counts = np.asarray((before.T @ before).todense())
    pairs = np.argwhere(np.triu(np.ones(counts.shape, dtype=bool), k=1))
    most_often = pairs[np.argsort(-counts[tuple(pairs.T)], kind="stable")[:_PAIRS]]
    after = _matrix(second, draws.records)[:, some].tocsc()
    sizes = np.array([len(np.unique(batch)) for batch in second], dtype=np.float64)
    mean = float((sizes * (sizes - 1)).sum() / (draws.records * (draws.records - 1)))
    best = (1.0, (0, 0), 0, mean)
    for one, other in most_often.tolist():
        both = int(after[:, one].multiply(after[:, other]).sum())
        p = max(tail(both, len(second), mean / len(second)), _at_rate(both, len(second), most, 2))
        if min(1.0, _PAIRS * p) < best[0]:
            best = (_PAIRS * p, (int(some[one]), int(some[other])), both, mean)
    return best


def again_at_each_start(
    first: Iterable[Positions],
    second: Iterable[Positions],
    records: int,
    several: frozenset[int],  # Which are left out
) -> tuple[float, int, int]:
    """Whether two trainings draw the same batches.

    Returns the p-value; how many batches are the same; how many were compared.
    """
    common = total = same = compared = 0
    mean = 0.0
    for one, other in zip(first, second, strict=False):
        left, right = (np.setdiff1d(batch, sorted(several)) for batch in (one, other))
        compared += 1
        same += bool(len(left)) and bool(np.array_equal(left, right))
        common += len(np.intersect1d(left, right, assume_unique=True))
        total += len(left)
        mean += len(left) * len(right) / max(1, records - len(several))
    return (tail(common, total, mean / total) if total else 1.0), same, compared


def twice(batches: Iterable[Positions], several: frozenset[int]) -> list[int]:
    """How often a record is in a batch at most, for each batch that has one more than once."""
    found = []
    for batch in batches:
        values, counts = np.unique(batch, return_counts=True)
        often = counts[~np.isin(values, list(several))]
        found += [int(often.max())] if np.any(often > 1) else []
    return found


def _matrix(batches: list[Positions], records: int) -> sparse.csr_matrix:
    rows = [np.unique(batch) for batch in batches]
    ends = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    columns = np.concatenate(rows) if rows else np.zeros(0, dtype=np.int64)
    return sparse.csr_matrix(
        (np.ones(len(columns), dtype=np.int32), columns, ends), shape=(len(rows), records)
    )
