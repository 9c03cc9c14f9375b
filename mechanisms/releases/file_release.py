"""A release whose data are a file, such as a table in CSV: the file, and its manifest beside it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rdpkit import Guarantee, _validate
from rdpkit.formats.files import write_whole
from rdpkit.mechanisms.releases.arrays import SUFFIXES, sha256_of_file
from rdpkit.mechanisms.releases.manifest import Manifest


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRelease:
    """A file of released records, and its manifest, which has the same name and ends in .json."""

    path: Path  #: The file
    manifest: Manifest  #: Its description

    @property
    def guarantee(self) -> Guarantee | None:
        """The guarantee in the manifest."""
        return self.manifest.guarantee


def check_file_path(path: str | Path) -> Path:
    """The path of a file that is to be released, checked before long work."""
    target = Path(path)
    if target.suffix in ("", ".json", *SUFFIXES):
        raise _validate.fail("path", "to end in .csv, .parquet or .arrow", str(path))
    for suffix in SUFFIXES:
        if target.with_suffix(suffix).exists():
            raise ValueError(
                f"{target.with_suffix(suffix)} is there already and would share "
                f"{target.with_suffix('.json').name} with {target.name}: remove it, or choose "
                "another name."
            )
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
    text = json.dumps(manifest.as_dict(), indent=1, allow_nan=False) + "\n"
    write_whole(target.with_suffix(".json"), text.encode())
    return FileRelease(path=target, manifest=manifest)
