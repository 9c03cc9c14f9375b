"""The files of a release beside its manifest: arrays without any pickle, or a table."""

from __future__ import annotations

import hashlib
import os
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdpkit import Guarantee, _validate
from rdpkit.formats.files import whole_file
from rdpkit.mechanisms.releases.manifest import Manifest

AnyArray = NDArray[Any]
Described = Mapping[str, Mapping[str, Any]]
"""Shape, dtype and SHA-256 by the array's name."""

SUFFIXES = (".npz", ".safetensors")
_PIECE = 1 << 22  # Bytes that are hashed at once
_LARGEST_HEADER = 100_000  # Of an array in a file, in bytes


def write_arrays(path: Path, arrays: Mapping[str, AnyArray]) -> None:
    """Write arrays under a temporary name and move them, by the suffix of ``path``."""
    whole: dict[str, Any] = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    with whole_file(path) as temporary:
        if path.suffix == ".npz":
            with open(temporary, "wb") as file:
                np.savez(file, **whole)
        else:
            _safetensors().save_file(whole, temporary)


def read_arrays(path: Path, names: tuple[str, ...]) -> dict[str, AnyArray]:
    """The arrays of these names; ask :func:`problems` first whether the file has them."""
    if path.suffix == ".npz":
        with np.load(path, allow_pickle=False) as archive:
            return {name: archive[name] for name in names}
    found = _safetensors().load_file(path)
    return {name: found[name] for name in names}


def described(array: AnyArray) -> dict[str, Any]:
    """An array's shape, dtype and SHA-256."""
    return {
        "shape": list(array.shape),
        "dtype": array.dtype.str,
        "sha256": sha256_of(array),
    }


def sha256_of(array: AnyArray) -> str:
    """SHA-256 of an array's bytes in C order, read piece by piece."""
    digest = hashlib.sha256()
    if array.flags.c_contiguous and array.size:
        view = array.reshape(-1).view(np.uint8)
        for start in range(0, view.size, _PIECE):
            digest.update(view[start : start + _PIECE].data)
    elif array.size:
        for row in array:
            digest.update(np.ascontiguousarray(row).tobytes())
    return digest.hexdigest()


def arrays_beside(manifest: Path) -> Path:
    """The file of arrays beside a manifest."""
    found = [path for suffix in SUFFIXES if (path := manifest.with_suffix(suffix)).exists()]
    if len(found) == 1:
        return found[0]
    names = " or ".join(manifest.with_suffix(suffix).name for suffix in SUFFIXES)
    if not found:
        raise FileNotFoundError(f"the arrays are missing: expected {names} beside {manifest.name}")
    raise ValueError(f"expected one of {names} beside {manifest.name}, found both")


def problems(
    expected: Described,  # Shape, dtype and hash of each array
    path: Path,  # The file
    names: tuple[str, ...],  # Arrays that ``expected`` must describe
) -> tuple[str, ...]:
    """All problems with a file of arrays, one sentence each; none if the arrays are as expected.

    The arrays are hashed piece by piece: they may be larger than memory.
    """
    try:
        found = _described_npz(path) if path.suffix == ".npz" else _described_tensors(path)
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, NotImplementedError) as e:
        return (f"the arrays cannot be read: {e}",)
    except ModuleNotFoundError as error:
        return (str(error),)
    return tuple(_differences(expected, found, names))


def file_problems(
    expected: Described,  # ``sha256`` of each file, by its name
    folder: Path,  # Where they are
) -> tuple[str, ...]:
    """All problems with files that are no files of arrays, one sentence each."""
    found = []
    for name, wanted in expected.items():
        try:
            digest = sha256_of_file(folder / name)
        except FileNotFoundError:
            found.append(f"file {name!r} is missing")
            continue
        except OSError as error:
            found.append(f"file {name!r} cannot be read: {error}")
            continue
        if digest != wanted["sha256"]:
            found.append(f"file {name!r} has changed: sha256 {digest}, expected {wanted['sha256']}")
    return tuple(found)


