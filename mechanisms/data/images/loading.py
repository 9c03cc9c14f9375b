"""Labelled images from folders, files and the objects of other libraries.

Objects of other libraries are used by what they can do, and the libraries are not imported.
"""

from __future__ import annotations

import json
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdpkit import _validate
from rdpkit.formats.numbers import how_many
from rdpkit.mechanisms.data.images.image_set import (
    CLASSES,
    Frame,
    ImageSet,
    bytes_of,
    class_names,
    decoded,
    numbers_of_persons,
    rule_of_files,
)
from rdpkit.mechanisms.data.published import read_images_and_labels

Names = tuple[str, ...] | None
_SUFFIXES = (".png", ".jpg", ".jpeg")
_FEATURES, _LABELS = ("features", "images", "x", "x_train"), ("labels", "label", "y", "y_train")
IMAGE_COLUMNS, LABEL_COLUMNS = ("image", "img", "images"), ("label", "labels", "fine_label")


def of_folder(path: Path, names: Names, frame: Frame, *, person: str | None) -> ImageSet:
    """One folder for each class, in the order of the names."""
    whose, owners = None if person is None else rule_of_files(person), []
    folders = sorted(p.name for p in path.iterdir() if p.is_dir() and not p.name.startswith("."))
    stated = names is not None
    if names is None:
        if not folders:
            raise ValueError(
                f"{path}: expected a folder for each class with PNG or JPEG files, got none."
            )
        names = tuple(folders)
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
    owned = None if whose is None else owners
    return collected(
        path.name, rows, labels, names, frame, where=str(path), stated=stated, owners=owned
    )


