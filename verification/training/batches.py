"""Batches as loaders yield them: how many records they hold, and how to put others together.

A batch is an array or a tensor whose first axis counts records, or a tuple, list or dictionary of
such. Only that first axis is used, so that images, tables, tokens and positions of records are all
the same here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from rdpkit import _validate
from rdpkit.verification.training.trainer import Batch


def leaves(batch: Batch) -> list[Any]:
    """The arrays and tensors of a batch."""
    if isinstance(batch, dict):
        return [leaf for value in batch.values() for leaf in leaves(value)]
    if isinstance(batch, tuple | list) and not _is_numbers(batch):
        return [leaf for value in batch for leaf in leaves(value)]
    return [batch]


def size(batch: Batch) -> int:
    """The number of records of a batch.

    Raises
    ------
    ValueError
        If its arrays do not agree on it.
    """
    lengths = {len(leaf) for leaf in leaves(batch) if hasattr(leaf, "__len__")}
    if len(lengths) > 1:
        raise _validate.fail(
            "batch", "to hold arrays whose first axis counts records", sorted(lengths)
        )
    return lengths.pop() if lengths else 0


def rows(batch: Batch, which: Sequence[int]) -> Batch:
    """Some records of a batch, as a batch."""
    return _mapped(batch, lambda leaf: _taken(leaf, list(which)))


def joined(batches: Sequence[Batch]) -> Batch:
    """Several batches as one."""
    first = batches[0]
    if isinstance(first, dict):
        return {key: joined([batch[key] for batch in batches]) for key in first}
    if isinstance(first, tuple | list) and not _is_numbers(first):
        made = [joined(list(parts)) for parts in zip(*batches, strict=True)]
        return _like(first, made)
    if isinstance(first, np.ndarray):
        return np.concatenate(batches)
    if isinstance(first, list | tuple):
        return type(first)(value for batch in batches for value in batch)
    # A tensor of torch; other libraries' arrays have a function of the same name.
    import torch  # noqa: PLC0415 - trainings without torch are verified, too

    if isinstance(first, torch.Tensor):
        return torch.cat(list(batches))
    return np.concatenate([np.asarray(batch) for batch in batches])


def scaled(batch: Batch, factor: float) -> Batch | None:
    """A batch whose first array of floating-point features is multiplied, or None without any."""
    found = [leaf for leaf in leaves(batch) if _is_float(leaf)]
    if not found:
        return None
    first = found[0]
    return _mapped(batch, lambda leaf: leaf * factor if leaf is first else leaf)


def records_of(loader: Iterable[Batch], count: int) -> Batch | None:
    """The first ``count`` records that a loader yields, or fewer if it has no more in two epochs.

    Returns
    -------
    batch or None
        None if it yields no records.
    """
    found: list[Batch] = []
    have = 0
    for _ in range(2):
        for batch in loader:
            here = size(batch)
            if here == 0:
                continue
            found.append(rows(batch, range(min(here, count - have))))
            have += min(here, count - have)
            if have == count:
                return joined(found)
    return joined(found) if found else None


def _mapped(batch: Batch, function: Callable[[Any], Any]) -> Batch:
    if isinstance(batch, dict):
        return {key: _mapped(value, function) for key, value in batch.items()}
    if isinstance(batch, tuple | list) and not _is_numbers(batch):
        return _like(batch, [_mapped(value, function) for value in batch])
    return function(batch)


def _like(kind: Any, values: list[Any]) -> Any:
    if hasattr(kind, "_fields"):
        return type(kind)(*values)
    return type(kind)(values)


def _is_numbers(values: Sequence[Any]) -> bool:
    """Whether a list holds one entry for each record and not arrays."""
    return len(values) == 0 or not any(
        isinstance(value, dict | tuple | list) or hasattr(value, "shape") for value in values
    )


def _taken(leaf: Any, which: list[int]) -> Any:
    if isinstance(leaf, list | tuple):
        return type(leaf)(leaf[place] for place in which)
    return leaf[which]


def _is_float(leaf: Any) -> bool:
    if isinstance(leaf, np.ndarray):
        return bool(leaf.dtype.kind == "f")
    kind = getattr(leaf, "dtype", None)
    return "float" in str(kind)


__all__ = ["Batch", "joined", "leaves", "records_of", "rows", "scaled", "size"]
