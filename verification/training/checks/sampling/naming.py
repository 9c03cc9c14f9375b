"""What is wrong with how batches are drawn, named from what was seen."""

from __future__ import annotations

from collections.abc import Iterator

from rdpkit.formats.numbers import how_many
from rdpkit.verification.training.checks.sampling.drawn import Seen
from rdpkit.verification.training.mistakes import TrainingMistake, TrainingMistakeKind
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

_POISSON = (
    "Draw every record independently for every batch (with Opacus: DPDataLoader, which "
    "make_private uses unless poisson_sampling=False), or account for what the loader does."
)
_WORDS = {
    POISSON: "Poisson samples",
    FIXED: "samples of fixed size",
    SHUFFLE: "parts of a shuffled order",
    TRUNCATED: "Poisson samples that are cut at a largest size",
    ALLOCATED: "random allocation, one batch of each epoch for every record",
}


def mistakes_of_draws(seen: Seen, account: Told) -> Iterator[TrainingMistake]:
    """Everything that was accounted for differently.

    Parameters
    ----------
    seen : Seen
        What tests say of the draws.
    account : Told
        What the accountant was told.
    """
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
        yield _order(seen, account)
    # Batches that come again are one draw, which says little of rates.
    rates = [] if _comes_again(seen) else list(_rates(seen, account))
    uneven = any(mistake.kind is TrainingMistakeKind.UNEQUAL_RATES for mistake in rates)
    # With records that come more often, sizes vary less.
    yield from _repeats(seen, in_order=in_order)
    found = list(_BY_SAMPLING[account.sampling](seen, account, in_order))
    if uneven:
        found = [one for one in found if one.kind is not TrainingMistakeKind.NOT_POISSON]
    yield from found
    yield from _twice(seen)
    yield from rates
    if not in_order and not found and not uneven and not _comes_again(seen):
        yield from _dependence(seen, account)


def _told(account: Told) -> str:
    return f"{_WORDS[account.sampling]} were accounted for"


def _comes_again(seen: Seen) -> bool:
    return seen.repeats is not None and seen.repeats.again


def in_order_of_data(seen: Seen) -> bool:
    """Whether batches are blocks of the data as it stands."""
    return seen.adjacent[0] < seen.level and seen.adjacent[1] > 0.5


def _order(seen: Seen, account: Told) -> TrainingMistake:
    kind = (
        TrainingMistakeKind.NOT_POISSON
        if account.sampling == POISSON
        else TrainingMistakeKind.OTHER_SAMPLING
    )
    return TrainingMistake(
        kind=kind,
        message=f"Batches are blocks of records in the order of the data: {seen.adjacent[1]:.0%} "
        "of the records are in one batch with the next one. Nothing is drawn at random, and "
        f"{_told(account)}.",
        advice=_POISSON if account.sampling == POISSON else "Shuffle anew before each epoch.",
    )


def _repeats(seen: Seen, *, in_order: bool) -> Iterator[TrainingMistake]:
    again = seen.repeats
    if again is None or not again.again:
        return
    first, place, second, later = again.pairs[0]
    where = (
        f"batch {later + 1} of epoch {second + 1} and batch {place + 1} of epoch {first + 1}"
        if first != second
        else f"batches {place + 1} and {later + 1} of epoch {first + 1}"
    )
    how = "are the same" if again.identical else "share more records than random ones would"
    cause = (
        "each epoch goes through the same batches"
        if in_order
        else "the sampler's seed or its order is the same again"
    )
    yield TrainingMistake(
        kind=TrainingMistakeKind.REPEATED_BATCHES,
        message=f"Of {again.compared} batches that were compared, {again.batches} repeat earlier "
        f"ones ({again.identical} pairs are identical): {where} {how}; {cause}.",
        advice="Seed the sampler once, from the operating system, and draw anew in each epoch "
        "(with a distributed sampler: call set_epoch). Epochs with the same batches hide a record "
        "as one epoch does, with less noise.",
    )


def _twice(seen: Seen) -> Iterator[TrainingMistake]:
    batches, most = seen.twice
    if batches:
        yield TrainingMistake(
            kind=TrainingMistakeKind.RECORD_TWICE,
            message=f"{how_many(batches, 'batch', 'batches')} of {len(seen.draws.batches)} have a "
            f"record more than once, up to {most} times: it moves the sum by as many clipping "
            "norms, and one was accounted for.",
            advice="Draw without replacement within a batch.",
        )


