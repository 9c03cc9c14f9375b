"""The claims of a folder: what an audit without files is about."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rdpkit.verification.claims.ledgers import LEDGER

SUFFIX = ".claims.toml"
"""The end of the names of files of claims; pytest collects them, too."""

# Folders in which others keep their files.
_NOT_OURS = frozenset(["__pycache__", "build", "dist", "node_modules", "site-packages", "venv"])
_LARGEST_MANIFEST = 2**20
_OF_LEDGER = b"ledger of releases"
_PROJECT = "pyproject.toml"


def claims_here(folder: Path) -> list[Path]:
    """Files of claims, manifests of releases and ledgers, in a folder and those below it.

    Parameters
    ----------
    folder : Path
        Where to look. If its pyproject.toml has a list ``claims`` in ``[tool.rdpkit]``, of files or
        patterns, these are all.

    Raises
    ------
    ValueError
        If the list is not one, or nothing fits one of its patterns.
    """
    named = _named(folder / _PROJECT)
    if named is None:
        return sorted(_found(folder))
    files: dict[Path, None] = {}
    for pattern in named:
        fitting = sorted(folder.glob(pattern))
        if not fitting:
            raise ValueError(
                f"Expected a file for {pattern!r}, which claims in [tool.rdpkit] of {_PROJECT} "
                f"names; there is none in {str(folder)!r}."
            )
        files.update(dict.fromkeys(fitting))
    return list(files)


def _named(project: Path) -> list[str] | None:
    """The patterns of ``[tool.rdpkit]``; None if there are none."""
    if not project.is_file():
        return None
    try:
        tools = tomllib.loads(project.read_text(encoding="utf-8-sig")).get("tool", {})
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{project}: not a TOML file: {error}") from None
    table: Any = tools.get("rdpkit", {}) if isinstance(tools, dict) else {}
    named = table.get("claims") if isinstance(table, dict) else None
    if named is None:
        return None
    # An absolute pattern would raise an error that names no file.
    wanted = isinstance(named, list) and all(
        isinstance(one, str) and one and not Path(one).is_absolute() for one in named
    )
    if not wanted:
        raise ValueError(
            f"Expected claims in [tool.rdpkit] of {project} to be a list of files or patterns "
            f"below its folder, got {named!r:.80}."
        )
    return list(named)


def _found(folder: Path) -> Iterator[Path]:
    for place, below, names in os.walk(folder):
        below[:] = [one for one in below if one not in _NOT_OURS and not one.startswith(".")]
        for path in (Path(place, name) for name in names):
            if path.name.endswith(SUFFIX) or _is_manifest(path) or _is_ledger(path):
                yield path


def _is_manifest(path: Path) -> bool:
    """Whether a file is the manifest of a release that guarantees something."""
    try:
        if path.suffix != ".json" or path.stat().st_size > _LARGEST_MANIFEST:
            return False
        found = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        # Files of other programs may be broken; a manifest that is named is read with all errors.
        return False
    return (
        isinstance(found, dict) and "reproducible_noise" in found and bool(found.get("guarantee"))
    )


def _is_ledger(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return path.suffix == LEDGER and _OF_LEDGER in file.read(200)
    except OSError:
        return False
