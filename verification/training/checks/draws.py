"""What a loader draws: positions of records, batch after batch, for some epochs."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdpkit.formats.numbers import how_many
from rdpkit.verification.training.batches import (
    Key,
    count_of,
    keys_of_batch,
    keys_of_records,
    parts_of,
    size,
)
from rdpkit.verification.training.events import ALLOCATED, SHUFFLE, Told, told
from rdpkit.verification.training.trainer import PrivateTraining
from rdpkit.verification.training.updates import splits_batches

Positions = NDArray[np.int64]
BATCH_SAMPLER = "the loader's batch sampler"
_ENOUGH = 600
_MOST = 4000
_MOST_INCLUSIONS = 3_000_000
_LEAST_EPOCHS = 4
_MOST_EPOCHS = 60
_STRANGE = 0.01
_GROUPED = 0.98
_RECURRING = 0.25
# Epochs with fewer different contents than this may be the same by chance.
_FEWEST_DIFFERENT = 20
_PADDED = (
    "rows at the end of batches that are all the same, and nowhere else, fill batches up to one "
    "shape, and were left out"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Draws:
    """What a loader drew."""

    epochs: tuple[tuple[Positions, ...], ...]
    """Positions of the records of each batch of each epoch."""
    records: int  # How many records there are
    known: bool
    """Whether positions say which record it is; otherwise only the sizes of batches are known."""
    source: str  # Where they were seen, in words
    whole: bool = True  # Whether every epoch was seen to its end
    several: frozenset[int] = frozenset()
    """Positions that stand for several records with the same content."""
    strange: int = 0  # How many drawn records are none of the training records
    notes: tuple[str, ...] = ()  # What could not be seen
    ordered: bool = True
    """Whether positions are the places of records in the data; otherwise they only tell records
    apart.
    """
    units: bool = True
    """Whether a record is what the event protects. Where there are more than the event speaks of,
    several may belong to one user; then a user is drawn at least as often as each of them.
    """
    counted: bool = True
    """Whether it is known how many records there are; otherwise ``records`` says nothing."""

    @property
    def batches(self) -> list[Positions]:
        """All batches, one after the other."""
        return [batch for epoch in self.epochs for batch in epoch]

    @property
    def sizes(self) -> Positions:
        """How many records each batch has."""
        return np.array([len(batch) for batch in self.batches], dtype=np.int64)

    @property
    def first_of_each_epoch(self) -> list[Positions]:
        """Batches that are independent of each other, however an epoch is made."""
        return [epoch[0] for epoch in self.epochs if epoch]

    def changed(self, note: str, **fields: Any) -> Draws:
        """The same with other fields, and with a note."""
        return dataclasses.replace(self, notes=(*self.notes, note), **fields)


def see_draws(
    training: PrivateTraining,  # Its ``indices``, batch sampler or loader is iterated
    *,
    until: float,  # When to stop, by the clock of ``time.perf_counter``
    batches: int = _ENOUGH,  # How many are enough
    calls: int,  # How many batches of the loader one update is made from
    level: float,  # How often a record that is drawn may be taken for one that never is
) -> Draws | None:  # None if the loader yields nothing
    """Draw batches as the training does, and see which records are in them."""
    account = told(training.event)
    found = _drawn(training, account, until, calls * batches)
    if found is None or calls == 1:
        return found and _units_of(found, account, level)
    # One update is made from several batches.
    whole = found.whole and all(len(epoch) % calls == 0 for epoch in found.epochs)
    # Otherwise updates go on from one epoch into the next, so there is one long epoch.
    epochs = found.epochs if whole else [found.batches]
    made = tuple(
        tuple(
            np.concatenate(epoch[begin : begin + calls])
            for begin in range(0, len(epoch) - calls + 1, calls)
        )
        for epoch in epochs
    )
    note = f"an update is made from {calls} batches of the loader, which were put together"
    return _units_of(found.changed(note, epochs=made, whole=whole), account, level)


def _drawn(training: PrivateTraining, account: Told, until: float, batches: int) -> Draws | None:
    there, sampler = count_of(training.records), _sampler(training.loader)
    if training.indices is not None:
        epochs, whole = _epochs(training.indices, until, batches)
        return _of_positions(epochs, there, "the positions that the training gives", whole=whole)
    if sampler is not None:
        epochs, whole = _epochs(lambda: sampler, until, batches)
        drawn = itertools.chain.from_iterable(epochs)
        with contextlib.suppress(TypeError, ValueError):
            if all(np.asarray(batch).dtype.kind in "iu" or len(batch) == 0 for batch in drawn):
                return _of_positions(epochs, there, BATCH_SAMPLER, whole=whole)
    return _by_content(training, there, until, batches, account)


def _units_of(draws: Draws, account: Told, level: float) -> Draws:
    """The draws of what the event protects: records that are drawn at all, or groups of them.

    Records that are never drawn, in so many batches that this is no chance, belong to another part
    of the data. Records that are always drawn together are one, if there are as many such groups
    as the event speaks of.
    """
    if draws.known:
        draws = _without_undrawn(draws, level)
    there, said = draws.records, account.records
    if said is None or there <= said:
        return draws
    groups = _groups(draws) if draws.known else None
    if groups is not None and _GROUPED * said <= groups.max() + 1 <= said:
        count = int(groups.max()) + 1
        return draws.changed(
            f"{there} records are always drawn in {count} groups, as those of one user are, "
            "and the groups were looked at in their place",
            epochs=tuple(tuple(np.unique(groups[one]) for one in epoch) for epoch in draws.epochs),
            records=count,
            several=frozenset(groups[sorted(draws.several)].tolist()),
        )
    return draws.changed(
        f"the event speaks of {said} records, and there are {there}; if several belong "
        "to one user, give `indices` that yield the users of each batch. Of rates, only the mean "
        "of all records was compared, which is at most that of users",
        units=False,
    )


def _without_undrawn(draws: Draws, level: float) -> Draws:
    """The draws of records that are drawn at all, if it is no chance that others are not."""
    drawn = np.unique(np.concatenate([*draws.batches, np.zeros(0, dtype=np.int64)]))
    rate = float(draws.sizes.sum()) / (max(1, len(draws.sizes)) * draws.records)
    # Batches that come again say nothing new of what is never drawn.
    different = len({np.sort(batch).tobytes() for batch in draws.batches})
    missed = draws.records * (1.0 - min(1.0, rate)) ** different
    never = draws.records - drawn.size
    if not (drawn.size and never and missed < level):
        return draws
    several = np.flatnonzero(np.isin(drawn, sorted(draws.several)))
    return draws.changed(
        f"{how_many(never, 'record')} of {draws.records} were never drawn, and left out",
        epochs=tuple(tuple(np.searchsorted(drawn, one) for one in epoch) for epoch in draws.epochs),
        records=drawn.size,
        several=frozenset(several.tolist()),
    )


def _groups(draws: Draws) -> Positions | None:
    """For each record the number of its group, whose records are in the same batches.

    None if a record is more than once in a batch.
    """
    batches: list[list[int]] = [[] for _ in range(draws.records)]
    for number, batch in enumerate(draws.batches):
        if len(np.unique(batch)) < len(batch):
            return None
        for place in batch:
            batches[place].append(number)
    numbers: dict[tuple[int, ...], int] = {}
    return np.array([numbers.setdefault(tuple(one), len(numbers)) for one in batches])


def _sampler(loader: Any) -> Iterable[Any] | None:
    """What yields the positions of a torch loader's batches, unless the loader does as it likes."""
    sampler = getattr(loader, "batch_sampler", None)
    if sampler is None:
        return None
    try:
        from torch.utils.data import DataLoader  # noqa: PLC0415 - trainings without torch, too
    except ModuleNotFoundError:
        return None
    if not isinstance(loader, DataLoader) or type(loader).__iter__ is not DataLoader.__iter__:
        return None
    # Opacus cuts a batch into parts that fit the memory; the optimiser puts them together again.
    found: Iterable[Any] = sampler.sampler if splits_batches(loader) else sampler
    return found