def _of_poisson(seen: Seen, account: Told, in_order: bool) -> Iterator[TrainingMistake]:
    """Told Poisson samples."""
    sizes = seen.draws.sizes
    apart = seen.distinct is not None and seen.distinct.apart < seen.level
    same = seen.same[0] < seen.level and seen.all_the_same
    if in_order:
        yield from _last(seen)
    elif apart and seen.once:
        assert seen.distinct is not None
        how = (
            f"batches of {seen.same[1]}"
            if same
            else f"batches of {int(sizes.min())} to {int(sizes.max())}"
        )
        yield TrainingMistake(
            kind=TrainingMistakeKind.SHUFFLED if same else TrainingMistakeKind.NOT_POISSON,
            message=f"No record comes twice in an epoch ({how}); among Poisson samples "
            f"{seen.distinct.expected:.0f} would have in the epochs that were seen. "
            + (
                "Records are shuffled and cut into batches"
                if same
                else "Every record is put into one batch of each epoch"
            )
            + f", and {_told(account)}.",
            advice=_POISSON,
        )
        yield from _last(seen)
    elif same:
        yield TrainingMistake(
            kind=TrainingMistakeKind.FIXED_SIZE,
            message=f"{seen.same[2]} of {len(sizes)} batches have exactly {seen.same[1]} records; "
            f"{_told(account)}, whose sizes vary.",
            advice=_POISSON,
        )
        yield from _last(seen)
    elif seen.cap[0] < seen.level:
        yield TrainingMistake(
            kind=TrainingMistakeKind.TRUNCATED,
            message=f"No batch has more than {seen.cap[1]} records, and {seen.cap[2]} of "
            f"{len(sizes)} have exactly as many: large batches are cut. {_told(account)}.",
            advice='Do not cut batches, or account for it (sampling="truncated-poisson").',
        )
    elif min(seen.spread[0], seen.spread[1]) < seen.level and not _comes_again(seen):
        more = "less" if seen.spread[0] < seen.level else "more"
        yield TrainingMistake(
            kind=TrainingMistakeKind.NOT_POISSON,
            message=f"The sizes of batches vary {more} than those of Poisson samples at the told "
            f"rate: their variance is {seen.spread[2]:.3g} times the binomial one. "
            f"{_told(account)}.",
            advice=_POISSON,
        )
    elif apart:
        assert seen.distinct is not None
        yield TrainingMistake(
            kind=TrainingMistakeKind.NOT_POISSON,
            message=f"Records come again within an epoch {seen.distinct.overlap} times, and "
            f"{seen.distinct.expected:.0f} times would be expected of Poisson samples: batches "
            "depend on each other.",
            advice=_POISSON,
        )


def _of_fixed(seen: Seen, account: Told, in_order: bool) -> Iterator[TrainingMistake]:
    """Told samples of fixed size, drawn anew for each batch."""
    if in_order:
        yield from _last(seen)
        return
    if seen.distinct is not None and seen.distinct.apart < seen.level and seen.once:
        yield TrainingMistake(
            kind=TrainingMistakeKind.SHUFFLED,
            message="No record comes twice in an epoch; among independent samples "
            f"{seen.distinct.expected:.0f} would have in the epochs that were seen. Records are "
            f"shuffled and cut into batches, and {_told(account)}.",
            advice="Draw a fresh sample for each batch, or account for shuffling.",
        )
    yield from _sizes(seen, account)


def _of_shuffled(seen: Seen, account: Told, in_order: bool) -> Iterator[TrainingMistake]:
    """Told parts of a shuffled order."""
    if not in_order and seen.draws.known and not seen.once and not seen.twice[0]:
        yield TrainingMistake(
            kind=TrainingMistakeKind.OTHER_SAMPLING,
            message=f"Records are in several batches of one epoch; {_told(account)}.",
            advice="Cut each epoch from one random order, or account for what the loader does.",
        )
        return
    yield from _sizes(seen, account)


def _of_allocated(seen: Seen, account: Told, in_order: bool) -> Iterator[TrainingMistake]:
    """Told random allocation."""
    same = seen.same[0] < seen.level and seen.all_the_same
    if in_order or not seen.draws.known:
        return
    if not seen.once:
        yield TrainingMistake(
            kind=TrainingMistakeKind.OTHER_SAMPLING,
            message=f"Records are in several batches of one epoch; {_told(account)}.",
            advice="Put each record into one batch of each epoch, independently of all others.",
        )
    elif same:
        yield TrainingMistake(
            kind=TrainingMistakeKind.SHUFFLED,
            message=f"{seen.same[2]} of {len(seen.draws.sizes)} batches have {seen.same[1]} "
            f"records: a shuffled order is cut into batches, and {_told(account)}.",
            advice="Choose a batch for each record independently, or account for shuffling.",
        )


