"""Releases made batch by batch: into an array, or into a file larger than memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from rdpkit import _validate
from rdpkit.files import whole_file

Batch = tuple[NDArray[np.float64], NDArray[Any]]
Progress = Callable[[int, int], None]


def collect(
    batches: Iterable[Batch],
    *,
    shape: tuple[int, ...],
    label_shape: tuple[int, ...],
    label_type: DTypeLike,
    dtype: DTypeLike = np.float32,
    out: str | Path | None = None,
    progress: Progress | None = None,
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Put batches one after the other.

    Parameters
    ----------
    batches : iterable of (features, labels)
        Features of shape (k, d) and labels of shape (k, ...), as many as ``shape`` says in all.
    shape : tuple of int
        Of the features in the end.
    label_shape : tuple of int
        Of the labels in the end.
    label_type : dtype
        Of the labels.
    dtype : dtype
        Of the features: float32 or float64. Rounding comes after the noise.
    out : str or Path, optional
        A file ``X.npy`` to write the features to; the result is then mapped from it. It is there
        when it is whole.
    progress : callable, optional
        Called with (records done, records in all) after each batch.

    Returns
    -------
    features : ndarray
        Of ``shape``.
    labels : ndarray
        Of ``label_shape``.

    Raises
    ------
    ValueError
        If an argument is not accepted.
    """
    kind = checked_type(dtype)
    if out is None:
        features = np.empty(shape, dtype=kind)
        return features, _fill(features, batches, label_shape, label_type, progress)
    path = Path(out)
    if path.suffix != ".npy":
        raise _validate.fail("out", "to end in .npy", str(out))
    with whole_file(path) as temporary:
        mapped = np.lib.format.open_memmap(temporary, mode="w+", dtype=kind, shape=shape)
        labels = _fill(mapped, batches, label_shape, label_type, progress)
        mapped.flush()
        del mapped
    return np.load(path, mmap_mode="r", allow_pickle=False), labels


def checked_type(dtype: DTypeLike) -> np.dtype[Any]:
    """Float32 or float64.

    Raises
    ------
    ValueError
        If it is another type.
    """
    kind = np.dtype(dtype)
    if kind not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise _validate.fail("dtype", "to be float32 or float64", dtype)
    return kind


def _fill(
    features: NDArray[Any],
    batches: Iterable[Batch],
    label_shape: tuple[int, ...],
    label_type: DTypeLike,
    progress: Progress | None,
) -> NDArray[Any]:
    labels = np.empty(label_shape, dtype=label_type)
    total = len(labels)
    done = 0
    for rows, some in batches:
        end = done + len(rows)
        if end > total:
            raise RuntimeError(f"More records came than the {total} that were announced.")
        features[done:end] = rows.reshape(len(rows), *features.shape[1:])
        labels[done:end] = some
        done = end
        if progress is not None:
            progress(done, total)
    if done != total:
        raise RuntimeError(f"Only {done} records came of the {total} that were announced.")
    return labels


__all__ = ["Batch", "Progress", "checked_type", "collect"]
