"""What tests say about the draws of a loader, and what is wrong with them, named from that."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from rdpkit.formats.numbers import how_many
from rdpkit.verification.blackbox.mistakes import Mistake, MistakeKind, mistake_of
from rdpkit.verification.training.checks import draw_tests
from rdpkit.verification.training.checks.draw_tests import Distinct, Favoured, Repeats
from rdpkit.verification.training.checks.draws import Draws, Positions
from rdpkit.verification.training.events import (
    ALLOCATED,
    FIXED,
    FULL,
    POISSON,
    SHUFFLE,
    TRUNCATED,
    UNKNOWN,
    Told,
)

TESTS = (
    "rate",
    "equal sizes",
    "cut sizes",
    "sizes that vary less",
    "sizes that vary more",
    "records apart",
    "records alike",
    "repeated batches",
    "favoured records",
    "neighbours",
    "order in time",
    "pairs of records",
)
"""The tests that share the error rate; they have the same level."""
# Where a test has shown that sizes are equal, the last batch of an epoch may have another one.
_NEARLY_ALL = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawEvidence:
    """What was seen of the draws."""

    draws: Draws  # The draws, without batches that repeat earlier ones
    level: float  # The level of each test
    inclusions: int  # How many records all batches have together
    above: float  # The probability of so many, or more, at the told rate
    same: tuple[float, int, int]
    """p-value of equal sizes, the most frequent size, how often it came."""
    partial: tuple[int, int] | None
    """The size of all batches but the last of each epoch, and that of the last ones."""
    # What follows is as if nothing had been seen where a test could not be made.
    cap: tuple[float, int, int] = (1.0, 0, 0)
    """p-value of sizes that end at a largest one, that size, how often it came."""
    spread: tuple[float, float, float] = (1.0, 1.0, 1.0)
    """p-values of sizes that vary less and more, and their variance over the binomial one."""
    distinct: Distinct | None = None  # How often records come again within an epoch
    repeats: Repeats | None = None  # Batches that have much in common
    favoured: Sequence[Favoured] = ()  # Records that were drawn most often
    adjacent: tuple[float, float] = (1.0, 0.0)
    """p-value of neighbours that come together, and their share."""
    early: tuple[float, float] = (1.0, 0.5)
    """p-value of the data's order within an epoch, and the share."""
    pair: tuple[float, tuple[int, int], int, float] = (1.0, (0, 0), 0, 0.0)
    """p-value of two records that come together, these, how often they did and should."""
    twice: tuple[int, int] = (0, 1)
    """In how many batches a record is more than once, and how often at most."""
    once: bool = False  # Whether no record came again within any epoch

    @property
    def trials(self) -> int:
        """Records times batches."""
        return self.draws.records * len(self.draws.batches)

    @property
    def rate(self) -> float:
        """The share of records that are in a batch, on average."""
        return self.inclusions / self.trials

    def least_rate(self, confidence: float) -> float:
        """A lower confidence limit of the rate, if inclusions are independent."""
        if self.inclusions == 0 or not (self.draws.counted and self.draws.units):
            return 0.0
        return float(
            stats.beta.ppf(1.0 - confidence, self.inclusions, self.trials - self.inclusions + 1)
        )

    @property
    def all_the_same(self) -> bool:
        """Whether practically all batches have one size, apart from the last of each epoch."""
        sizes = self.draws.sizes
        return self.partial is not None or self.same[2] >= _NEARLY_ALL * len(sizes)


