"""Batches as loaders yield them: how many records they hold, how to join them, which is which.

A batch is an array or a tensor whose first axis counts records, or a tuple, list or dictionary of
such, or a list of records. Only that first axis is used, so that images, tables, tokens and
positions of records are all the same here. Which record is which is said by the bytes of what it
holds.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from rdpkit import _validate
from rdpkit.verification.training.trainer import Batch


def leaves(batch: Batch) -> list[Any]:
    """The arrays and tensors of a batch, and its lists of one entry for each record."""
    parts = _parts(batch)
    if parts is None:
        return [batch]
    return [leaf for part in parts for leaf in ([part] if _is_column(part) else leaves(part))]


def are_records(batch: Batch) -> bool:
    """Whether a batch is a list of its records: tuples or dictionaries with some single values."""
    return (
        isinstance(batch, list)
        and len(batch) > 0
        and all(isinstance(one, tuple | dict) for one in batch)
        and any(np.ndim(leaf) == 0 for leaf in leaves(batch[0]))
    )


def array_of(leaf: Any) -> Any:
    """A tensor or an array as numpy's, which has no bfloat16."""
    if hasattr(leaf, "detach"):
        leaf = leaf.detach().cpu()
        leaf = leaf.double() if "bfloat16" in str(leaf.dtype) else leaf
    return np.asarray(leaf)


def size(batch: Batch) -> int:
    """The number of records of a batch."""
    lengths = sorted({len(leaf) for leaf in leaves(batch) if hasattr(leaf, "__len__")})
    if len(lengths) > 1:
        raise _validate.fail("batch", "to hold arrays whose first axis counts records", lengths)
    return lengths[0] if lengths else 0


def rows(batch: Batch, which: Sequence[int]) -> Batch:
    """Some records of a batch, as a batch."""
    places = list(which)

    def taken(leaf: Any) -> Any:
        if isinstance(leaf, list | tuple):
            return type(leaf)(leaf[place] for place in places)
        return leaf[places]

    return mapped(taken, batch)


def joined(batches: Sequence[Batch]) -> Batch:
    """Several batches as one."""
    return mapped(_put_together, *batches)


def _put_together(*columns: Any) -> Any:
    """Columns of batches as one."""
    first, torch = columns[0], sys.modules.get("torch")
    if isinstance(first, list | tuple):
        return type(first)(value for column in columns for value in column)
    if torch is not None and isinstance(first, torch.Tensor):
        return torch.cat(columns)
    return np.concatenate([np.asarray(column) for column in columns])


def scaled(batch: Batch, factor: float) -> Batch | None:
    """A batch whose first array of floating-point features is multiplied, or None without any."""
    first = next(filter(_is_float, leaves(batch)), None)
    if first is None:
        return None
    return mapped(lambda leaf: _times(leaf, factor) if leaf is first else leaf, batch)


def _times(leaf: Any, factor: float) -> Any:
    """Features that are multiplied, in a list of records those of each."""
    if isinstance(leaf, tuple | dict):
        return scaled(leaf, factor)
    return [_times(value, factor) for value in leaf] if isinstance(leaf, list) else leaf * factor


def records_of(loader: Iterable[Batch], count: int) -> Batch | None:  # None if it yields no records
    """The first ``count`` records that a loader yields; fewer if two epochs have no more."""
    found: list[Batch] = []
    left = count
    for batch in itertools.chain.from_iterable(itertools.repeat(loader, 2)):
        here = min(size(batch), left)
        if here > 0:
            found.append(rows(batch, range(here)))
            left -= here
        if not left:
            break
    return joined(found) if found else None


def mapped(function: Callable[..., Any], *batches: Batch) -> Batch:
    """A batch whose columns a function makes from those of batches that are alike."""
    first = batches[0]
    if _parts(first) is None:
        return function(*batches)
    named = isinstance(first, dict)
    parts = [[batch[key] for key in first] if named else batch for batch in batches]
    made = [
        function(*column) if _is_column(column[0]) else mapped(function, *column)
        for column in zip(*parts, strict=True)
    ]
    if named:
        return dict(zip(first, made, strict=True))
    return type(first)(*made) if hasattr(first, "_fields") else type(first)(made)


def _parts(batch: Batch) -> list[Any] | None:
    """The columns of a batch, or batches, that it is made of; None if it is a column itself."""
    if isinstance(batch, dict):
        return list(batch.values())
    if isinstance(batch, tuple | list) and not (_is_plain(batch) or are_records(batch)):
        return list(batch)
    return None


def _is_column(part: Any) -> bool:
    """Whether a part of a batch is a list of lists of numbers, such as one of each record."""
    lists = isinstance(part, list) and len(part) > 0 and all(isinstance(one, list) for one in part)
    return lists and all(_is_plain(one) for one in part)


def _is_plain(values: Sequence[Any]) -> bool:
    """Whether a list holds numbers or words, and not arrays."""
    return not any(
        isinstance(value, dict | tuple | list) or hasattr(value, "shape") for value in values
    )


def _is_float(leaf: Any) -> bool:
    if isinstance(leaf, list) and leaf:
        return any(isinstance(one, float) or _is_float(one) for one in leaves(leaf[0]))
    return "float" in str(getattr(leaf, "dtype", None))


Key = bytes


def keys_of_batch(batch: Batch, *, parts: int | None = None) -> list[Key]:
    """A key for each record of a batch, from all of its arrays or the first ones."""
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
    columns, count = _columns(records), count_of(records)
    if columns is not None:
        return keys_of_batch(columns, parts=parts)
    if count is None:
        return None
    found = []
    for place in range(count):
        one = None if time.perf_counter() > until else _read(records, place)
        if one is None:
            return None
        found.append(_key([_array(leaf) for leaf in ordered(one)][:parts]))
    return found


def parts_of(records: Any) -> int | None:
    """How many arrays a record has; None if none can be read."""
    one = _columns(records)
    one = _read(records, 0) if one is None else one
    return None if one is None else len(ordered(one))


def count_of(records: Any) -> int | None:
    """How many records there are, one after the other or in columns; None if they do not say."""
    columns = _columns(records)
    with contextlib.suppress(TypeError):
        return len(records) if columns is None else size(columns)
    return None


def _read(records: Any, place: int) -> Any:
    """One record by its place; None if they have no places, as those of a stream."""
    with _validate.ErrorsOf(f"records[{place}]"):
        try:
            return records[place]
        except (TypeError, LookupError, AttributeError, NotImplementedError):
            return None


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
        with contextlib.suppress(ValueError):
            if size(records) and all(hasattr(leaf, "shape") for leaf in leaves(records)):
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