def _epochs(make: Any, until: float, batches: int) -> tuple[list[list[Any]], bool]:
    """Epochs of what ``make`` yields, until there are enough; and whether all of them ended."""
    epochs: list[list[Any]] = []
    seen = inclusions = 0
    while len(epochs) < _MOST_EPOCHS and (seen < batches or len(epochs) < _LEAST_EPOCHS):
        epoch: list[Any] = []
        for batch in itertools.islice(make(), _MOST):
            epoch.append(batch)
            inclusions += len(batch) if hasattr(batch, "__len__") else 1
            if time.perf_counter() > until or inclusions > _MOST_INCLUSIONS:
                # Whole epochs alone, if there are two.
                return (epochs, True) if len(epochs) >= 2 else ([*epochs, epoch], False)
        if not epoch:
            break
        epochs.append(epoch)
        seen += len(epoch)
        if len(epoch) == _MOST:
            return epochs, False
    return epochs, True


def _of_positions(
    epochs: list[list[Any]], there: int | None, source: str, *, whole: bool
) -> Draws | None:
    if not epochs:
        return None
    found = [[np.asarray(batch, dtype=np.int64).reshape(-1) for batch in one] for one in epochs]
    # Negative positions fill a batch up to its shape.
    made = tuple(tuple(batch[batch >= 0] for batch in epoch) for epoch in found)
    largest = max((int(batch.max()) for epoch in made for batch in epoch if len(batch)), default=0)
    records = max(there or 0, largest + 1)
    return Draws(epochs=made, records=records, known=True, source=source, whole=whole)


def _by_content(
    training: PrivateTraining, there: int | None, until: float, batches: int, account: Told
) -> Draws | None:
    """Draws of a loader that says nothing of positions: its records are compared by content."""
    begun = time.perf_counter()
    keys = parts = None
    if training.records is not None:
        parts = parts_of(training.records)
        limit = begun + 0.4 * (until - begun)
        keys = keys_of_records(training.records, parts=parts, until=limit)
    looked_at: dict[Key, Key] = {}

    def read() -> Iterator[list[Key]]:
        for batch in training.loader:
            there = keys_of_batch(batch)
            if parts is not None:
                looked_at.update(zip(there, keys_of_batch(batch, parts=parts), strict=True))
            yield there if len(there) == size(batch) else [b""] * size(batch)

    content, whole = _epochs(read, until, batches)
    if not content:
        return None
    rows = _without_padding(content, keys or [])
    found = _numbered(
        [[[looked_at.get(key, key) for key in batch] for batch in epoch] for epoch in rows],
        keys,
        there,
        account,
        whole=whole,
    )
    return found if rows is content else found.changed(_PADDED)