def evidence_of(
    draws: Draws,  # What was drawn
    account: Told,  # What the accountant was told
    *,
    level: float,  # The error rate of each of them
    rng: np.random.Generator,  # For tests by simulation
) -> DrawEvidence:
    """Make all tests.

    Records may be drawn at different rates, and at other rates in each batch, as long as none is
    above the told one; so the tests for independent draws are valid for that.
    """
    in_epochs = account.sampling in (SHUFFLE, ALLOCATED)
    told_rate = 1.0 if account.rate is None else account.rate
    # Where records are drawn one by one, none of them more often than was told.
    most = told_rate if account.sampling in (POISSON, TRUNCATED) else 1.0
    repeats = draw_tests.repeats(draws, level=level, most=most) if draws.known else None
    fresh = without_repeats(draws, repeats)
    sizes = fresh.sizes
    inclusions = int(sizes.sum())
    sized = account.sampling == POISSON and draws.units
    cells = _cells(sizes, told_rate) if sized else fresh.records
    cells = min(cells, fresh.records) if fresh.counted else cells
    parts = _windows(fresh, told_rate)
    independent = not in_epochs
    one_each = [epoch[0] for epoch in fresh.epochs if epoch]
    known = fresh.known and draws.units
    found: dict[str, Any] = {}
    if sized:
        found["cap"] = draw_tests.capped(sizes, cells)
        found["spread"] = _spread(fresh, cells, told_rate, level, rng)
    if draws.known:
        found["twice"] = draw_tests.twice(draws)
    if known and independent:
        found["distinct"] = _least(parts, fresh.records, most, level, rng)
    if known and fresh.ordered:
        apart = fresh.batches if independent else one_each
        found["adjacent"] = draw_tests.adjacent(apart, fresh.records, most=most)
        found["early"] = draw_tests.ordered_in_time(parts[0], fresh.records, most=most)
    if known:
        found["favoured"] = draw_tests.favoured(fresh, by_batch=independent)
        found["pair"] = draw_tests.together(fresh, by_batch=independent, most=most, rng=rng)
        found["once"] = _once(parts, draws.several)
    return DrawEvidence(
        draws=fresh,
        level=level,
        inclusions=inclusions,
        above=_above(fresh, fresh.batches if independent else one_each, told_rate),
        same=draw_tests.same_size(sizes, cells) if len(sizes) else (1.0, 0, 0),
        repeats=repeats,
        partial=_partial(draws),
        **found,
    )


def _above(draws: Draws, independent: list[Positions], rate: float) -> float:
    """At least the probability of so many records in batches, at a rate of at most the told one.

    Where several records may belong to one user, they may depend on each other in any way. Of the
    number of batches that a record is in, the mean over all records is then bounded as that of a
    single one is, because the bound is of an exponential moment, and exponentials are convex.
    """
    if not draws.units:
        included = sum(map(len, independent)) / draws.records
        return draw_tests.tail(included, len(independent), rate)
    if not draws.counted:
        return 1.0
    inclusions = int(draws.sizes.sum())
    return float(stats.binom.sf(inclusions - 1, draws.records * len(draws.sizes), rate))


def _cells(sizes: NDArray[np.int64], rate: float) -> int:
    """The fewest records whose sizes vary as little as those of records with such sizes can.

    With rates of at most q, sizes with the mean m have at least the variance m (1 - q), which is
    that of m / q records at the rate q.
    """
    largest = int(sizes.max()) if len(sizes) else 1
    mean = float(sizes.mean()) if len(sizes) else 1.0
    return max(1, largest, math.ceil(mean / rate))


def _spread(
    draws: Draws, cells: int, rate: float, level: float, rng: np.random.Generator
) -> tuple[float, float, float]:
    """p-values of sizes that vary less, and more, than they may; their variance over that."""
    less, more, ratio = draw_tests.dispersion(draws.sizes, cells, level=level, rng=rng)
    if not draws.counted:
        return less, 1.0, ratio
    large = draw_tests.excess(draws.sizes, draws.records, rate, level=level, rng=rng)
    return less, max(more, large), ratio


def without_repeats(draws: Draws, repeats: Repeats | None) -> Draws:
    """The draws without the batches that come again, which would count records twice."""
    if repeats is None or not repeats.again:
        return draws
    again = {(number, place) for _, _, number, place in repeats.pairs}
    epochs = [
        tuple(batch for place, batch in enumerate(epoch) if (number, place) not in again)
        for number, epoch in enumerate(draws.epochs)
    ]
    # What comes again in the epochs that were compared is taken to come again in all.
    compared = epochs[: draw_tests.COMPARED_EPOCHS]
    kept = tuple(epoch for epoch in compared if epoch)
    return dataclasses.replace(draws, epochs=kept or draws.epochs[:1])


def _windows(draws: Draws, rate: float) -> list[list[list[Positions]]]:
    """Epochs as they are or as the rate says they should be, in one or two ways."""
    if not 0.0 < rate < 1.0:
        return [[list(epoch) for epoch in draws.epochs]]
    lengths = {max(1, math.floor(1.0 / rate + 1e-9)), max(1, math.ceil(1.0 / rate - 1e-9))}
    return [draw_tests.windows(draws.epochs, length) for length in sorted(lengths)]


