"""The explorer on the disk: a folder that is there whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from rdpkit import _validate
from rdpkit.formats.files import whole_folder
from rdpkit.verification.outputs.explorer.pages import FORMAT, LIST


def check_folder(path: Path) -> None:
    """Check that an explorer can be written to a folder: it is not there, empty, or an explorer."""
    if not path.exists():
        if not path.resolve().parent.is_dir():
            raise _refused("in a folder that exists", path)
        return
    if not path.is_dir():
        raise _refused("to be a folder", path)
    inside = {file.relative_to(path).as_posix() for file in path.rglob("*") if not file.is_dir()}
    if not inside:
        return
    foreign = sorted(inside - _known(path / LIST))
    if foreign:
        raise ValueError(
            "Expected --explorer to be a new folder, an empty one, or one that it made before, "
            f"got {str(path)!r}, which holds {foreign[0]!r}; all that is in it would be replaced."
        )


def _known(path: Path) -> set[str]:
    """The files that an explorer wrote, by its own list; none if there is no such list."""
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
        if entries["format"] != FORMAT:
            return set()
        return {str(name) for name in entries["files"]}
    except (OSError, ValueError, KeyError, TypeError):
        return set()


def _refused(condition: str, path: Path) -> ValueError:
    return _validate.fail("--explorer", condition, str(path))


def write_folder(
    path: Path,  # The folder, which :func:`check_folder` accepts
    pages: Iterable[tuple[str, str]],  # Paths inside of it, and texts
) -> dict[str, int]:  # The size of each file, in bytes
    """Write all pages, or none if one of them fails; what was there before is replaced."""
    sizes = {}
    with whole_folder(path) as temporary:
        for name, text in pages:
            file = temporary / name
            file.parent.mkdir(exist_ok=True)
            content = text.encode("utf-8", "replace")
            file.write_bytes(content)
            sizes[name] = len(content)
        check_folder(path)
    return sizes