def _without_padding(content: list[list[list[Key]]], keys: list[Key]) -> list[list[list[Key]]]:
    """The rows of batches without those that fill them up to one shape, if there are such.

    These are at the end of most batches, several times the same, and nowhere else: records with a
    weight of 0, or positions of -1. A record that is repeated as if it were drawn is elsewhere too,
    and what several records hold may be at the end because they are.
    """
    batches = [batch for epoch in content for batch in epoch]
    ends = Counter(batch[-1] for batch in batches if len(batch) > 1 and batch[-1] == batch[-2])
    filling, times = ends.most_common(1)[0] if ends else (b"", 0)
    if not filling or 2 * times <= len(batches) or keys.count(filling) > 1:
        return content

    def drawn(batch: list[Key]) -> list[Key]:
        filled = itertools.takewhile(lambda key: key == filling, reversed(batch))
        return batch[: len(batch) - sum(1 for _ in filled)]

    found = [[drawn(batch) for batch in epoch] for epoch in content]
    elsewhere = any(filling in batch for epoch in found for batch in epoch)
    return content if elsewhere else found


def _any_of_those_alike(
    content: list[list[list[Key]]], numbers: Mapping[Key, list[int]], *, once: bool
) -> Iterator[tuple[Positions, ...]]:
    """Contents as positions: where several records have one, as any of these at random.

    So they are drawn as their contents are: each is as likely as the others, and none comes again
    in a batch, nor in an epoch where records are told to be in it ``once``, before all are drawn.
    """
    rng, left = np.random.default_rng(0), dict[Key, list[int]]()

    def position(key: Key) -> int:
        if not left.get(key):
            there = numbers[key]
            left[key] = rng.permutation(there).tolist() if len(there) > 1 else list(there)
        return left[key].pop()

    for epoch in content:
        left.clear()
        found = []
        for batch in epoch:
            if not once:
                left.clear()
            found.append(np.array([position(key) for key in batch], dtype=np.int64))
        yield tuple(found)


def _numbered(
    content: list[list[list[Key]]],
    keys: list[Key] | None,
    there: int | None,
    account: Told,
    *,
    whole: bool,
) -> Draws:
    """Contents as positions: those of the training records, and new ones for all others."""
    following = itertools.count(len(keys or ()))
    numbers: defaultdict[Key, list[int]] = defaultdict(lambda: [next(following)])
    for place, key in enumerate(keys or ()):
        numbers.setdefault(key, []).append(place)
    known = frozenset(numbers)
    once = account.sampling in (SHUFFLE, ALLOCATED)
    made = list(_any_of_those_alike(content, numbers, once=once))
    alike, count = (
        [one for one in numbers.values() if len(one) > 1],
        sum(map(len, numbers.values())),
    )
    everything = [key for epoch in content for batch in epoch for key in batch]
    drawn = len(everything)
    strange = sum(key not in known for key in everything) if keys else 0
    notes = []
    said = there or account.records
    recurring = said is not None and count <= _RECURRING * drawn
    # Without the records themselves, contents tell records apart only if there are as many
    # different ones as records: otherwise some may have the same content, or be changed each time.
    if keys:
        fresh = strange > _STRANGE * drawn
        why = "changed on their way, as augmentation does"
    else:
        # More contents than records, which come again: there are more records than were told.
        more = said is not None and said < count and recurring
        # So there are if all epochs are the same, batch for batch, with enough different contents.
        first_epoch = Counter(itertools.chain.from_iterable(content[0]))
        again = len(content) > 1 and all(epoch == content[0] for epoch in content)
        come_again = again and len(first_epoch) >= _FEWEST_DIFFERENT
        fresh = count != said and not more and not come_again
        if come_again:
            # What is there several times in them may be several records.
            alike = [numbers[key] for key, times in first_epoch.items() if times > 1]
        why = "not told: give the loader a `dataset`, or the training `records`"
    if fresh:
        notes.append(
            f"the records of batches could not be recognised (they are {why}), so only the sizes "
            "of batches were looked at; give `indices` to have the draws themselves checked"
        )
    several = frozenset(itertools.chain.from_iterable(alike))
    if several:
        notes.append(
            f"{len(several)} records have the same content as others; they were left out where "
            "single records are counted"
        )
    return Draws(
        epochs=tuple(made),
        records=max(said or 0, 1 if fresh else count, 1),
        known=not fresh,
        source="the content of the batches that the loader yields",
        whole=whole,
        several=several,
        strange=0 if fresh else strange,
        notes=tuple(notes),
        ordered=bool(keys),
        counted=not fresh or there is not None or recurring,
    )