def _least(
    parts: Sequence[list[list[Positions]]],
    records: int,
    most: float,
    level: float,
    rng: np.random.Generator,
) -> Distinct:
    """The most telling of several ways to cut epochs, with its p-value for all of them."""
    found = [
        draw_tests.distinct(epochs, records, most=most, level=level / len(parts), rng=rng)
        for epochs in parts
    ]
    best = min(found, key=lambda one: one.apart)
    return Distinct(
        apart=min(1.0, len(found) * best.apart),
        alike=min(1.0, len(found) * min(one.alike for one in found)),
        overlap=best.overlap,
        expected=best.expected,
    )


def _once(parts: list[list[list[Positions]]], several: frozenset[int]) -> bool:
    """Whether no record comes again in an epoch, however epochs are cut."""
    for epochs in parts:
        good = True
        for epoch in epochs:
            everything = np.concatenate([*epoch, np.zeros(0, dtype=np.int64)])
            values, counts = np.unique(everything, return_counts=True)
            good &= all(int(value) in several for value in values[counts > 1])
        if good:
            return True
    return False


def _partial(draws: Draws) -> tuple[int, int] | None:
    """The common size of batches and a smaller one of the last of each epoch, if it is so."""
    if not draws.whole or any(len(epoch) < 2 for epoch in draws.epochs):
        return None
    others = {len(batch) for epoch in draws.epochs for batch in epoch[:-1]}
    last = {len(epoch[-1]) for epoch in draws.epochs}
    if len(others) != 1 or len(last) != 1:
        return None
    common, end = others.pop(), last.pop()
    return (common, end) if 0 < end < common else None


# Where a test has shown that neighbours come together, batches are blocks of the data if most do;
# otherwise records are drawn in groups. The name depends on it, and whether there is one does not.
_BLOCKS = 0.5
_WORDS = {
    POISSON: "Poisson samples",
    FIXED: "samples of fixed size",
    SHUFFLE: "parts of a shuffled order",
    TRUNCATED: "Poisson samples that are cut at a largest size",
    ALLOCATED: "random allocation, one batch of each epoch for every record",
}


def mistakes_of_draws(seen: DrawEvidence, account: Told) -> Iterator[Mistake]:
    """Everything that was accounted for differently."""
    if account.sampling == UNKNOWN:
        return
    if account.sampling == FULL:
        yield from _twice(seen)
        return
    if not seen.draws.units:
        # What the event protects is not known, but it is drawn as often as each of its records, and
        # equal batches are no Poisson samples of it.
        if account.sampling == POISSON and seen.same[1] > 0:
            yield from _of_poisson(seen, account, False)
        if seen.draws.ordered:
            yield from _repeats(seen, in_order=False)
            yield from _twice(seen)
        yield from _rates(seen, account)
        return
    in_order = in_order_of_data(seen)
    if in_order:
        share, told = seen.adjacent[1], _told(account)
        yield mistake_of(_other(account), "in_order", share=share, told=told)
    # Batches that come again are one draw, which says little of rates.
    rates = [] if _comes_again(seen) else list(_rates(seen, account))
    uneven = any(mistake.kind is MistakeKind.UNEQUAL_RATES for mistake in rates)
    # With records that come more often, sizes vary less.
    yield from _repeats(seen, in_order=in_order)
    found = list(_BY_SAMPLING[account.sampling](seen, account, in_order))
    if uneven:
        found = [one for one in found if one.kind is not MistakeKind.NOT_POISSON]
    yield from found
    yield from _twice(seen)
    yield from rates
    if not in_order and not found and not uneven and not _comes_again(seen):
        yield from _dependence(seen, account)


def _told(account: Told) -> str:
    return f"{_WORDS[account.sampling]} were accounted for"


def _comes_again(seen: DrawEvidence) -> bool:
    return seen.repeats is not None and seen.repeats.again


def in_order_of_data(seen: DrawEvidence) -> bool:
    """Whether batches are blocks of the data as it stands."""
    return seen.adjacent[0] < seen.level and seen.adjacent[1] > _BLOCKS


