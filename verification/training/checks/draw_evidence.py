"""What tests say about the draws of a loader, and what is wrong with them, named from that."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from rdpkit.formats.numbers import how_many
from rdpkit.verification.blackbox.mistakes import Mistake, MistakeKind, mistake_of
from rdpkit.verification.training.checks import draw_tests
from rdpkit.verification.training.checks.draw_tests import Distinct, Favoured, Repeats
from rdpkit.verification.training.checks.draws import Draws
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
# Where a test has shown that neighbours come together, batches are blocks of the data if most do;
# otherwise records are drawn in groups. The name depends on it, and whether there is one does not.
_BLOCKS = 0.5
_NOT_TESTED, _NO_REPEATS = Distinct(1.0, 1.0, 0, 0.0), Repeats((), 0, 0)
_WORDS = {
    POISSON: "Poisson samples",
    FIXED: "samples of fixed size",
    SHUFFLE: "parts of a shuffled order",
    TRUNCATED: "Poisson samples that are cut at a largest size",
    ALLOCATED: "random allocation, one batch of each epoch for every record",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawEvidence:
    """What was seen of the draws."""

    draws: Draws  # The draws, without batches that repeat earlier ones
    account: Told  # What the accountant was told
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
    distinct: Distinct = _NOT_TESTED  # How often records come again in an epoch
    repeats: Repeats = _NO_REPEATS  # Batches that have much in common
    favoured: Sequence[Favoured] = ()  # Records that were drawn most often
    adjacent: tuple[float, float] = (1.0, 0.0)
    """p-value of neighbours that come together, and their share."""
    early: tuple[float, float] = (1.0, 0.5)
    """p-value of the data's order within an epoch, and the share."""
    pair: tuple[float, tuple[int, int], int, float] = (1.0, (0, 0), 0, 0.0)
    """p-value of two records that come together, these, how often they did and should."""
    twice: Sequence[int] = ()
    """How often a record is in a batch, for each that has one more than once."""
    once: bool = False  # Whether no record came again within any epoch

    @property
    def rate(self) -> float:
        """The share of records that are in a batch, on average."""
        return self.inclusions / (self.draws.records * len(self.draws.batches))

    def least_rate(self, confidence: float) -> float:
        """A lower confidence limit of the rate, if inclusions are independent."""
        if not (self.draws.counted and self.draws.units):
            return 0.0
        trials = self.draws.records * len(self.draws.batches)
        return draw_tests.least_rate(self.inclusions, trials, 1.0 - confidence)

    @property
    def all_the_same(self) -> bool:
        """Whether practically all batches have one size, apart from the last of each epoch."""
        sizes = self.draws.sizes
        return self.partial is not None or self.same[2] >= _NEARLY_ALL * len(sizes)

    @property
    def in_order_of_data(self) -> bool:
        """Whether batches are blocks of the data as it stands."""
        return self.adjacent[0] < self.level and self.adjacent[1] > _BLOCKS

    @property
    def apart(self) -> Distinct | None:
        """How often records come again in epochs, if less often than in independent batches."""
        return self.distinct if self.distinct.apart < self.level else None

    @property
    def told(self) -> str:
        """How batches were said to be drawn, in words."""
        return f"{_WORDS[self.account.sampling]} were accounted for"

    @property
    def other(self) -> MistakeKind:
        """The kind of a mistake in how batches are drawn that has no name of its own."""
        poisson = self.account.sampling == POISSON
        return MistakeKind.NOT_POISSON if poisson else MistakeKind.OTHER_SAMPLING


