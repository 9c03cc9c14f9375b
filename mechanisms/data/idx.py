"""IDX files (MNIST, Fashion-MNIST), plain or compressed with gzip."""

from __future__ import annotations

import gzip
import io
import math
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