def _other(account: Told) -> MistakeKind:
    """The kind of a mistake in how batches are drawn that has no name of its own."""
    poisson = account.sampling == POISSON
    return MistakeKind.NOT_POISSON if poisson else MistakeKind.OTHER_SAMPLING


def _repeats(seen: DrawEvidence, *, in_order: bool) -> Iterator[Mistake]:
    again = seen.repeats
    if again is None or not again.again:
        return
    first, place, second, later = again.pairs[0]
    yield mistake_of(
        MistakeKind.REPEATED_BATCHES,
        "epochs",
        compared=again.compared,
        again=again.batches,
        identical=again.identical,
        where=f"batch {later + 1} of epoch {second + 1} and batch {place + 1} of epoch {first + 1}"
        if first != second
        else f"batches {place + 1} and {later + 1} of epoch {first + 1}",
        how="are the same" if again.identical else "share more records than random ones would",
        cause="each epoch goes through the same batches"
        if in_order
        else "the sampler's seed or its order is the same again",
    )


def _twice(seen: DrawEvidence) -> Iterator[Mistake]:
    batches, most = seen.twice
    if batches:
        yield mistake_of(
            MistakeKind.RECORD_TWICE,
            batches=how_many(batches, "batch", "batches"),
            all=len(seen.draws.batches),
            most=most,
        )


def _of_poisson(seen: DrawEvidence, account: Told, in_order: bool) -> Iterator[Mistake]:
    """Told Poisson samples."""
    sizes, told, kind = seen.draws.sizes, _told(account), MistakeKind.NOT_POISSON
    apart = _apart(seen)
    same = seen.same[0] < seen.level and seen.all_the_same
    if in_order:
        yield from _last(seen)
    elif apart is not None and seen.once:
        way = (MistakeKind.SHUFFLED, "poisson") if same else (kind, "apart")
        of = f"{seen.same[1]}" if same else f"{int(sizes.min())} to {int(sizes.max())}"
        yield mistake_of(*way, sizes=of, expected=apart.expected, told=told)
        yield from _last(seen)
    elif same:
        size, times = seen.same[1:]
        fixed = MistakeKind.FIXED_SIZE
        yield mistake_of(fixed, times=times, batches=len(sizes), size=size, told=told)
        yield from _last(seen)
    elif seen.cap[0] < seen.level:
        size, times = seen.cap[1:]
        cut = MistakeKind.TRUNCATED
        yield mistake_of(cut, size=size, times=times, batches=len(sizes), told=told)
    elif min(seen.spread[0], seen.spread[1]) < seen.level and not _comes_again(seen):
        more = "less" if seen.spread[0] < seen.level else "more"
        yield mistake_of(kind, "spread", more=more, ratio=seen.spread[2], told=told)
    elif apart is not None:
        yield mistake_of(kind, "overlap", overlap=apart.overlap, expected=apart.expected)


def _apart(seen: DrawEvidence) -> Distinct | None:
    """How often records come again within epochs, if less often than in independent batches."""
    found = seen.distinct
    return found if found is not None and found.apart < seen.level else None


def _of_fixed(seen: DrawEvidence, account: Told, in_order: bool) -> Iterator[Mistake]:
    """Told samples of fixed size, drawn anew for each batch."""
    if in_order:
        yield from _last(seen)
        return
    apart = _apart(seen)
    if apart is not None and seen.once:
        kind, told = MistakeKind.SHUFFLED, _told(account)
        yield mistake_of(kind, "fixed", expected=apart.expected, told=told)
    yield from _sizes(seen, account)


def _of_shuffled(seen: DrawEvidence, account: Told, in_order: bool) -> Iterator[Mistake]:
    """Told parts of a shuffled order."""
    if not in_order and seen.draws.known and not seen.once and not seen.twice[0]:
        yield mistake_of(MistakeKind.OTHER_SAMPLING, "shuffled", told=_told(account))
        return
    yield from _sizes(seen, account)