def evidence_of(
    draws: Draws, account: Told, *, level: float, rng: np.random.Generator
) -> DrawEvidence:
    """Make all tests, each at this level.

    Records may be drawn at different rates, and at other rates in each batch, as long as none is
    above the told one; so the tests for independent draws are valid for that.
    """
    independent = account.sampling not in (SHUFFLE, ALLOCATED)
    told_rate = 1.0 if account.rate is None else account.rate
    # Where records are drawn one by one, none of them more often than was told.
    most = told_rate if account.sampling in (POISSON, TRUNCATED) else 1.0
    found: dict[str, Any] = {}
    fresh = draws
    if draws.known:
        found["repeats"] = repeats = draw_tests.repeats(draws, level=level, most=most)
        fresh = _without_repeats(draws, repeats)
    sizes, count = fresh.sizes, fresh.records
    sized = account.sampling == POISSON and draws.units
    cells = count
    if sized:
        # The fewest records whose sizes vary as little as those of records with such sizes can:
        # with rates of at most q, sizes with the mean m have at least the variance m (1 - q), which
        # is that of m / q records at the rate q.
        largest, mean = (int(sizes.max()), float(sizes.mean())) if len(sizes) else (1, 1.0)
        cells = max(1, largest, math.ceil(mean / told_rate))
        cells = min(cells, count) if fresh.counted else cells
    ways = draw_tests.windows(fresh.epochs, told_rate)
    apart = fresh.batches if independent else fresh.first_of_each_epoch
    known = fresh.known and draws.units
    if sized:
        found["cap"] = draw_tests.capped(sizes, cells)
        less, more, ratio = draw_tests.dispersion(sizes, cells, level=level, rng=rng)
        if fresh.counted:
            more = max(more, draw_tests.excess(sizes, count, told_rate, level=level, rng=rng))
        found["spread"] = less, more if fresh.counted else 1.0, ratio
    if draws.known:
        found["twice"] = draw_tests.twice(draws.batches, draws.several)
    if known and independent:
        found["distinct"] = draw_tests.distinct(ways, count, most=most, level=level, rng=rng)
    if known and fresh.ordered:
        found["adjacent"] = draw_tests.adjacent(apart, count, most=most)
        found["early"] = draw_tests.ordered_in_time(ways[0], count, most=most)
    if known:
        found["favoured"] = list(draw_tests.favoured(fresh, by_batch=independent))
        found["pair"] = draw_tests.together(fresh, by_batch=independent, most=most, rng=rng)
        nothing = np.zeros(0, dtype=np.int64)
        found["once"] = any(
            not draw_tests.twice((np.concatenate([*one, nothing]) for one in way), draws.several)
            for way in ways
        )
    inclusions, above = int(sizes.sum()), 1.0
    if not draws.units:
        # Where several records may belong to one user, they may depend on each other in any way. Of
        # the number of batches that a record is in, the mean over all records is then bounded as
        # that of a single one is, because the bound is of an exponential moment, and exponentials
        # are convex.
        above = draw_tests.tail(sum(map(len, apart)) / count, len(apart), told_rate)
    elif fresh.counted:
        # At least the probability of so many records in batches, at a rate of at most the told one.
        above = float(stats.binom.sf(inclusions - 1, count * len(sizes), told_rate))
    return DrawEvidence(
        draws=fresh,
        account=account,
        level=level,
        inclusions=inclusions,
        above=above,
        same=draw_tests.same_size(sizes, cells) if len(sizes) else (1.0, 0, 0),
        partial=_partial(draws),
        **found,
    )


def _without_repeats(draws: Draws, repeats: Repeats) -> Draws:
    """The draws without the batches that come again, which would count records twice."""
    if not repeats.later:
        return draws
    # What comes again in the epochs that were compared is taken to come again in all.
    epochs = [
        tuple(batch for place, batch in enumerate(epoch) if (number, place) not in repeats.later)
        for number, epoch in enumerate(draws.epochs[: draw_tests.COMPARED_EPOCHS])
    ]
    return dataclasses.replace(draws, epochs=tuple(filter(None, epochs)) or draws.epochs[:1])


def _partial(draws: Draws) -> tuple[int, int] | None:
    """The common size of batches and a smaller one of the last of each epoch, if it is so."""
    if not draws.whole or any(len(epoch) < 2 for epoch in draws.epochs):
        return None
    sizes = {(len(batch), len(epoch[-1])) for epoch in draws.epochs for batch in epoch[:-1]}
    common, end = sizes.pop() if len(sizes) == 1 else (0, 0)
    return (common, end) if 0 < end < common else None


