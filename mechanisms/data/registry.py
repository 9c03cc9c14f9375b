"""Data sets by name, from the user's data directory."""

from __future__ import annotations

import os
from pathlib import Path

from rdpkit import _validate
from rdpkit.mechanisms.data.celeba import load_celeba
from rdpkit.mechanisms.data.cifar10 import load_cifar10
from rdpkit.mechanisms.data.dataset import Dataset
from rdpkit.mechanisms.data.digits import load_digits
from rdpkit.mechanisms.data.download import SOURCES, download
from rdpkit.mechanisms.data.idx import read_images_and_labels

DIRECTORY_VARIABLE = "RDPKIT_DATA_DIR"
_IDX_CLASSES = {
    "mnist": tuple("0123456789"),
    "fashion-mnist": (
        "T-shirt/top", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker",
        "bag", "ankle boot",
    ),
}  # fmt: skip
DATASETS = ("digits", "mnist", "fashion-mnist", "cifar-10", "celeba")
"""Names of the data sets that :func:`load_dataset` knows."""


def load_dataset(
    # Which one; "digits" is embedded in scikit-learn and needs no files; one of {"digits", "mnist",
    # "fashion-mnist", "cifar-10", "celeba"}
    name: str,
    # The data directory, with one folder for each data set, such as
    # ``DIRECTORY/mnist/train-images-idx3-ubyte.gz``. By default the environment variable
    # ``RDPKIT_DATA_DIR`` names it.
    directory: str | Path | None = None,
    *,
    # Whether files that are missing may be downloaded into the directory (checksummed; needs pooch
    # and a network).
    fetch: bool = False,
) -> Dataset:
    """Load a data set by name."""
    _validate.choice("data set", name, DATASETS)
    if name == "digits":
        return load_digits()
    folder = _folder(name, directory)
    if fetch and name in SOURCES:
        download(name, folder.parent)
    if not folder.is_dir():
        fetchable = " load_dataset with fetch=True downloads it." if name in SOURCES else ""
        raise FileNotFoundError(
            f"Expected the data set {name!r} in {folder}, which is no folder.{fetchable}"
        )
    if name == "cifar-10":
        return load_cifar10(folder)
    if name == "celeba":
        return load_celeba(folder)
    return _idx(name, folder)


def _folder(name: str, directory: str | Path | None) -> Path:
    given = directory if directory is not None else os.environ.get(DIRECTORY_VARIABLE)
    if not given:
        raise ValueError(
            f"Expected a data directory for {name!r}: give one, or set {DIRECTORY_VARIABLE} (or "
            f"--data-dir) to a folder that has a folder {name!r} with the files of the data set."
        )
    return Path(given) / name


def _idx(name: str, folder: Path) -> Dataset:
    train, labels, shape = read_images_and_labels(
        _one_of(folder, "train-images-idx3-ubyte"), _one_of(folder, "train-labels-idx1-ubyte")
    )
    test, test_labels, _ = read_images_and_labels(
        _one_of(folder, "t10k-images-idx3-ubyte"), _one_of(folder, "t10k-labels-idx1-ubyte")
    )
    return Dataset(
        name=name,
        train_features=train,
        train_labels=labels,
        test_features=test,
        test_labels=test_labels,
        classes=_IDX_CLASSES[name],
        value_range=(0.0, 255.0),
        image_shape=shape,
    )


def _one_of(folder: Path, name: str) -> Path:
    for path in (folder / f"{name}.gz", folder / name):
        if path.exists():
            return path
    raise FileNotFoundError(f"Expected {folder} to have {name}.gz or {name}, got neither.")
