"""CIFAR-10, in its binary and its Python version."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdpkit import _validate
from rdpkit.mechanisms.data.dataset import Dataset
from rdpkit.mechanisms.data.pickled_arrays import read_pickled_arrays

CLASSES = (
    "airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck",
)  # fmt: skip
_SHAPE = (3, 32, 32)
_PIXELS = 3 * 32 * 32
_BINARY, _PYTHON = "cifar-10-batches-bin", "cifar-10-batches-py"
Batch = tuple[NDArray[np.uint8], NDArray[np.int64]]


def read_binary_batch(path: str | Path, *, records: int = 10_000) -> Batch:
    """Read one file of the binary version: for each record its label and 3072 bytes.

    Parameters
    ----------
    path : str or Path
        For example ``data_batch_1.bin``.
    records : int
        Records that the file must have; the published files have 10,000.

    Returns
    -------
    tuple
        Images of shape (n, 3072), red, green, blue, row by row; labels of shape (n,).

    Raises
    ------
    ValueError
        If the file has another length, or a label above 9.
    """
    content = Path(path).read_bytes()
    expected = records * (_PIXELS + 1)
    if len(content) != expected:
        problem = "truncated" if len(content) < expected else "too long"
        raise ValueError(
            f"{path}: the file is {problem}: expected {expected} bytes "
            f"({records} records of {_PIXELS + 1}), got {len(content)}."
        )
    rows = np.frombuffer(content, np.uint8).reshape(records, _PIXELS + 1)
    return rows[:, 1:].copy(), _labels(path, rows[:, 0])


def read_python_batch(path: str | Path, *, records: int = 10_000) -> Batch:
    """Read one file of the Python version, without unpickling anything.

    Parameters and results are those of :func:`read_binary_batch`.

    Raises
    ------
    ValueError
        If the file is truncated or corrupted, holds objects other than arrays, bytes, dictionaries
        and lists, or not the records that it should.
    """
    content = read_pickled_arrays(path)
    if not isinstance(content, dict):
        raise ValueError(f"{path}: expected a dictionary with data and labels.")
    parts: dict[str, Any] = {
        key.decode("latin-1") if isinstance(key, bytes) else str(key): value
        for key, value in content.items()
    }
    if not {"data", "labels"} <= parts.keys():
        found = ", ".join(sorted(parts)) or "nothing"
        raise ValueError(f"{path}: expected the keys data and labels, got {found}.")
    data, labels = parts["data"], np.asarray(parts["labels"])
    shape = getattr(data, "shape", None)
    if not isinstance(data, np.ndarray) or data.dtype != np.uint8 or shape != (records, _PIXELS):
        raise ValueError(
            f"{path}: expected data to be bytes of shape {(records, _PIXELS)}, got {shape}."
        )
    if labels.shape != (records,) or labels.dtype.kind not in "iu":
        raise ValueError(f"{path}: expected {records} integer labels, got {labels.shape}.")
    return data.copy(), _labels(path, labels)


def _labels(path: str | Path, labels: NDArray[Any]) -> NDArray[np.int64]:
    if labels.size and not 0 <= int(labels.min()) <= int(labels.max()) < len(CLASSES):
        worst = int(labels.max()) if int(labels.max()) >= len(CLASSES) else int(labels.min())
        raise ValueError(f"{path}: the file is corrupted: expected labels in [0, 9], got {worst}.")
    return labels.astype(np.int64)


def load_cifar10(directory: str | Path, *, records: int = 10_000) -> Dataset:
    """CIFAR-10 from a folder that has either version, unpacked as published.

    Parameters
    ----------
    directory : str or Path
        The folder with ``cifar-10-batches-bin`` or ``cifar-10-batches-py``, or one of these.
    records : int
        Records in each file.

    Raises
    ------
    ValueError
        If a file is truncated or corrupted.
    FileNotFoundError
        If neither version is there, or one of its files is missing.
    """
    records = _validate.integer("records", records)
    directory = Path(directory)
    for folder in (directory / _BINARY, directory / _PYTHON, directory):
        binary = (folder / "data_batch_1.bin").exists()
        if binary or (folder / "data_batch_1").exists():
            break
    else:
        raise FileNotFoundError(
            f"Expected {directory} to have {_BINARY}/ or {_PYTHON}/, got neither."
        )
    read, suffix = (read_binary_batch, ".bin") if binary else (read_python_batch, "")
    batches = [read(folder / f"data_batch_{i}{suffix}", records=records) for i in range(1, 6)]
    test = read(folder / f"test_batch{suffix}", records=records)
    return Dataset(
        name="cifar-10",
        train_features=np.concatenate([images for images, _ in batches]),
        train_labels=np.concatenate([labels for _, labels in batches]),
        test_features=test[0],
        test_labels=test[1],
        classes=CLASSES,
        value_range=(0.0, 255.0),
        image_shape=_SHAPE,
    )
