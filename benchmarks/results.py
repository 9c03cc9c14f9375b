"""All that a run found, to and from JSON, and files that are never half written."""

from __future__ import annotations

import json
import math
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.model import Curve, Outcome, Row

VERSION = 1


@dataclass(slots=True, kw_only=True)
class Results:
    """What a run found, and on what."""

    machine: dict[str, Any]
    works: list[dict[str, str]] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    curves: list[Curve] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)

    def as_json(self) -> str:
        """JSON without infinities, which it does not know: they are strings."""
        found = {"version": VERSION, **asdict(self)}
        return json.dumps(_plain(found), indent=1, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Results:
        """The other way round."""
        try:
            found = _numbers(json.loads(text))
            if found["version"] != VERSION:
                raise ValueError(f"version {found['version']}")
            return cls(
                machine=found["machine"],
                works=found["works"],
                rows=[Row(**row) for row in found["rows"]],
                curves=[Curve(**curve) for curve in found["curves"]],
                outcomes=[Outcome(**outcome) for outcome in found["outcomes"]],
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"Expected results of version {VERSION}, got {error}.") from error


_WORDS = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)}
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(item) for item in value]
    return value


def _numbers(value: Any) -> Any:
    if isinstance(value, dict):
        if set(value) == {"float"} and value["float"] in _WORDS:
            return _WORDS[value["float"]]
        return {key: _numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_numbers(item) for item in value]
    return value


def write(path: Path, content: bytes) -> None:
    """Write beside the target and move, so that nobody ever reads half a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)  # mkstemp lets nobody else read
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
