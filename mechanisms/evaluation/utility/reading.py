"""Releases and real records from wherever they are: files, frames, arrays, data sets by name."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdpkit import _validate
from rdpkit.mechanisms.data.published import DATASETS, load_dataset
from rdpkit.mechanisms.data.tables.files import FORMATS, read
from rdpkit.mechanisms.data.tables.schema import Schema
from rdpkit.mechanisms.evaluation.utility.samples import Image
from rdpkit.mechanisms.releases.files import FileRelease
from rdpkit.mechanisms.releases.manifest import Manifest, load_manifest
from rdpkit.mechanisms.releases.release import Release, check_arrays, load_release

TABLES = tuple(FORMATS)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Opened:
    """Records as they were found."""

    name: str  # What they are called in the report: the name of a file or of a data set
    table: Any = None  # The records, if they are a table
    arrays: tuple[NDArray[Any], NDArray[Any]] | None = None
    """Features and labels, if they are arrays."""
    image: Image | None = None  # Channels, height and width of the features
    test: Opened | None = None  # Test records that a data set has of its own
    manifest: Manifest | None = None  # Of a release


def open_release(
    # ``X.npz``, ``X.safetensors`` or ``X.json`` of a release with arrays; a table in a file, with
    # the manifest beside it; a :class:`rdpkit.mechanisms.Release`; or a frame.
    source: Any,
    schema: Schema | None = None,
) -> Opened:
    """The records of a release and its manifest, if it has one."""
    if isinstance(source, Release):
        return _of_release(source, "the release")
    if isinstance(source, FileRelease):
        source = source.path
    if not isinstance(source, str | Path):
        return Opened(name="the release", table=_frame(source, schema))
    path = Path(source)
    beside = path.with_suffix(".json")
    if not beside.exists():
        if path.suffix == ".json":
            raise FileNotFoundError(f"Expected {path} to be a manifest: there is no such file.")
        return open_records(path, schema=schema)
    manifest = load_manifest(beside)
    if manifest.arrays:
        return _of_release(load_release(path), path.name)
    return _of_file(path, manifest, schema)


def _of_file(path: Path, manifest: Manifest, schema: Schema | None) -> Opened:
    """A table and the manifest beside it, which has to describe it."""
    beside = path.with_suffix(".json")
    if path == beside:
        if len(manifest.files) != 1:
            raise ValueError(f"{path}: expected a manifest that describes one file of records.")
        path = path.with_name(next(iter(manifest.files)))
    if path.name not in manifest.files:
        raise ValueError(
            f"{beside} is no manifest of {path.name}: it describes "
            f"{', '.join(manifest.files) or 'no file'}."
        )
    found = check_arrays(beside)
    if found:
        raise ValueError(f"{path}: " + "; ".join(found))
    opened = open_records(path, schema=schema or schema_of(manifest))
    return Opened(name=path.name, table=opened.table, manifest=manifest)


def schema_of(manifest: Manifest | None) -> Schema | None:
    """The schema of a table that a manifest holds, if it does."""
    if manifest is None or manifest.schema is None:
        return None
    return Schema.from_table(manifest.schema, where="the manifest's schema")


def open_records(
    # A table or arrays in a file, a folder of images, the name of a data set (:data:`DATASETS`), or
    # a frame.
    source: Any,
    directory: str | Path | None = None,  # The data directory, for data sets by name
    *,
    # What is known of the columns; then cells of CSV files are read as it says.
    schema: Schema | None = None,
    # Of a release of images, whose classes, in their order, and whose size images are read with.
    like: Manifest | None = None,
) -> Opened:
    """Real records."""
    if not isinstance(source, (str, Path)):
        return Opened(name="a table", table=_frame(source, schema))
    if str(source) in DATASETS:
        return _of_dataset(str(source), directory)
    path = Path(source)
    if path.is_dir():
        return _of_folder(path, like)
    if path.suffix in TABLES:
        return Opened(name=path.name, table=read(path, schema=schema))
    if path.suffix == ".npz":
        return _of_npz(path)
    accepted = ", ".join((*TABLES, ".npz", "a folder of images", *DATASETS))
    raise _validate.fail("records", f"to be a file or a data set, one of {accepted}", str(source))


def _frame(source: Any, schema: Schema | None) -> Any:
    """A frame as an arrow table."""
    try:
        return read(source, schema=schema)
    except ValueError:
        raise _validate.fail("records", "to be a file, a frame or an arrow table", source) from None


def _of_release(made: Release, name: str) -> Opened:
    features = np.asarray(made.features)
    stated = made.manifest.parameters.get("image_shape")
    image = tuple(stated) if isinstance(stated, list) and len(stated) == 3 else None
    return Opened(
        name=name,
        arrays=(features, np.asarray(made.labels)),
        image=image if fits(image, features) else image_shape(features),
        manifest=made.manifest,
    )


def _of_dataset(name: str, directory: str | Path | None) -> Opened:
    data = load_dataset(name, directory)

    def part(which: str, features: NDArray[Any], labels: NDArray[Any], **more: Any) -> Opened:
        return Opened(
            name=f"{name} ({which})", arrays=(features, labels), image=data.image_shape, **more
        )

    test = part("test", data.test_features, data.test_labels)
    return part("train", data.train_features, data.train_labels, test=test)


def _of_folder(path: Path, like: Manifest | None) -> Opened:
    """Images of a folder, with a folder for each class or files as MNIST has them."""
    from rdpkit.mechanisms.data.images import ImageSet, load_images  # noqa: PLC0415

    def part(name: str, found: ImageSet, test: Opened | None = None) -> Opened:
        arrays = found.features, found.labels
        return Opened(name=name, arrays=arrays, image=found.image_shape, test=test)

    stated = {} if like is None else like.parameters
    channels, *size = stated.get("image_shape") or (None,)
    train = load_images(
        path, classes=stated.get("class_names"), channels=channels, image_size=tuple(size) or None
    )
    test = None
    if (path / "test").is_dir():
        channels, *size = train.image_shape
        found = load_images(
            path, part="test", classes=train.classes, image_size=tuple(size), channels=channels
        )
        test = part(f"{path.name} (test)", found)
    return part(path.name, train, test)


def _of_npz(path: Path) -> Opened:
    try:
        with np.load(path, allow_pickle=False) as file:
            lacking = {"features", "labels"} - set(file.files)
            if lacking:
                raise ValueError(f"it has no array {min(lacking)!r}.")
            features, labels = file["features"], file["labels"]
    except MemoryError:
        raise ValueError(f"{path}: its arrays claim to be larger than memory.") from None
    except ValueError as error:
        raise ValueError(f"{path}: expected the arrays features and labels: {error}") from None
    if len(features) != len(labels) or not len(features):
        raise ValueError(f"{path}: expected as many labels as features, and at least one.")
    return Opened(name=path.name, arrays=(features, labels), image=image_shape(features))


def image_shape(features: NDArray[Any]) -> Image | None:
    """Channels, height and width, if the axes of an array say so."""
    if features.ndim == 4:
        channels, height, width = features.shape[1:]
        return int(channels), int(height), int(width)
    if features.ndim == 3:
        return 1, int(features.shape[1]), int(features.shape[2])
    return None


def fits(image: Image | None, features: NDArray[Any]) -> bool:
    """Whether records have as many numbers as an image."""
    return image is not None and math.prod(image) == math.prod(features.shape[1:])
