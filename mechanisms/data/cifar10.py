"""CIFAR-10, in its binary version."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rdpkit import _validate
from rdpkit.mechanisms.data.dataset import Dataset

CLASSES = (
    "airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck",
)  # fmt: skip
_SHAPE = (3, 32, 32)
_PIXELS = 3 * 32 * 32
_FOLDER = "cifar-10-batches-bin"
Batch = tuple[NDArray[np.uint8], NDArray[np.int64]]


def read_binary_batch(
    path: str | Path,  # For example ``data_batch_1.bin``
    *,
    records: int = 10_000,  # Records that the file must have; the published files have 10,000
) -> Batch:  # Images of shape (n, 3072), red, green, blue, row by row; labels of shape (n,)
    """Read one file of the binary version: for each record its label and 3072 bytes."""
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


def _labels(path: str | Path, labels: NDArray[np.uint8]) -> NDArray[np.int64]:
    if labels.size and int(labels.max()) >= len(CLASSES):
        raise ValueError(
            f"{path}: the file is corrupted: expected labels in [0, 9], got {int(labels.max())}."
        )
    return labels.astype(np.int64)


def load_cifar10(
    directory: str | Path,  # The folder with ``cifar-10-batches-bin``, or this one itself
    *,
    records: int = 10_000,  # Records in each file
) -> Dataset:
    """CIFAR-10 from a folder that has the binary version, unpacked as published."""
    records = _validate.integer("records", records)
    directory = Path(directory)
    folder = directory / _FOLDER if (directory / _FOLDER).is_dir() else directory
    if not (folder / "data_batch_1.bin").exists():
        raise FileNotFoundError(
            f"Expected {directory} to have {_FOLDER}/, which cifar-10-binary.tar.gz contains."
        )
    batches = [
        read_binary_batch(folder / f"data_batch_{i}.bin", records=records) for i in range(1, 6)
    ]
    test = read_binary_batch(folder / "test_batch.bin", records=records)
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
