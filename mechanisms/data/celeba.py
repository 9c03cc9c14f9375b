"""CelebA: a folder of face images with the published lists of attributes and parts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rdpkit import _validate
from rdpkit.mechanisms.data.dataset import Dataset

if TYPE_CHECKING:
    from collections.abc import Callable

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