def collected(
    name: str,
    rows: Any,  # Bytes of each image, in a list or an array; there may be none
    labels: Any,  # Integers, or names of classes
    names: tuple[str, ...],
    frame: Frame,
    *,
    where: str,  # For errors
    stated: bool,  # Whether somebody stated the names
    owners: Any = None,  # Whose each image is
) -> ImageSet:
    """Images with their labels, and what was taken to be public about them."""
    if isinstance(rows, list):
        rows = np.stack(rows) if rows else np.empty((0, int(np.prod(frame.shape))), np.uint8)
    numbers = numbered(np.asarray(labels), names, where) if len(labels) else np.empty(0, np.int64)
    return ImageSet(
        name=name,
        features=rows,
        labels=numbers,
        classes=names,
        image_shape=frame.shape,
        assumed=(*(() if stated else (CLASSES,)), *frame.assumed()),
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
    names = names or tuple("0123456789")
    return collected(path.name, rows, labels, names, frame, where=str(path), stated=True)


def of_npz(path: Path, names: Names, frame: Frame, *, person: str | None) -> ImageSet:
    """Two arrays. Nothing is unpickled."""
    try:
        try:
            opened = np.load(path, allow_pickle=False)
        except ValueError:
            # What numpy says here is how to unpickle it, which would run what somebody wrote.
            raise ValueError(f"{path}: it is no .npz file.") from None
        with opened as file:
            first = next((key for key in _FEATURES if key in file), None)
            second = next((key for key in _LABELS if key in file), None)
            if first is None or second is None:
                raise ValueError(
                    f"{path}: expected the arrays features and labels, and there are "
                    f"{how_many(len(file.files), 'array')} with other names."
                )
            if person is not None and person not in file:
                raise ValueError(f"{path}: expected person to be one of its arrays.")
            names_of = (first, second, "classes", person)
            try:
                found = [file[key] if key and key in file else None for key in names_of]
            except ValueError:
                raise ValueError(f"{path}: an array is damaged, or holds objects.") from None
    except MemoryError:
        raise ValueError(f"{path}: its arrays claim to be larger than memory.") from None
    except (zipfile.BadZipFile, EOFError) as error:
        raise ValueError(f"{path}: the file is truncated or corrupted ({error}).") from None
    images, labels, listed, owners = found
    stated = names is not None
    if names is None and listed is not None and listed.ndim == 1 and listed.dtype.kind in "US":
        names = tuple(str(name) for name in listed.astype(str))
    return of_arrays(
        path.name, images, labels, names, frame, where=str(path), stated=stated, owners=owners
    )


def of_arrays(
    name: str, images: Any, labels: Any, names: Names, frame: Frame, *,
    where: str, stated: bool, owners: Any = None,
) -> ImageSet:  # fmt: skip
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
    whose = None if owners is None else np.asarray(owners).tolist()
    rows = np.ascontiguousarray(rows)
    return collected(name, rows, numbers, names, frame, where=where, stated=stated, owners=whose)


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
    owned = owners if more else None
    return collected(
        path.stem, rows, labels, names, frame, where=str(path), stated=stated, owners=owned
    )


def _names_in(metadata: Any, label: str) -> Names:
    """Names of classes that the library writes into its files, if it did."""
    try:
        found = json.loads((metadata or {})[b"huggingface"])["info"]["features"][label]["names"]
    except (KeyError, TypeError, ValueError):
        return None
    return tuple(str(name) for name in found) or None


# Images in objects of other libraries, which are used by what they can do and not imported.


def hugging_face(
    source: Any, names: Names, frame: Frame, *,
    columns: tuple[str, str] | None, part: str, person: str | None,
) -> ImageSet:  # fmt: skip
    """A Dataset, or the part of a DatasetDict."""
    if isinstance(source.column_names, dict):
        if part not in source.column_names:
            listed = ", ".join(source.column_names)
            raise ValueError(f"Expected part= to be one of {listed}, got {part!r}.")
        source = source[part]
    found = list(source.column_names)
    wanted = columns or (None, None)
    image = column_of(found, wanted[0], IMAGE_COLUMNS, "image")
    label = column_of(found, wanted[1], LABEL_COLUMNS, "label")
    stated = names
    if names is None:
        given = getattr((getattr(source, "features", None) or {}).get(label), "names", None)
        names = tuple(str(name) for name in given) if given else None
    names = _named(names, "the data set")
    if person is not None:
        column_of(found, person, (), "person")
    rows, labels, owners = [], [], []
    for number in range(len(source)):
        record = source[number]
        owners.append(None if person is None else record[person])
        rows.append(_row(record[image], frame, f"record {number}"))
        labels.append(record[label])
    return collected(
        "Hugging Face data set", rows, labels, names, frame,
        where="the data set", stated=stated is not None,
        owners=None if person is None else owners,
    )  # fmt: skip


def map_style(source: Any, names: Names, frame: Frame) -> ImageSet:
    """A torch Dataset of (image, label): one by one, or its tensors at once."""
    stated = names
    if names is None and getattr(source, "classes", None):
        names = tuple(str(name) for name in source.classes)
    tensors = getattr(source, "tensors", None)
    kind = type(source).__name__
    if tensors is not None and len(tensors) == 2:
        images, labels = (_array(part) for part in tensors)
        return of_arrays(
            kind, images, labels, names, frame, where=f"the {kind}", stated=stated is not None
        )
    names = _named(names, f"the {kind}")
    rows, numbers = [], []
    for number in range(len(source)):
        item = source[number]
        if not isinstance(item, (tuple, list)) or len(item) < 2:
            raise ValueError(f"Expected item {number} of the {kind} to be (image, label).")
        rows.append(_row(item[0], frame, f"item {number}"))
        numbers.append(int(item[1]))
    return collected(
        kind, rows, numbers, names, frame, where=f"the {kind}", stated=stated is not None
    )


def _named(names: Names, where: str) -> tuple[str, ...]:
    if names is None:
        raise ValueError(
            f"Expected classes=, because {where} does not name its classes, and which labels occur "
            "is private."
        )
    return names


def _array(value: Any) -> Any:
    return value.detach().cpu().numpy() if hasattr(value, "detach") else np.asarray(value)


def _row(value: Any, frame: Frame, where: str) -> Any:
    """One image: of Pillow, encoded, a tensor or an array."""
    if isinstance(value, dict):
        value = value.get("bytes")
    if isinstance(value, bytes):
        value = decoded(value, where)
    if hasattr(value, "convert") and hasattr(value, "mode"):
        return frame.row(value, where)
    found = bytes_of(_array(value), where)
    return frame.rows(found[None], where)[0]


# Labelled images from folders, files and the objects of other libraries.

_ACCEPTED = (
    "a folder with a folder of images for each class, a folder of idx files, a .npz or .parquet "
    "file, a torch Dataset, or a Hugging Face Dataset"
)


def load_images(
    source: Any,
    *,
    classes: Any = None,
    image_size: Any = None,
    channels: int | None = None,
    part: str = "train",
    columns: tuple[str, str] | None = None,
    person: tuple[str, int] | None = None,
) -> ImageSet:
    """Labelled images from where they are.

    Assumes
    -------
    The classes, the size of images and their channels are public knowledge. Where they are not
    stated they are read from the data, and ``ImageSet.assumed`` says so. Errors name private
    records; they are for whoever holds the data. The number of images and which classes occur stay
    private: mechanisms are told of them, and account for them.

    Parameters
    ----------
    source : str, Path, or an object
        * a folder with one folder for each class, of PNG and JPEG files (``source/part/`` is taken
          if there is one),
        * a folder of idx files, as MNIST's (``train-images-idx3-ubyte.gz``),
        * a .npz file with the arrays ``features`` and ``labels`` (or ``images``, ``x``, ``y``),
        * a .parquet file, or a folder of them, as the Hugging Face library writes,
        * a torch Dataset with a length, whose items are (image, label), or a TensorDataset,
        * a Hugging Face Dataset.
    classes : int or sequence of str, optional
        Every class that there can be, or how many. Labels are places in this list, or its names.
        Without it, names of folders or those that the source states are taken.
    image_size : int or (int, int), optional
        Height and width. Images of another size are resized. Without it all must have one size.
    channels : {1, 3}, optional
        Grey or colour. Without it, as the first image has it.
    part : str
        Which part of a source that has several: "train" or "test".
    columns : (str, str), optional
        Names of the columns of images and of labels in a Hugging Face Dataset or a .parquet file.
    person : (str, int), optional
        What says whose each image is, and how many images of each person a release uses. It is a
        column of a .parquet file or a Hugging Face Dataset, an array of a .npz file, or, of a
        folder, a CSV file with the columns file and person, or a regular expression with one group,
        each about paths inside of the folder, such as ``cats/smith-03.png``.

    Returns
    -------
    ImageSet

    Raises
    ------
    ValueError
        If the source is of no such kind, or an image or a label cannot be used.
    FileNotFoundError
        If it is a path where nothing is.
    ImportError
        If a library that decodes it (Pillow, pyarrow) is not installed.
    """
    found = _loaded(
        source, class_names(classes), Frame(image_size, channels),
        part=part, columns=columns, person=None if person is None else person[0],
    )  # fmt: skip
    if person is None:
        return found
    if found.persons is None:
        raise _validate.fail("person", "to be None where nothing says whose images are", person)
    return replace(found, most_per_person=int(_validate.integer("most images", person[1])))


def _loaded(
    source: Any, names: Names, frame: Frame, *,
    part: str, columns: tuple[str, str] | None, person: str | None,
) -> ImageSet:  # fmt: skip
    if not isinstance(source, (str, Path)):
        has_items = hasattr(source, "__getitem__")
        if has_items and hasattr(source, "column_names"):
            return hugging_face(source, names, frame, columns=columns, part=part, person=person)
        if has_items and hasattr(source, "__len__"):
            return map_style(source, names, frame)
        raise _validate.fail("source", f"to be {_ACCEPTED}", type(source).__name__)
    path = Path(source)
    if not path.exists():
        raise FileNotFoundError(f"Expected {_ACCEPTED}, and {path} is not there.")
    if path.is_file():
        if path.suffix == ".npz":
            return of_npz(path, names, frame, person=person)
        if path.suffix == ".parquet":
            return of_parquet(path, [path], names, frame, columns=columns, person=person)
        raise _validate.fail("source", f"to be {_ACCEPTED}", str(path))
    if idx_files(path, part) is not None:
        return of_idx(path, part, names, frame)
    parquet = sorted(path.glob(f"{part}*.parquet")) or sorted(path.glob("*.parquet"))
    if parquet:
        return of_parquet(path, parquet, names, frame, columns=columns, person=person)
    folder = path / part if (path / part).is_dir() else path
    return of_folder(folder, names, frame, person=person)
