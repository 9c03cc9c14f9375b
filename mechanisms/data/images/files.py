"""Images in files: folders of classes, idx files, NPZ, Parquet."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdpkit.formats.numbers import how_many
from rdpkit.mechanisms.data.idx import read_images_and_labels
from rdpkit.mechanisms.data.images.image_set import CLASSES, ImageSet
from rdpkit.mechanisms.data.images.persons import numbers_of_persons, rule_of_files
from rdpkit.mechanisms.data.images.pixels import Frame, decoded

Names = tuple[str, ...] | None
_SUFFIXES = (".png", ".jpg", ".jpeg")
_FEATURES, _LABELS = ("features", "images", "x", "x_train"), ("labels", "label", "y", "y_train")
IMAGE_COLUMNS, LABEL_COLUMNS = ("image", "img", "images"), ("label", "labels", "fine_label")


def of_folder(path: Path, names: Names, frame: Frame, *, person: str | None) -> ImageSet:
    """One folder for each class, in the order of the names."""
    whose, owners = None if person is None else rule_of_files(person), []
    folders = sorted(p.name for p in path.iterdir() if p.is_dir() and not p.name.startswith("."))
    assumed: tuple[str, ...] = ()
    if names is None:
        if not folders:
            raise ValueError(
                f"{path}: expected a folder for each class with PNG or JPEG files, got none."
            )
        names, assumed = tuple(folders), (CLASSES,)
    if extra := set(folders) - set(names):
        raise ValueError(
            f"{path}: expected classes to name every folder; "
            f"{how_many(len(extra), 'folder')} of {len(folders)} have other names."
        )
    rows: list[NDArray[np.uint8]] = []
    labels: list[int] = []
    for number, name in enumerate(names):
        folder = path / name
        for file in sorted(folder.rglob("*")) if folder.is_dir() else ():
            if file.is_dir() or file.name.startswith("."):
                continue
            where = f"{path}, file {len(rows) + 1} in the order of the classes and of their names"
            if file.suffix.lower() not in _SUFFIXES:
                raise ValueError(f"{where}: expected PNG and JPEG files ({', '.join(_SUFFIXES)}).")
            rows.append(frame.row(decoded(file, where), where))
            labels.append(number)
            if whose is not None:
                owners.append(whose(file.relative_to(path).as_posix()))
                if not (owners[-1] or "").strip():
                    raise ValueError(f"{where}: expected person to say whose it is.")
    return collected(
        path.name,
        rows=rows,
        labels=labels,
        names=names,
        frame=frame,
        assumed=assumed,
        owners=None if whose is None else owners,
    )


def collected(
    name: str,
    *,
    rows: list[NDArray[np.uint8]],
    labels: Any,
    names: tuple[str, ...],
    frame: Frame,
    assumed: tuple[str, ...],
    owners: Any = None,
) -> ImageSet:
    """The images of a list, of which there may be none."""
    width = int(np.prod(frame.shape))
    return ImageSet(
        name=name,
        features=np.stack(rows) if rows else np.empty((0, width), np.uint8),
        labels=np.asarray(labels, np.int64).reshape(len(rows)),
        classes=names,
        image_shape=frame.shape,
        assumed=(*assumed, *frame.assumed()),
        persons=None if owners is None else numbers_of_persons(owners),
    )


def idx_files(path: Path, part: str) -> tuple[Path, Path] | None:
    """The files of images and of labels, if the folder is one of idx files."""
    prefix = "t10k" if part == "test" else part
    for end in (".gz", ""):
        pair = (
            path / f"{prefix}-images-idx3-ubyte{end}",
            path / f"{prefix}-labels-idx1-ubyte{end}",
        )
        if all(file.exists() for file in pair):
            return pair
    return None


def of_idx(path: Path, part: str, names: Names, frame: Frame) -> ImageSet:
    """MNIST's format; without names there are ten classes, as there are in all published sets."""
    pair = idx_files(path, part)
    assert pair is not None
    features, labels, shape = read_images_and_labels(*pair)
    rows = frame.rows(features.reshape(len(features), *shape), str(pair[0]))
    return ImageSet(
        name=path.name,
        features=rows,
        labels=labels,
        classes=names or tuple("0123456789"),
        image_shape=frame.shape,
        assumed=frame.assumed(),
    )


def of_npz(path: Path, names: Names, frame: Frame, *, person: str | None) -> ImageSet:
    """Two arrays. Nothing is unpickled."""
    try:
        with np.load(path, allow_pickle=False) as file:
            first = next((key for key in _FEATURES if key in file), None)
            second = next((key for key in _LABELS if key in file), None)
            if first is None or second is None:
                raise ValueError(
                    f"{path}: expected the arrays features and labels, and there are "
                    f"{how_many(len(file.files), 'array')} with other names."
                )
            images, labels = file[first], file[second]
            listed = file.get("classes", None)
            if person is not None and person not in file:
                raise ValueError(f"{path}: expected person to be one of its arrays.")
            owners = None if person is None else file[person]
    except MemoryError:
        raise ValueError(f"{path}: its arrays claim to be larger than memory.") from None
    except (zipfile.BadZipFile, EOFError) as error:
        raise ValueError(f"{path}: the file is truncated or corrupted ({error}).") from None
    return of_arrays(
        path.name,
        where=str(path),
        images=images,
        labels=labels,
        names=names or _strings(listed),
        frame=frame,
        stated=names is not None,
        owners=owners,
    )