def _of_allocated(seen: DrawEvidence, account: Told, in_order: bool) -> Iterator[Mistake]:
    """Told random allocation."""
    same = seen.same[0] < seen.level and seen.all_the_same
    if in_order or not seen.draws.known:
        return
    if not seen.once:
        yield mistake_of(MistakeKind.OTHER_SAMPLING, "allocated", told=_told(account))
    elif same:
        yield mistake_of(
            MistakeKind.SHUFFLED,
            "allocated",
            times=seen.same[2],
            batches=len(seen.draws.sizes),
            size=seen.same[1],
            told=_told(account),
        )


def _of_truncated(seen: DrawEvidence, account: Told, in_order: bool) -> Iterator[Mistake]:
    """Told Poisson samples that are cut."""
    largest, most = int(seen.draws.sizes.max()), account.largest_batch
    if most is not None and largest > most:
        kind = MistakeKind.OTHER_SAMPLING
        yield mistake_of(kind, "largest", largest=largest, most=most)
    apart = _apart(seen)
    if not in_order and apart is not None and seen.once:
        kind, told = MistakeKind.SHUFFLED, _told(account)
        yield mistake_of(kind, "truncated", expected=apart.expected, told=told)
        yield from _last(seen)


def _sizes(seen: DrawEvidence, account: Told) -> Iterator[Mistake]:
    """Batches that should all have one size."""
    smallest, largest = int(seen.draws.sizes.min()), int(seen.draws.sizes.max())
    if seen.partial is not None:
        yield from _last(seen)
    elif smallest < largest:
        yield mistake_of(
            MistakeKind.OTHER_SAMPLING,
            "sizes",
            smallest=smallest,
            largest=largest,
            told=_told(account),
        )


def _last(seen: DrawEvidence) -> Iterator[Mistake]:
    if seen.partial is not None:
        common, end = seen.partial
        yield mistake_of(MistakeKind.PARTIAL_BATCH, end=end, common=common)


def _rates(seen: DrawEvidence, account: Told) -> Iterator[Mistake]:
    """Records that are in batches more often than was accounted for."""
    rate = account.rate
    if rate is None:
        return
    in_epochs = account.sampling in (SHUFFLE, ALLOCATED)
    exact = account.sampling in (SHUFFLE, FIXED) and seen.all_the_same
    largest = seen.same[1] > rate * seen.draws.records * (1.0 + 1e-9)
    more = largest if exact else seen.above < seen.level
    uneven = [
        one
        for one in seen.favoured
        if one.rate > rate and one.p(1.0 if in_epochs else rate) < seen.level
    ]
    if more:
        yield mistake_of(
            MistakeKind.SAMPLING_RATE,
            mean=seen.rate * seen.draws.records,
            records=how_many(seen.draws.records, "record"),
            seen=seen.rate,
            rate=rate,
        )
    if uneven:
        worst = max(uneven, key=lambda one: one.rate)
        yield mistake_of(
            MistakeKind.UNEQUAL_RATES,
            records=how_many(worst.records, "record"),
            often=worst.rate,
            seen=seen.rate,
            rate=rate,
        )


def _dependence(seen: DrawEvidence, account: Told) -> Iterator[Mistake]:
    """Records whose places in batches depend on each other."""
    p, (one, other), both, mean = seen.pair
    if seen.adjacent[0] < seen.level:
        seen_as = (
            f"{seen.adjacent[1]:.0%} of the records are in one batch with the next one in the "
            "data, more than by chance: records are drawn in groups"
        )
    elif p < seen.level:
        seen_as = (
            f"Records {one} and {other} are together in {both} batches, where {mean:.2g} are "
            "expected: records are drawn in groups"
        )
    elif seen.early[0] < seen.level:
        seen_as = (
            f"{seen.early[1]:.0%} of the records in the first half of an epoch are of the first "
            "half of the data: the order is not random (a buffer for shuffling that is smaller "
            "than the data does this)"
        )
    elif seen.distinct is not None and seen.distinct.alike < seen.level:
        seen_as = (
            f"Records come again within an epoch {seen.distinct.overlap} times, and "
            f"{seen.distinct.expected:.0f} times are expected: batches depend on each other"
        )
    else:
        return
    yield mistake_of(_other(account), "dependence", seen=seen_as, told=_told(account))


_BY_SAMPLING = {
    POISSON: _of_poisson,
    FIXED: _of_fixed,
    SHUFFLE: _of_shuffled,
    ALLOCATED: _of_allocated,
    TRUNCATED: _of_truncated,
}
