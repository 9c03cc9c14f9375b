"""Which record is which: by the bytes of what it holds."""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from typing import Any

import numpy as np

from rdpkit import _validate
from rdpkit.verification.training.batches import are_records, array_of, leaves, size
from rdpkit.verification.training.trainer import Batch

Key = bytes


def keys_of_batch(
    batch: Batch,  # As a loader yields it
    *,
    # How many of its arrays are looked at, beginning with the first; by default all.
    parts: int | None = None,
) -> list[Key]:
    """A key for each record of a batch."""
    if are_records(batch):
        return [_key([_array(leaf) for leaf in ordered(one)][:parts]) for one in batch]
    found = [_array(leaf) for leaf in ordered(batch)]
    columns = [column for column in found if column.ndim > 0][:parts]
    if not columns:
        return []
    return [_key([column[row] for column in columns]) for row in range(len(columns[0]))]


def keys_of_records(
    records: Any,  # The records, one after the other, or columns of all
    *,
    parts: int | None = None,  # How many arrays of each record are looked at
    until: float = np.inf,  # When to give up, by the clock of ``time.perf_counter``
) -> list[Key] | None:
    """A key for each of the training records; None if that takes too long or cannot be done."""
    columns = _columns(records)
    if columns is not None:
        return keys_of_batch(columns, parts=parts)
    try:
        count = len(records)
    except TypeError:
        return None
    found = []
    for place in range(count):
        if time.perf_counter() > until:
            return None
        one = _read(records, place)
        if one is None:
            return None
        found.append(_key([_array(leaf) for leaf in ordered(one)][:parts]))
    return found


def parts_of(records: Any) -> int | None:
    """How many arrays a record has; None if none can be read."""
    columns = _columns(records)
    if columns is not None:
        return len(ordered(columns))
    one = _read(records, 0)
    return None if one is None else len(ordered(one))


def _read(records: Any, place: int) -> Any:
    """One record by its place; None if they have no places, as those of a stream."""
    with _validate.ErrorsOf(f"records[{place}]"):
        try:
            return records[place]
        except (TypeError, LookupError, AttributeError, NotImplementedError):
            return None


def repeated_records(keys: list[Key]) -> int:
    """How many records are the same as an earlier one."""
    return len(keys) - len(Counter(keys))


def ordered(batch: Batch) -> list[Any]:
    """The arrays of a batch, those of a dictionary in the order of its keys."""
    if isinstance(batch, dict):
        return [leaf for name in sorted(batch, key=str) for leaf in ordered(batch[name])]
    return leaves(batch)


def _columns(records: Any) -> Batch | None:
    """All records as one batch, where they are kept like that."""
    tensors = getattr(records, "tensors", None)
    if isinstance(tensors, tuple):
        return tensors
    if hasattr(records, "shape"):
        return records
    if isinstance(records, tuple | dict):
        try:
            alike = size(records) > 0
        except ValueError:
            return None
        if alike and all(hasattr(leaf, "shape") for leaf in leaves(records)):
            return records
    return None


def _array(leaf: Any) -> Any:
    if isinstance(leaf, list) and len({len(one) for one in leaf if isinstance(one, list)}) > 1:
        # Sentences of different lengths.
        return np.array([repr(one) for one in leaf])
    return array_of(leaf)


def _key(values: list[Any]) -> Key:
    """The same for a number however a loader has stored it."""
    digest = hashlib.blake2b(digest_size=16)
    for value in values:
        array = np.asarray(value)
        if array.dtype.kind in "biuf":
            array = array.astype(np.float64)
        digest.update(array.tobytes() if array.dtype.kind in "fc" else repr(array).encode())
        digest.update(b"|")
    return digest.digest()
