"""What is wrong with how batches are drawn, named from what was seen."""

from __future__ import annotations

from collections.abc import Iterator

from rdpkit.formats.numbers import how_many
from rdpkit.verification.blackbox.mistakes import Mistake, MistakeKind, mistake_of
from rdpkit.verification.training.checks.sampling.evidence import DrawEvidence
from rdpkit.verification.training.checks.sampling.inclusion_tests import Distinct
from rdpkit.verification.training.told import (
    ALLOCATED,
    FIXED,
    FULL,
    POISSON,
    SHUFFLE,
    TRUNCATED,
    UNKNOWN,
    Told,
)

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