def _strings(listed: Any) -> Names:
    if listed is None or listed.ndim != 1 or listed.dtype.kind not in "US":
        return None
    return tuple(str(name) for name in listed.astype(str))


def of_arrays(
    name: str,
    *,
    where: str,
    images: Any,
    labels: Any,
    names: Names,
    frame: Frame,
    stated: bool,
    owners: Any = None,
) -> ImageSet:
    """Images and labels that are arrays already."""
    rows = frame.rows(images, where)
    if names is None:
        raise ValueError(
            f"{where}: expected classes= (--classes), names or how many there are: which labels "
            "occur in the data is private."
        )
    numbers = numbered(np.asarray(labels), names, where)
    if numbers.shape != (len(rows),):
        raise ValueError(f"{where}: expected {len(rows)} labels, got shape {numbers.shape}.")
    if owners is not None and np.shape(owners) != (len(rows),):
        raise ValueError(f"{where}: expected person to have one entry for each image.")
    assumed = () if stated else (CLASSES,)
    return ImageSet(
        name=name,
        features=np.ascontiguousarray(rows),
        labels=numbers,
        classes=names,
        image_shape=frame.shape,
        assumed=(*assumed, *frame.assumed()),
        persons=None if owners is None else numbers_of_persons(np.asarray(owners).tolist()),
    )


def numbered(labels: NDArray[Any], names: tuple[str, ...], where: str) -> NDArray[np.int64]:
    """Labels as places in the list of names: integers, or names."""
    labels = labels.reshape(len(labels)) if labels.ndim == 2 and labels.shape[1] == 1 else labels
    if labels.dtype.kind in "iu":
        return labels.astype(np.int64)
    places = {name: number for number, name in enumerate(names)}
    found = [places.get(str(label), -1) for label in labels.tolist()]
    if -1 in found:
        raise ValueError(
            f"{where}: expected labels to be integers, or names of the "
            f"{how_many(len(names), 'class', 'classes')}; {how_many(found.count(-1), 'label')} of "
            f"{len(found)} have other names."
        )
    return np.array(found, np.int64)


def column_of(columns: list[str], wanted: str | None, usual: tuple[str, ...], kind: str) -> str:
    """The column that the user names, or the first of the usual names."""
    for name in (wanted,) if wanted is not None else usual:
        if name in columns:
            return name
    raise ValueError(
        f"Expected a column of {kind}s, {wanted or ' or '.join(usual)}, among "
        f"{', '.join(columns)}: columns=(image, label) (--columns) names both."
    )


def of_parquet(
    path: Path, parts: list[Path], names: Names, frame: Frame, *,
    columns: tuple[str, str] | None, person: str | None,
) -> ImageSet:  # fmt: skip
    """Files as the Hugging Face library writes them: encoded images with their labels."""
    from pyarrow import parquet  # noqa: PLC0415 - only this kind of file needs it

    wanted = columns or (None, None)
    stated = names is not None
    rows: list[NDArray[np.uint8]] = []
    labels: list[Any] = []
    owners: list[Any] = []
    more = [] if person is None else [person]
    for file in parts:
        schema = parquet.read_schema(file)
        image = column_of(schema.names, wanted[0], IMAGE_COLUMNS, "image")
        label = column_of(schema.names, wanted[1], LABEL_COLUMNS, "label")
        names = names or _names_in(schema.metadata, label)
        if more:
            column_of(schema.names, person, (), "person")
        for batch in parquet.ParquetFile(file).iter_batches(256, columns=[image, label, *more]):
            labels += batch.column(label).to_pylist()
            owners += batch.column(person).to_pylist() if more else []
            for value in batch.column(image).to_pylist():
                where = f"{file}: row {len(rows) + 1}"
                content = value.get("bytes") if isinstance(value, dict) else value
                if not isinstance(content, bytes):
                    raise ValueError(f"{where}: expected the bytes of an image, got none.")
                rows.append(frame.row(decoded(content, where), where))
    if names is None:
        raise ValueError(f"{path}: expected classes= (--classes): names, or how many there are.")
    assumed = () if stated else (CLASSES,)
    numbers = numbered(np.array(labels), names, str(path)) if labels else labels
    return collected(
        path.stem, rows=rows, labels=numbers, names=names, frame=frame, assumed=assumed,
        owners=owners if more else None,
    )  # fmt: skip


def _names_in(metadata: Any, label: str) -> Names:
    """Names of classes that the library writes into its files, if it did."""
    try:
        found = json.loads((metadata or {})[b"huggingface"])["info"]["features"][label]["names"]
    except (KeyError, TypeError, ValueError):
        return None
    return tuple(str(name) for name in found) or None
