"""Published data sets by name, from the user's data directory, and how their files are read."""

from __future__ import annotations

import gzip
import io
import math
import os
import tarfile
import zlib
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdpkit import _validate
from rdpkit.mechanisms.data.dataset import Dataset

_TYPES = {0x08: ">u1", 0x09: ">i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
_GZIP = b"\x1f\x8b"
# The number of dimensions is one byte, and each dimension takes four.
_LONGEST_HEADER = 4 + 4 * 255
_PIECE = 1 << 20  # Bytes that are decompressed at once


def read_idx(
    # The file. It is decompressed if it begins as gzip files do, whatever its name is, and never
    # further than its header says that it is long.
    path: str | Path,
) -> NDArray[Any]:  # Of the file's own type and shape, in the machine's byte order
    """Read one IDX file whole.

    Source
    ------
    The format is described with the MNIST database (LeCun, Cortes and Burges): two zero bytes, the
    type, the number of dimensions, each dimension as a big-endian 32-bit integer, the values.
    """
    path = Path(path)
    content = path.read_bytes()
    compressed = content[:2] == _GZIP
    # A compressed header is read by itself first, because a small file can decompress to gigabytes.
    start = _decompressed(path, content, _LONGEST_HEADER) if compressed else content
    if len(start) < 4 or start[:2] != b"\0\0" or start[2] not in _TYPES or start[3] == 0:
        raise ValueError(
            f"{path}: expected an IDX file (two zero bytes, a type, a number of dimensions), "
            f"got the bytes {start[:4].hex(' ') or 'of an empty file'}."
        )
    kind, dimensions = np.dtype(_TYPES[start[2]]), start[3]
    header = 4 + 4 * dimensions
    if len(start) < header:
        raise ValueError(f"{path}: the file is truncated within its header.")
    shape = tuple(int(n) for n in np.frombuffer(start, ">u4", count=dimensions, offset=4))
    expected = math.prod(shape) * kind.itemsize
    if compressed:
        content = _decompressed(path, content, header + expected + 1)
    found = len(content) - header
    if found != expected:
        problem = "truncated" if found < expected else "too long"
        count = f"at least {found}" if compressed and found > expected else str(found)
        raise ValueError(
            f"{path}: the file is {problem}: its header announces {expected} bytes of data of "
            f"shape {shape}, and it has {count}."
        )
    values = np.frombuffer(content, kind, offset=header).reshape(shape)
    return values.astype(kind.newbyteorder("="))


def _decompressed(path: Path, content: bytes, most: int) -> bytes:
    """At most the first ``most`` bytes of what a gzip file holds."""
    found = bytearray()
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
            # One read of all bytes would reserve memory for as many as the header promises.
            while piece := file.read(min(_PIECE, most - len(found))):
                found += piece
    except EOFError:
        raise ValueError(f"{path}: the file is truncated (its gzip stream ends early).") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"{path}: the file is corrupted ({error}).") from None
    return bytes(found)


def read_images_and_labels(
    images: str | Path, labels: str | Path
) -> tuple[NDArray[np.uint8], NDArray[np.int64], tuple[int, int, int]]:
    """Read a pair of IDX files: images of bytes and their labels.

    Returns images of shape (n, height * width), labels of shape (n,), and (1, height, width).
    """
    pixels, names = read_idx(images), read_idx(labels)
    if pixels.dtype != np.uint8 or pixels.ndim != 3:
        raise ValueError(
            f"{images}: expected images (bytes in 3 dimensions), "
            f"got {pixels.dtype} in {pixels.ndim}."
        )
    if names.dtype != np.uint8 or names.ndim != 1:
        raise ValueError(
            f"{labels}: expected labels (bytes in 1 dimension), got {names.dtype} in {names.ndim}."
        )
    if len(pixels) != len(names):
        raise ValueError(f"{labels}: expected {len(pixels)} labels, as images, got {len(names)}.")
    count, height, width = pixels.shape
    return pixels.reshape(count, -1), names.astype(np.int64), (1, height, width)


# CelebA: a folder of face images with the published lists of attributes and parts.

_ATTRIBUTES, _PARTS, _IMAGES = "list_attr_celeba.txt", "list_eval_partition.txt", "img_align_celeba"
_TRAIN, _TEST = 0, 2


