"""What a loader draws: positions of records, batch after batch, for some epochs."""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdpkit.verification.training.batches import size
from rdpkit.verification.training.checks.records import (
    Key,
    keys_of_batch,
    keys_of_records,
    parts_of,
)
from rdpkit.verification.training.trainer import PrivateTraining

Positions = NDArray[np.int64]
_ENOUGH = 600
_MOST = 4000
_MOST_INCLUSIONS = 3_000_000
_LEAST_EPOCHS = 4
_MOST_EPOCHS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Draws:
    """What a loader drew.

    Parameters
    ----------
    epochs : tuple of tuples of arrays
        Positions of the records of each batch of each epoch.
    records : int
        How many records there are.
    known : bool
        Whether positions say which record it is; otherwise only the sizes of batches are known.
    source : str
        Where they were seen, in words.
    whole : bool
        Whether every epoch was seen to its end.
    several : frozenset of int
        Positions that stand for several records with the same content.
    strange : int
        How many drawn records are none of the training records.
    notes : tuple of str
        What could not be seen.
    """

    epochs: tuple[tuple[Positions, ...], ...]
    records: int
    known: bool
    source: str
    whole: bool = True
    several: frozenset[int] = frozenset()
    strange: int = 0
    notes: tuple[str, ...] = ()

    @property
    def batches(self) -> list[Positions]:
        """All batches, one after the other."""
        return [batch for epoch in self.epochs for batch in epoch]

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many records each batch has."""
        return np.array([len(batch) for batch in self.batches], dtype=np.int64)


def see_draws(training: PrivateTraining, *, until: float, batches: int = _ENOUGH) -> Draws | None:
    """Draw batches as the training does, and see which records are in them.

    Parameters
    ----------
    training : PrivateTraining
        Its ``indices``, batch sampler or loader is iterated.
    until : float
        When to stop, by the clock of ``time.perf_counter``.
    batches : int
        How many are enough.

    Returns
    -------
    Draws or None
        None if the loader yields nothing.
    """
    told = _count(training.records)
    if training.indices is not None:
        epochs, whole = _epochs(training.indices, until, batches)
        return _of_positions(epochs, told, "the positions that the training gives", whole=whole)
    sampler = _sampler(training.loader)
    if sampler is not None:
        epochs, whole = _epochs(lambda: sampler, until, batches)
        if all(_are_positions(batch) for epoch in epochs for batch in epoch):
            return _of_positions(epochs, told, "the loader's batch sampler", whole=whole)
    return _by_content(training, told, until, batches)


def _count(records: Any) -> int | None:
    try:
        return len(records)
    except TypeError:
        return None


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
    if hasattr(sampler, "max_batch_size") and hasattr(sampler, "optimizer"):
        sampler = sampler.sampler
    found: Iterable[Any] = sampler
    return found


def _are_positions(batch: Any) -> bool:
    try:
        return bool(np.asarray(batch).dtype.kind in "iu" or len(batch) == 0)
    except (TypeError, ValueError):
        return False


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
                return _without_cut([*epochs, epoch])
        if not epoch:
            break
        epochs.append(epoch)
        seen += len(epoch)
        if len(epoch) == _MOST:
            return epochs, False
    return epochs, True


def _without_cut(epochs: list[list[Any]]) -> tuple[list[list[Any]], bool]:
    """Whole epochs alone, if there are two; and whether that is so."""
    return (epochs[:-1], True) if len(epochs) > 2 else (epochs, len(epochs) == 0)


def _of_positions(
    epochs: list[list[Any]], told: int | None, source: str, *, whole: bool
) -> Draws | None:
    made = tuple(
        tuple(np.asarray(batch, dtype=np.int64).reshape(-1) for batch in epoch) for epoch in epochs
    )
    if not made:
        return None
    largest = max((int(batch.max()) for epoch in made for batch in epoch if len(batch)), default=-1)
    return Draws(
        epochs=made,
        records=max(told or 0, largest + 1, 1),
        known=True,
        source=source,
        whole=whole,
    )


def _by_content(
    training: PrivateTraining, told: int | None, until: float, batches: int
) -> Draws | None:
    """Draws of a loader that says nothing of positions: its records are compared by content."""
    begun = time.perf_counter()
    parts = parts_of(training.records) if training.records is not None else None
    keys = (
        None
        if training.records is None
        else keys_of_records(training.records, parts=parts, until=begun + 0.4 * (until - begun))
    )
    content: list[list[list[Key]]] = []

    def read() -> Iterator[list[Key]]:
        for batch in training.loader:
            there = keys_of_batch(batch, parts=parts)
            yield there if len(there) == size(batch) else [b""] * size(batch)

    content, whole = _epochs(read, until, batches)
    if not content:
        return None
    return _numbered(content, keys, told, whole=whole)


def _numbered(
    content: list[list[list[Key]]], keys: list[Key] | None, told: int | None, *, whole: bool
) -> Draws:
    """Contents as positions: those of the training records, and new ones for all others."""
    numbers: dict[Key, int] = {}
    for place, key in enumerate(keys or ()):
        numbers.setdefault(key, place)
    among = frozenset(numbers)
    counted = Counter(keys or ())
    several = frozenset(numbers[key] for key, times in counted.items() if times > 1)
    following = itertools.count(len(keys or ()))
    made = []
    strange = drawn = 0
    for epoch in content:
        rows = []
        for batch in epoch:
            for key in batch:
                drawn += 1
                strange += bool(keys) and key not in among
                if key not in numbers:
                    numbers[key] = next(following)
            rows.append(np.array([numbers[key] for key in batch], dtype=np.int64))
        made.append(tuple(rows))
    notes = []
    # Records that never come again are changed on their way, or of no end.
    fresh = drawn > 0 and strange > 0.5 * drawn if keys else len(numbers) > 0.9 * drawn
    if fresh:
        notes.append(
            "the records of batches could not be recognised among the training records "
            "(augmentation, or no fixed records), so only the sizes of batches were looked at; "
            "give `indices` to have the draws themselves checked"
        )
    if several:
        notes.append(
            f"{len(several)} records have the same content as others; they were left out where "
            "single records are counted"
        )
    return Draws(
        epochs=tuple(made),
        records=max(told or 0, 1 if fresh else len(numbers), 1),
        known=not fresh,
        source="the content of the batches that the loader yields",
        whole=whole,
        several=several,
        strange=0 if fresh else strange,
        notes=tuple(notes),
    )


__all__ = ["Draws", "Positions", "see_draws"]
