"""IDX files (MNIST, Fashion-MNIST), plain or compressed with gzip."""

from __future__ import annotations

import gzip
import math
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

_TYPES = {0x08: ">u1", 0x09: ">i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
_GZIP = b"\x1f\x8b"


def read_idx(path: str | Path) -> NDArray[Any]:
    """Read one IDX file whole.

    Parameters
    ----------
    path : str or Path
        The file; compressed if it begins as gzip does, whatever its name.

    Returns
    -------
    array
        Of the file's own type and shape, in the machine's byte order.

    Raises
    ------
    ValueError
        If the file is truncated, corrupted, longer than its header says, or no IDX file.
    OSError
        If it cannot be read.

    Source
    ------
    The format is described with the MNIST database (LeCun, Cortes and Burges): two zero bytes, the
    type, the number of dimensions, each dimension as a big-endian 32-bit integer, the values.
    """
    path = Path(path)
    content = path.read_bytes()
    if content[:2] == _GZIP:
        try:
            content = gzip.decompress(content)
        except EOFError:
            raise ValueError(
                f"{path}: the file is truncated (its gzip stream ends early)."
            ) from None
        except (gzip.BadGzipFile, zlib.error) as error:
            raise ValueError(f"{path}: the file is corrupted ({error}).") from None
    if len(content) < 4 or content[:2] != b"\0\0" or content[2] not in _TYPES or content[3] == 0:
        raise ValueError(
            f"{path}: expected an IDX file (two zero bytes, a type, a number of dimensions), "
            f"got the bytes {content[:4].hex(' ') or 'of an empty file'}."
        )
    kind, dimensions = np.dtype(_TYPES[content[2]]), content[3]
    header = 4 + 4 * dimensions
    if len(content) < header:
        raise ValueError(f"{path}: the file is truncated within its header.")
    shape = tuple(int(n) for n in np.frombuffer(content, ">u4", count=dimensions, offset=4))
    expected = math.prod(shape) * kind.itemsize
    if len(content) - header != expected:
        problem = "truncated" if len(content) - header < expected else "too long"
        raise ValueError(
            f"{path}: the file is {problem}: its header announces {expected} bytes of data of "
            f"shape {shape}, and it has {len(content) - header}."
        )
    values = np.frombuffer(content, kind, offset=header).reshape(shape)
    return values.astype(kind.newbyteorder("="))


def read_images_and_labels(
    images: str | Path, labels: str | Path
) -> tuple[NDArray[np.uint8], NDArray[np.int64], tuple[int, int, int]]:
    """Read a pair of IDX files: images of bytes and their labels.

    Returns
    -------
    tuple
        Images of shape (n, height * width), labels of shape (n,), and (1, height, width).

    Raises
    ------
    ValueError
        As :func:`read_idx`, or if the files are not images and labels, or their numbers differ.
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