def _of_truncated(seen: Seen, account: Told, in_order: bool) -> Iterator[TrainingMistake]:
    """Told Poisson samples that are cut."""
    largest = int(seen.draws.sizes.max())
    apart = seen.distinct is not None and seen.distinct.apart < seen.level
    if account.largest_batch is not None and largest > account.largest_batch:
        yield TrainingMistake(
            kind=TrainingMistakeKind.OTHER_SAMPLING,
            message=f"A batch has {largest} records, and {account.largest_batch} at most were "
            "accounted for.",
            advice="Cut batches at the size that is accounted for.",
        )
    if not in_order and apart and seen.once:
        assert seen.distinct is not None
        yield TrainingMistake(
            kind=TrainingMistakeKind.SHUFFLED,
            message="No record comes twice in an epoch; among independent samples "
            f"{seen.distinct.expected:.0f} would have. {_told(account)}.",
            advice=_POISSON,
        )
        yield from _last(seen)


def _sizes(seen: Seen, account: Told) -> Iterator[TrainingMistake]:
    """Batches that should all have one size."""
    sizes = seen.draws.sizes
    if len(set(sizes.tolist())) <= 1:
        return
    if seen.partial is not None:
        yield from _last(seen)
        return
    yield TrainingMistake(
        kind=TrainingMistakeKind.OTHER_SAMPLING,
        message=f"Batches have {int(sizes.min())} to {int(sizes.max())} records; {_told(account)}, "
        "which all have one size.",
        advice="Draw batches of one size, or account for what the loader does.",
    )


def _last(seen: Seen) -> Iterator[TrainingMistake]:
    if seen.partial is not None:
        common, end = seen.partial
        yield TrainingMistake(
            kind=TrainingMistakeKind.PARTIAL_BATCH,
            message=f"The last batch of each epoch has {end} records, and all others {common}.",
            advice="Drop the last batch of an epoch if it is not full (drop_last=True), or count "
            "its update as well.",
        )


def _rates(seen: Seen, account: Told) -> Iterator[TrainingMistake]:
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
        yield TrainingMistake(
            kind=TrainingMistakeKind.SAMPLING_RATE,
            message=f"Batches have {seen.rate * seen.draws.records:.4g} of "
            f"{how_many(seen.draws.records, 'record')} on average, a rate of {seen.rate:.4g} "
            f"(estimate), and {rate:.4g} was accounted for.",
            advice="Account for the rate at which the loader draws: the batch of all workers "
            "together, over the records that there really are.",
        )
    if uneven:
        worst = max(uneven, key=lambda one: one.rate)
        yield TrainingMistake(
            kind=TrainingMistakeKind.UNEQUAL_RATES,
            message=f"{how_many(worst.records, 'record')} that came often in the first half of "
            f"the draws are in {worst.rate:.4g} of the batches of the second half on average; all "
            f"have {seen.rate:.4g}, and {rate:.4g} was accounted for.",
            advice="Draw all records with the same probability, or account for the largest one.",
        )


def _dependence(seen: Seen, account: Told) -> Iterator[TrainingMistake]:
    """Records whose places in batches depend on each other."""
    kind = (
        TrainingMistakeKind.NOT_POISSON
        if account.sampling == POISSON
        else TrainingMistakeKind.OTHER_SAMPLING
    )
    p, (one, other), both, mean = seen.pair
    if seen.adjacent[0] < seen.level:
        seen_as = (
            f"{seen.adjacent[1]:.0%} of the records are in one batch with the next one in the "
            "data, more than by chance: records are drawn in groups"
        )
    elif p < seen.level:
        seen_as = (
            f"records {one} and {other} are together in {both} batches, where {mean:.2g} are "
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
            f"records come again within an epoch {seen.distinct.overlap} times, and "
            f"{seen.distinct.expected:.0f} times are expected: batches depend on each other"
        )
    else:
        return
    yield TrainingMistake(
        kind=kind,
        message=f"{seen_as[0].upper()}{seen_as[1:]}; {_told(account)}.",
        advice=_POISSON
        if account.sampling == POISSON
        else "Shuffle all records before each epoch.",
    )


_BY_SAMPLING = {
    POISSON: _of_poisson,
    FIXED: _of_fixed,
    SHUFFLE: _of_shuffled,
    ALLOCATED: _of_allocated,
    TRUNCATED: _of_truncated,
}
