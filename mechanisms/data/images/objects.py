"""Images in objects of other libraries, which are used by what they can do and not imported."""

from __future__ import annotations

from typing import Any

import numpy as np

from rdpkit.mechanisms.data.images.files import (
    IMAGE_COLUMNS,
    LABEL_COLUMNS,
    Names,
    collected,
    column_of,
    numbered,
    of_arrays,
)
from rdpkit.mechanisms.data.images.image_set import CLASSES, ImageSet
from rdpkit.mechanisms.data.images.pixels import Frame, bytes_of, decoded


def is_hugging_face(source: Any) -> bool:
    """Whether it has named columns, or is a mapping of parts that have them."""
    return hasattr(source, "column_names") and hasattr(source, "__getitem__")


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
    numbers = numbered(np.array(labels), names, "the data set") if labels else labels
    assumed = () if stated else (CLASSES,)
    return collected(
        "Hugging Face data set",
        rows=rows,
        labels=numbers,
        names=names,
        frame=frame,
        assumed=assumed,
        owners=None if person is None else owners,
    )


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
            kind,
            where=f"the {kind}",
            images=images,
            labels=labels,
            names=names,
            frame=frame,
            stated=stated is not None,
        )
    names = _named(names, f"the {kind}")
    rows, numbers = [], []
    for number in range(len(source)):
        item = source[number]
        if not isinstance(item, (tuple, list)) or len(item) < 2:
            raise ValueError(f"Expected item {number} of the {kind} to be (image, label).")
        rows.append(_row(item[0], frame, f"item {number}"))
        numbers.append(int(item[1]))
    assumed = () if stated else (CLASSES,)
    return collected(kind, rows=rows, labels=numbers, names=names, frame=frame, assumed=assumed)


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