def load_celeba(
    # The folder with ``img_align_celeba/``, ``list_attr_celeba.txt`` and
    # ``list_eval_partition.txt``, as published.
    directory: str | Path,
    *,
    # The attribute that is the label: class 0 does not have it, class 1 has it.
    attribute: str = "Male",
    side: int = 32,  # Images become ``side`` x ``side`` pixels; faces are squeezed, none is cropped
    # Called with the number of images read and of all images.
    progress: Callable[[int, int], None] | None = None,
) -> Dataset:
    """CelebA's training and test parts, resized, labelled by one attribute.

    The validation part is left out, so that it may be used for choices that cost no privacy.
    """
    directory = Path(directory)
    _validate.integer("side", side)
    labels = _attribute(directory / _ATTRIBUTES, attribute)
    parts = _partition(directory / _PARTS, labels)
    chosen = {part: [n for n, p in parts.items() if p == part] for part in (_TRAIN, _TEST)}
    total, before = sum(map(len, chosen.values())), 0
    images: dict[int, NDArray[np.uint8]] = {}
    for part, names in chosen.items():
        if not names:
            kind = "training" if part == _TRAIN else "test"
            raise ValueError(f"{directory / _PARTS}: expected {kind} images, got none.")
        images[part] = np.empty((len(names), 3 * side * side), np.uint8)
        for row, name in enumerate(names):
            images[part][row] = _image(directory / _IMAGES / name, side)
            if progress is not None:
                progress(before + row + 1, total)
        before += len(names)
    return Dataset(
        name="celeba",
        train_features=images[_TRAIN],
        train_labels=np.array([labels[name] for name in chosen[_TRAIN]], np.int64),
        test_features=images[_TEST],
        test_labels=np.array([labels[name] for name in chosen[_TEST]], np.int64),
        classes=(f"not {attribute}", attribute),
        value_range=(0.0, 255.0),
        image_shape=(3, side, side),
    )


def _attribute(path: Path, attribute: str) -> dict[str, int]:
    lines = path.read_text(encoding="utf-8").splitlines()
    if len(lines) < 2 or not lines[0].strip().isdigit():
        raise ValueError(f"{path}: expected a number of images and a line of attributes.")
    names = lines[1].split()
    column = names.index(_validate.choice("attribute", attribute, names))
    labels: dict[str, int] = {}
    for number, line in enumerate(lines[2:], start=3):
        fields = line.split()
        if len(fields) != len(names) + 1 or fields[column + 1] not in ("1", "-1"):
            raise ValueError(
                f"{path}: line {number}: expected a file name and {len(names)} values of 1 or -1, "
                f"got {line[:80]!r}."
            )
        labels[fields[0]] = int(fields[column + 1] == "1")
    if len(labels) != int(lines[0]):
        raise ValueError(
            f"{path}: the file is truncated: expected {int(lines[0])} images, got {len(labels)}."
        )
    return labels


def _partition(path: Path, labels: dict[str, int]) -> dict[str, int]:
    parts: dict[str, int] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        fields = line.split()
        if len(fields) != 2 or fields[1] not in ("0", "1", "2") or fields[0] not in labels:
            raise ValueError(
                f"{path}: line {number}: expected a file name of the list of attributes and "
                f"0, 1 or 2, got {line[:80]!r}."
            )
        parts[fields[0]] = int(fields[1])
    if len(parts) != len(labels):
        raise ValueError(
            f"{path}: the file is truncated: expected {len(labels)} images, got {len(parts)}."
        )
    return parts


def _image(path: Path, side: int) -> NDArray[np.uint8]:
    from PIL import Image, UnidentifiedImageError  # noqa: PLC0415  (only this loader needs Pillow)

    # The name comes from a file and must not lead out of the folder.
    if path.name in ("", ".", "..") or path.parent.name != _IMAGES:
        raise ValueError(f"{path}: expected the name of a file in {_IMAGES}/.")
    try:
        with Image.open(path) as image:
            small = image.convert("RGB").resize((side, side), Image.Resampling.BILINEAR)
    except FileNotFoundError:
        raise
    except (UnidentifiedImageError, OSError, SyntaxError) as error:
        raise ValueError(f"{path}: the image is truncated or corrupted ({error}).") from None
    flat: NDArray[np.uint8] = np.asarray(small, np.uint8).transpose(2, 0, 1).reshape(-1)
    return flat