def sha256_of_file(path: Path) -> str:
    """SHA-256 of a file, read piece by piece."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _differences(expected: Described, found: Described, names: tuple[str, ...]) -> Iterator[str]:
    for name, wanted in expected.items():
        if name not in found:
            yield f"array {name!r} is missing"
            continue
        for key in ("shape", "dtype", "sha256"):
            if found[name][key] != wanted[key]:
                yield (
                    f"array {name!r} has changed: {key} {found[name][key]}, expected {wanted[key]}"
                )
                break
    for name in found:
        if name not in expected:
            yield f"array {name!r} is not in the manifest"
    for name in names:
        if name not in expected:
            yield f"array {name!r} is not described by the manifest"


def _described_npz(path: Path) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    with zipfile.ZipFile(path) as archive:
        for member in archive.namelist():
            name = member.removesuffix(".npy")
            if name in found:
                raise ValueError(f"array {name!r} is there twice")
            with archive.open(member) as file:
                is_first = np.lib.format.read_magic(file) == (1, 0)
                read = np.lib.format.read_array_header_2_0
                read = np.lib.format.read_array_header_1_0 if is_first else read
                shape, fortran, dtype = read(file, max_header_size=_LARGEST_HEADER)
                if dtype.hasobject:
                    raise ValueError(f"array {name!r} holds Python objects, not numbers")
                digest = hashlib.sha256()
                while piece := file.read(_PIECE):
                    digest.update(piece)
            found[name] = {
                # Hashes are of arrays in C order, and arrays in Fortran's order are never written.
                "shape": list(shape) if not fortran or len(shape) < 2 else ["fortran", *shape],
                "dtype": dtype.str,
                "sha256": digest.hexdigest(),
            }
    return found


def _described_tensors(path: Path) -> dict[str, dict[str, Any]]:
    _safetensors()
    from safetensors import SafetensorError, safe_open  # noqa: PLC0415 - an optional library

    found: dict[str, dict[str, Any]] = {}
    try:
        with safe_open(os.fspath(path), framework="numpy") as file:
            for name in file.keys():  # noqa: SIM118 - not a mapping
                found[name] = described(file.get_tensor(name))
    except SafetensorError as error:
        raise ValueError(str(error)) from None
    return found


def _safetensors() -> Any:
    try:
        import safetensors.numpy  # noqa: PLC0415 - an optional library
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "Files that end in .safetensors need the library safetensors: "
            "pip install safetensors, or save as .npz."
        ) from None
    return safetensors.numpy


# A release whose data are a file, such as a table in CSV: the file, and its manifest beside it.


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRelease:
    """A file of released records, and its manifest, which has the same name and ends in .json."""

    path: Path  #: The file
    manifest: Manifest  #: Its description

    @property
    def guarantee(self) -> Guarantee | None:
        """The guarantee in the manifest."""
        return self.manifest.guarantee


def refuse_shared(target: Path) -> None:
    """Refuse the path of a file whose manifest would be that of arrays which are there already."""
    manifest = target.with_suffix(".json").name
    for other in (target.with_suffix(suffix) for suffix in SUFFIXES):
        if other != target and other.exists():
            raise ValueError(
                f"{other} is there already and would share {manifest} with {target.name}: remove "
                "it, or choose another name."
            )


def check_file_path(path: str | Path) -> Path:
    """The path of a file that is to be released, checked before long work."""
    target = Path(path)
    if target.suffix in ("", ".json", *SUFFIXES):
        raise _validate.fail("path", "to end in .csv, .parquet or .arrow", str(path))
    refuse_shared(target)
    return target


def save_file_release(
    path: str | Path,
    *,
    write: Callable[[Path], None],
    rows: int,
    file_format: str,
    stated: Mapping[str, Any],
    schema: Mapping[str, Any] | None = None,
    dataset: str | None = None,
) -> FileRelease:
    """Write a file of records, and then the manifest beside it.

    Each is written under a temporary name and moved, the manifest last. If the program is stopped
    in between while it replaces an older release, the old manifest stands beside a new file;
    :func:`rdpkit.mechanisms.check_arrays` notices that.

    Parameters
    ----------
    path : str or Path
        Where the file goes.
    write : callable
        Writes the file to the path that it is given, whole or not at all.
    rows : int
        How many records it has.
    file_format : str
        Its format, like "csv".
    stated : mapping
        What :func:`rdpkit.mechanisms.releases.release.guaranteed` returns.
    schema : mapping, optional
        The public description of the columns.
    dataset : str, optional
        The user's name for the private data.

    Raises
    ------
    ValueError
        If the path or a value is not accepted.
    OSError
        If a file cannot be written.
    """
    target = check_file_path(path)
    # Everything that could be refused is, before an older release is replaced.
    manifest = Manifest(
        **stated,
        dataset=dataset,
        schema=schema,
        files={target.name: {"format": file_format, "rows": rows, "sha256": ""}},
    )
    write(target)
    described = {"format": file_format, "rows": rows, "sha256": sha256_of_file(target)}
    manifest = replace(manifest, files={target.name: described})
    manifest.write(target.with_suffix(".json"))
    return FileRelease(path=target, manifest=manifest)