def mistakes_of_draws(seen: DrawEvidence) -> Iterator[Mistake]:
    """Everything that was accounted for differently."""
    sampling = seen.account.sampling
    if sampling == UNKNOWN:
        return
    if sampling == FULL:
        yield from _twice(seen)
        return
    if not seen.draws.units:
        # What the event protects is not known, but it is drawn as often as each of its records, and
        # equal batches are no Poisson samples of it.
        if sampling == POISSON and seen.same[1] > 0:
            yield from _of_poisson(seen)
        if seen.draws.ordered:
            yield from _repeats(seen)
            yield from _twice(seen)
        yield from _rates(seen)
        return
    if seen.in_order_of_data:
        yield mistake_of(seen.other, "in_order", share=seen.adjacent[1], told=seen.told)
    # Batches that come again are one draw, which says little of rates.
    rates = [] if seen.repeats.later else list(_rates(seen))
    uneven = any(mistake.kind is MistakeKind.UNEQUAL_RATES for mistake in rates)
    yield from _repeats(seen)
    found = list(_BY_SAMPLING[sampling](seen))
    if uneven:
        # With records that come more often, sizes vary less.
        found = [one for one in found if one.kind is not MistakeKind.NOT_POISSON]
    yield from found
    yield from _twice(seen)
    yield from rates
    if not seen.in_order_of_data and not found and not uneven and not seen.repeats.later:
        yield from _dependence(seen)


def _repeats(seen: DrawEvidence) -> Iterator[Mistake]:
    again = seen.repeats
    if not again.later:
        return
    first, place, second, later = again.pairs[0]
    yield mistake_of(
        MistakeKind.REPEATED_BATCHES,
        "epochs",
        compared=again.compared,
        again=len(again.later),
        identical=again.identical,
        where=f"batch {later + 1} of epoch {second + 1} and batch {place + 1} of epoch {first + 1}"
        if first != second
        else f"batches {place + 1} and {later + 1} of epoch {first + 1}",
        how="are the same" if again.identical else "share more records than random ones would",
        cause="each epoch goes through the same batches"
        if seen.in_order_of_data
        else "the sampler's seed or its order is the same again",
    )


def _twice(seen: DrawEvidence) -> Iterator[Mistake]:
    if seen.twice:
        batches = how_many(len(seen.twice), "batch", "batches")
        every, most = len(seen.draws.batches), max(seen.twice)
        yield mistake_of(MistakeKind.RECORD_TWICE, batches=batches, all=every, most=most)


def _of_poisson(seen: DrawEvidence) -> Iterator[Mistake]:
    sizes, told, kind, apart = seen.draws.sizes, seen.told, MistakeKind.NOT_POISSON, seen.apart
    same, (size, times) = seen.same[0] < seen.level and seen.all_the_same, seen.same[1:]
    if seen.in_order_of_data:
        yield from _last(seen)
    elif apart is not None and seen.once:
        way = (MistakeKind.SHUFFLED, "poisson") if same else (kind, "apart")
        of = f"{size}" if same else f"{int(sizes.min())} to {int(sizes.max())}"
        yield mistake_of(*way, sizes=of, expected=apart.expected, told=told)
        yield from _last(seen)
    elif same:
        fixed = MistakeKind.FIXED_SIZE
        yield mistake_of(fixed, times=times, batches=len(sizes), size=size, told=told)
        yield from _last(seen)
    elif seen.cap[0] < seen.level:
        size, times = seen.cap[1:]
        cut = MistakeKind.TRUNCATED
        yield mistake_of(cut, size=size, times=times, batches=len(sizes), told=told)
    elif min(seen.spread[:2]) < seen.level and not seen.repeats.later:
        more = "less" if seen.spread[0] < seen.level else "more"
        yield mistake_of(kind, "spread", more=more, ratio=seen.spread[2], told=told)
    elif apart is not None:
        yield mistake_of(kind, "overlap", overlap=apart.overlap, expected=apart.expected)


def _of_fixed(seen: DrawEvidence) -> Iterator[Mistake]:
    if seen.in_order_of_data:
        yield from _last(seen)
        return
    if seen.apart is not None and seen.once:
        kind = MistakeKind.SHUFFLED
        yield mistake_of(kind, "fixed", expected=seen.apart.expected, told=seen.told)
    yield from _sizes(seen)


def _of_shuffled(seen: DrawEvidence) -> Iterator[Mistake]:
    if not seen.in_order_of_data and seen.draws.known and not seen.once and not seen.twice:
        yield mistake_of(MistakeKind.OTHER_SAMPLING, "shuffled", told=seen.told)
        return
    yield from _sizes(seen)


