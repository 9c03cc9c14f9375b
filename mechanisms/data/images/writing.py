"""Released images, back to where images are kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdpkit import _validate
from rdpkit.mechanisms.data.images.image_set import Shape, class_names

Range = tuple[float, float]


def as_bytes(
    features: Any, *, image_shape: Shape, value_range: Range = (0.0, 1.0)
) -> NDArray[np.uint8]:
    """Released records as bytes, shape (n, height, width, channels).

    Parameters
    ----------
    features : ndarray, shape (n, ...)
        Released records: bytes, or numbers.
    image_shape : (int, int, int)
        Channels, height and width.
    value_range : (float, float)
        What becomes 0 and what becomes 255. Noise leaves this range, and is cut.

    Raises
    ------
    ValueError
        If records do not have this shape, or the range is empty.
    """
    low, high = value_range
    if not low < high:
        raise _validate.fail("value_range", "to be (low, high) with low < high", value_range)
    found = np.asarray(features)
    if found.ndim < 2 or np.prod(found.shape[1:]) != np.prod(image_shape):
        raise _validate.fail("image_shape", f"to hold records of {found.shape[1:]}", image_shape)
    if found.dtype != np.uint8:
        scaled = (found.astype(np.float64) - low) * (255.0 / (high - low))
        found = np.rint(np.clip(scaled, 0.0, 255.0)).astype(np.uint8)
    return found.reshape(len(found), *image_shape).transpose(0, 2, 3, 1)


def _hard(labels: Any) -> NDArray[np.int64]:
    found = np.asarray(labels)
    hard: NDArray[np.int64] = (found.argmax(axis=1) if found.ndim == 2 else found).astype(np.int64)
    return hard


def _pictures(release: Any, image_shape: Shape, value_range: Range) -> list[Any]:
    from PIL import Image  # noqa: PLC0415 - only here are images encoded

    images = as_bytes(release.features, image_shape=image_shape, value_range=value_range)
    return [Image.fromarray(image[:, :, 0] if image.shape[2] == 1 else image) for image in images]


def to_image_folder(
    release: Any,
    folder: str | Path,
    *,
    classes: Any,
    image_shape: Shape,
    value_range: Range = (0.0, 1.0),
) -> Path:
    """Write each record to a PNG file in the folder of its class.

    Parameters
    ----------
    release : Release or ImageSet
        What has ``features`` and ``labels``. Of soft labels the largest counts.
    folder : str or Path
        A folder that is not there yet, or is empty.
    classes : int or sequence of str
        Names of the classes, which become names of folders.
    image_shape : (int, int, int)
        Channels, height and width.
    value_range : (float, float)
        What becomes 0 and what becomes 255.

    Raises
    ------
    ValueError
        If the folder has something in it, a name cannot be that of a folder, or shapes do not fit.
    """
    path, names = Path(folder), class_names(classes)
    if names is None or any(Path(name).name != name or name in (".", "..") for name in names):
        raise _validate.fail("classes", "to be names that folders can have", classes)
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise ValueError(f"{path}: expected a folder that is not there yet, or is empty.")
    pictures, labels = _pictures(release, image_shape, value_range), _hard(release.labels)
    for name in names:
        (path / name).mkdir(parents=True, exist_ok=True)
    for number, (picture, label) in enumerate(zip(pictures, labels, strict=True)):
        picture.save(path / names[label] / f"{number:06d}.png")
    return path


def to_npz(
    release: Any,
    path: str | Path,
    *,
    classes: Any,
    image_shape: Shape,
    value_range: Range = (0.0, 1.0),
) -> Path:
    """Write bytes of shape (n, height, width, channels), labels and names of classes to a file.

    ``Release.save`` keeps the numbers as they were released, with their manifest.

    Raises
    ------
    ValueError
        If the path does not end in .npz, or shapes do not fit.
    """
    target, names = Path(path), class_names(classes)
    if target.suffix != ".npz":
        raise _validate.fail("path", "to end in .npz", str(target))
    images = as_bytes(release.features, image_shape=image_shape, value_range=value_range)
    np.savez_compressed(
        target, features=images, labels=_hard(release.labels), classes=np.array(names, str)
    )
    return target


def to_torch(release: Any, *, image_shape: Shape) -> Any:
    """A TensorDataset of images, float32 as they were released, channels first, and labels.

    Raises
    ------
    ImportError
        If torch is not installed.
    """
    import torch  # noqa: PLC0415
    from torch.utils.data import TensorDataset  # noqa: PLC0415

    features = np.array(release.features, np.float32).reshape(-1, *image_shape)
    return TensorDataset(torch.from_numpy(features), torch.from_numpy(_hard(release.labels)))


def to_hugging_face(
    release: Any, *, classes: Any, image_shape: Shape, value_range: Range = (0.0, 1.0)
) -> Any:
    """A Dataset of the library ``datasets`` with the columns image and label.

    Raises
    ------
    ImportError
        If ``datasets`` is not installed, which rdpkit does not need.
    """
    try:
        from datasets import (  # noqa: PLC0415
            ClassLabel,
            Dataset,
            Features,
            Image,
        )
    except ImportError:
        raise ImportError("Expected the library datasets: pip install datasets") from None
    names = class_names(classes)
    return Dataset.from_dict(
        {
            "image": _pictures(release, image_shape, value_range),
            "label": _hard(release.labels).tolist(),
        },
        features=Features({"image": Image(), "label": ClassLabel(names=list(names or ()))}),
    )