# CIFAR-10, in its binary version.

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
    labels = rows[:, 0]
    if labels.size and int(labels.max()) >= len(CLASSES):
        raise ValueError(
            f"{path}: the file is corrupted: expected labels in [0, 9], got {int(labels.max())}."
        )
    return rows[:, 1:].copy(), labels.astype(np.int64)


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


# The handwritten digits that come with scikit-learn: a small data set that needs no files.

_EVERY = 5  # One record in so many is a test record


def load_digits() -> Dataset:  # 1,437 training and 360 test records
    """1,797 digits of 8 x 8 pixels with values 0 to 16; every fifth record is a test record.

    Source
    ------
    Alpaydin and Kaynak, Optical Recognition of Handwritten Digits (1998), as scikit-learn has it.
    """
    # scikit-learn takes a second to import; loaders of other data sets do not need it.
    from sklearn.datasets import load_digits as load  # noqa: PLC0415

    features, labels = load(return_X_y=True)
    pixels = features.astype(np.uint8)
    test = np.arange(len(labels)) % _EVERY == 0
    return Dataset(
        name="digits",
        train_features=pixels[~test],
        train_labels=labels[~test],
        test_features=pixels[test],
        test_labels=labels[test],
        classes=tuple("0123456789"),
        value_range=(0.0, 16.0),
        image_shape=(1, 8, 8),
    )


# Download of published data sets, with checksums, when the user asks for it.

# The MD5 sums that the authors publish, of the compressed files.
_MNIST = {
    "train-images-idx3-ubyte.gz": "f68b3c2dcbeaaa9fbdd348bbdeb94873",
    "train-labels-idx1-ubyte.gz": "d53e105ee54ea40749a09fcbcd1e9432",
    "t10k-images-idx3-ubyte.gz": "9fb629c4189551a2d022fa330f9573f3",
    "t10k-labels-idx1-ubyte.gz": "ec29112dd5afa0611ce80d1b7f02629c",
}
_FASHION = {
    "train-images-idx3-ubyte.gz": "8d4fb7e6c68d591d4c3dfef9ec88bf0d",
    "train-labels-idx1-ubyte.gz": "25c81989df183df01b3e8a0aad5dffbe",
    "t10k-images-idx3-ubyte.gz": "bef4ecab320f06d8554ea6380940ec79",
    "t10k-labels-idx1-ubyte.gz": "bb300cfdad3c16e7a12a480ee83cd310",
}
SOURCES = {
    "mnist": ("https://ossci-datasets.s3.amazonaws.com/mnist/", _MNIST),
    "fashion-mnist": ("http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/", _FASHION),
    "cifar-10": (
        "https://www.cs.toronto.edu/~kriz/",
        {"cifar-10-binary.tar.gz": "c32a1d4ab5d03f1284b67883e8d87530"},
    ),
}
"""Where a data set is published, and the MD5 sum of each of its files."""


def download(
    name: str,  # A key of :data:`SOURCES`
    directory: str | Path,  # The data directory; the files come to ``directory / name``
) -> Path:  # ``directory / name``
    """Download a data set's published files; files that exist already are kept."""
    base, files = SOURCES[_validate.choice("data set", name, SOURCES)]
    try:
        pooch: Any = import_module("pooch")  # imported only where something is downloaded
    except ImportError:
        raise ImportError(
            "Downloading needs the package pooch: install it, or put the files into "
            f"{Path(directory) / name} yourself."
        ) from None
    folder = Path(directory) / name
    for file, checksum in files.items():
        if (folder / file).exists():
            continue
        try:
            known = f"md5:{checksum}"
            got = pooch.retrieve(base + file, known_hash=known, fname=file, path=folder)
        except OSError as error:
            raise OSError(f"{name}: {base + file} could not be downloaded: {error}.") from None
        if file.endswith(".tar.gz"):
            with tarfile.open(got) as archive:
                # "data" refuses members that would land outside of the folder.
                archive.extractall(folder, filter="data")
    return folder


# Data sets by name, from the user's data directory.

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
    (train, labels, shape), (test, test_labels, _) = (
        read_images_and_labels(
            _one_of(folder, f"{part}-images-idx3-ubyte"),
            _one_of(folder, f"{part}-labels-idx1-ubyte"),
        )
        for part in ("train", "t10k")
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