def _of_allocated(seen: DrawEvidence) -> Iterator[Mistake]:
    if seen.in_order_of_data or not seen.draws.known:
        return
    if not seen.once:
        yield mistake_of(MistakeKind.OTHER_SAMPLING, "allocated", told=seen.told)
    elif seen.same[0] < seen.level and seen.all_the_same:
        (size, times), batches, kind = seen.same[1:], len(seen.draws.sizes), MistakeKind.SHUFFLED
        yield mistake_of(kind, "allocated", times=times, batches=batches, size=size, told=seen.told)


def _of_truncated(seen: DrawEvidence) -> Iterator[Mistake]:
    largest, most = int(seen.draws.sizes.max()), seen.account.largest_batch
    if most is not None and largest > most:
        yield mistake_of(MistakeKind.OTHER_SAMPLING, "largest", largest=largest, most=most)
    # Fresh samples of which none has a record of another one are parts of an order.
    if not seen.in_order_of_data and seen.apart is not None and seen.once:
        kind = MistakeKind.SHUFFLED
        yield mistake_of(kind, "truncated", expected=seen.apart.expected, told=seen.told)
        yield from _last(seen)


def _sizes(seen: DrawEvidence) -> Iterator[Mistake]:
    """Batches that should all have one size."""
    low, high = int(seen.draws.sizes.min()), int(seen.draws.sizes.max())
    if seen.partial is not None:
        yield from _last(seen)
    elif low < high:
        kind = MistakeKind.OTHER_SAMPLING
        yield mistake_of(kind, "sizes", smallest=low, largest=high, told=seen.told)


def _last(seen: DrawEvidence) -> Iterator[Mistake]:
    if seen.partial is not None:
        common, end = seen.partial
        yield mistake_of(MistakeKind.PARTIAL_BATCH, end=end, common=common)


def _rates(seen: DrawEvidence) -> Iterator[Mistake]:
    """Records that are in batches more often than was accounted for."""
    rate, sampling, count = seen.account.rate, seen.account.sampling, seen.draws.records
    if rate is None:
        return
    largest = seen.same[1] > rate * count * (1.0 + 1e-9)
    exact = sampling in (SHUFFLE, FIXED) and seen.all_the_same
    if largest if exact else seen.above < seen.level:
        records, mean = how_many(count, "record"), seen.rate * count
        kind = MistakeKind.SAMPLING_RATE
        yield mistake_of(kind, mean=mean, records=records, seen=seen.rate, rate=rate)
    most = 1.0 if sampling in (SHUFFLE, ALLOCATED) else rate
    uneven = [one for one in seen.favoured if one.rate > rate and one.p(most) < seen.level]
    if uneven:
        worst = max(uneven, key=lambda one: one.rate)
        records, kind = how_many(worst.records, "record"), MistakeKind.UNEQUAL_RATES
        yield mistake_of(kind, records=records, often=worst.rate, seen=seen.rate, rate=rate)


def _dependence(seen: DrawEvidence) -> Iterator[Mistake]:
    """Records whose places in batches depend on each other."""
    p, (one, other), both, mean = seen.pair
    if seen.adjacent[0] < seen.level:
        said = (
            f"{seen.adjacent[1]:.0%} of the records are in one batch with the next one in the "
            "data, more than by chance: records are drawn in groups"
        )
    elif p < seen.level:
        said = (
            f"Records {one} and {other} are together in {both} batches, where {mean:.2g} are "
            "expected: records are drawn in groups"
        )
    elif seen.early[0] < seen.level:
        said = (
            f"{seen.early[1]:.0%} of the records in the first half of an epoch are of the first "
            "half of the data: the order is not random (a buffer for shuffling that is smaller "
            "than the data does this)"
        )
    elif seen.distinct.alike < seen.level:
        said = (
            f"Records come again within an epoch {seen.distinct.overlap} times, and "
            f"{seen.distinct.expected:.0f} times are expected: batches depend on each other"
        )
    else:
        return
    yield mistake_of(seen.other, "dependence", seen=said, told=seen.told)


_BY_SAMPLING = {
    POISSON: _of_poisson,
    FIXED: _of_fixed,
    SHUFFLE: _of_shuffled,
    ALLOCATED: _of_allocated,
    TRUNCATED: _of_truncated,
}
