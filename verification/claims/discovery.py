"""The claims of a folder: what an audit without files is about."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from rdpkit.verification.claims.ledgers import LEDGER

SUFFIX = ".claims.toml"
"""The end of the names of files of claims; pytest collects them, too."""

# Folders in which others keep their files.
_NOT_OURS = frozenset(["__pycache__", "build", "dist", "node_modules", "site-packages", "venv"])
_LARGEST_MANIFEST = 64 * 2**20
_OF_LEDGER = b"ledger of releases"
_PROJECT = "pyproject.toml"


class Discovered(NamedTuple):
    """What an audit of a folder is about."""

    files: list[Path]
    left_out: list[str]  # What may hold claims and was not taken, with the reason


def claims_here(
    # Where to look. If its pyproject.toml has a list ``claims`` in ``[tool.rdpkit]``, of files or
    # patterns, these are all.
    folder: Path,
) -> Discovered:
    """Files of claims, manifests of releases and ledgers, in a folder and those below it."""
    named = _named(folder / _PROJECT)
    if named is None:
        seen = sorted(_look(folder))
        left_out = [f"{path}: {reason}" for path, reason in seen if reason is not None]
        return Discovered([path for path, reason in seen if reason is None], left_out)
    files: dict[Path, None] = {}
    for pattern in named:
        try:
            fitting = sorted(folder.glob(pattern))
        except ValueError as error:
            raise ValueError(f"{pattern!r} in [tool.rdpkit] of {_PROJECT}: {error}.") from None
        if not fitting:
            raise ValueError(
                f"Expected a file for {pattern!r}, which claims in [tool.rdpkit] of {_PROJECT} "
                f"names; there is none in {str(folder)!r}."
            )
        files.update(dict.fromkeys(fitting))
    return Discovered(list(files), [])


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


def _raise(error: OSError) -> None:
    raise error


def _look(folder: Path) -> Iterator[tuple[Path, str | None]]:
    """Files that may hold claims, each with why it is left out, or None."""
    for place, below, names in os.walk(folder, onerror=_raise):
        below[:] = [one for one in below if one not in _NOT_OURS and not one.startswith(".")]
        for path in (Path(place, name) for name in below):
            if path.is_symlink():
                yield path, "links to folders are not followed"
        for path in (Path(place, name) for name in names):
            kind = _KINDS.get(path.suffix)
            if not path.is_file():
                continue
            if path.name.endswith(SUFFIX):
                yield path, None
            elif kind is not None:
                reason = kind(path)
                if reason != _OTHER:
                    yield path, reason


_OTHER = "another program's"


def _of_manifest(path: Path) -> str | None:
    """Why a file is no manifest of a release that guarantees something; None if it is one."""
    if path.stat().st_size > _LARGEST_MANIFEST:
        return "it is too large for a manifest"
    try:
        found = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        return "it is no JSON"
    if not isinstance(found, dict) or "reproducible_noise" not in found:
        return _OTHER
    return None if found.get("guarantee") else "this manifest guarantees nothing"


def _of_ledger(path: Path) -> str | None:
    """Why a file is no ledger with a release; None if it is one, or a damaged one."""
    with path.open("rb") as file:
        begin = file.read(1000)
    if not begin:
        return "it is empty"
    if _OF_LEDGER not in begin:
        return _OTHER
    # Imported here because most folders have no ledger.
    from rdpkit.mechanisms.releases.ledger import Ledger  # noqa: PLC0415

    try:
        ledger = Ledger(path)
        released = any(ledger.account(name).releases for name in ledger.datasets)
    except ValueError:
        # Whoever reads its claims says what is wrong.
        return None
    return None if released else "nothing was released from this ledger's data"


_KINDS: dict[str, Callable[[Path], str | None]] = {".json": _of_manifest, LEDGER: _of_ledger}
