"""Findings on the disk: what was computed once is not computed again, and damage is noticed.

The file has one line for each finding: a mark, a checksum, and the finding as JSON. Lines are added
and never changed. A process that is killed loses at most the line that it was writing, because the
checksum of a part of a line does not match. A finding is filed under a hash of all that it depends
on: the claim's content (not the file that it is in), the bounds that were asked for, the versions
of the libraries, and the source code itself. Nothing ever has to be invalidated, and a cache can be
deleted at any time.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import os
import time
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import IO, Any

import numpy as np
from rdpkit.verification.auditing.findings import Finding, Reproduction, Side, Soundness
from rdpkit.verification.auditing.versions import versions
from rdpkit.verification.claims.claim import Claim

from rdpkit import records
from rdpkit.records import Key, read_table

_MARK = b"rdpkit-audit-1 "
_DIGITS = 64
_SECONDS_BETWEEN_STORES = 1.0


class DamagedCacheWarning(UserWarning):
    """Something in a cache is not what was written; it is computed again."""


class AuditCache:
    """Findings in a file, by the content of their claims.

    Parameters
    ----------
    path : str or Path
        The file; it is made when the first finding is put into it.

    Raises
    ------
    ValueError
        If the file is something else than a cache: it is left alone.
    OSError
        If it cannot be read.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        # Where lines start and end: the findings themselves stay on the disk.
        self._places: dict[str, tuple[int, int]] = {}
        self._damaged: list[str] = []
        self._torn = False
        self._stored_at = time.monotonic()
        self._read()

    def __len__(self) -> int:
        """Findings that can be looked up, of all versions."""
        return len(self._places)

    @property
    def damaged(self) -> tuple[str, ...]:
        """What is not as it was written: the file, the line, and the claim where it can be told."""
        return tuple(self._damaged)

    def has(self, claim: Claim, *, bounds: str) -> bool:
        """Whether a finding about this claim is there."""
        return _key(claim, bounds) in self._places

    def get(self, claim: Claim, *, bounds: str) -> Finding | None:
        """The finding about this claim, or None if there is none that can be read.

        Parameters
        ----------
        claim : Claim
            The finding will be about this object.
        bounds : str
            Which bounds were asked for.
        """
        place = self._places.get(_key(claim, bounds))
        if place is None:
            return None
        start, end = place
        with self.path.open("rb") as file:
            file.seek(start)
            line = file.read(end - start)
        try:
            return Finding(claim=claim, **read_table(_payload(line)["finding"], _FINDING))
        except (ValueError, KeyError, TypeError):
            self._damaged.append(f"{self.path}: the entry of claim {claim.id!r} is damaged")
            return None

    def put(self, finding: Finding, *, bounds: str) -> None:
        """Add a finding, with one write: it is there as a whole or noticed not to be.

        It has left this process when this returns, so that a kill loses nothing of it. The disk is
        made to store what was added once a second and by :meth:`sync`, because that takes longer
        than many findings do.

        Parameters
        ----------
        finding : Finding
            What to keep.
        bounds : str
            Which bounds were asked for.

        Raises
        ------
        OSError
            If it cannot be written.
        """
        key = _key(finding.claim, bounds)
        payload = json.dumps(
            {"key": key, "id": finding.claim.id, "finding": _plain(finding)},
            allow_nan=False,
            separators=(",", ":"),
        ).encode()
        line = _MARK + hashlib.sha256(payload).hexdigest().encode() + b" " + payload + b"\n"
        written = b"\n" + line if self._torn else line
        with self.path.open("ab", buffering=0) as file:
            if file.write(written) != len(written):
                raise OSError(f"{self.path}: the disk is full.")
            end = file.tell()
            if time.monotonic() - self._stored_at > _SECONDS_BETWEEN_STORES:
                self._store(file)
        self._torn = False
        self._places[key] = (end - len(line), end)

    def sync(self) -> None:
        """Wait until the disk holds all findings, so that not even a power cut loses one."""
        if self.path.exists():
            with self.path.open("ab") as file:
                self._store(file)

    def _store(self, file: IO[bytes]) -> None:
        os.fsync(file.fileno())
        self._stored_at = time.monotonic()

    def _read(self) -> None:
        try:
            file = self.path.open("rb")
        except FileNotFoundError:
            return
        ours = False
        with file:
            start = 0
            for number, line in enumerate(file, start=1):
                end = start + len(line)
                if line.strip():
                    ours = ours or line.startswith(_MARK) or _MARK.startswith(line)
                    self._take(line, number, (start, end))
                self._torn = not line.endswith(b"\n")
                start = end
        if start and not ours:
            raise ValueError(
                f"Expected cache to be a file that an audit wrote, or none, got {str(self.path)!r}."
            )

    def _take(self, line: bytes, number: int, place: tuple[int, int]) -> None:
        try:
            self._places[_payload(line)["key"]] = place
        except (ValueError, KeyError, TypeError):
            # The claim's name, if that much is left of it. A line without end was being written.
            name = line.partition(b'"id":"')[2].partition(b'"')[0].decode(errors="replace")
            about = f" (claim {name!r})" if name else ""
            what = "is damaged" if line.endswith(b"\n") else "was not written to its end"
            self._damaged.append(f"{self.path}, line {number}{about} {what}")


def _payload(line: bytes) -> Any:
    """What a line holds; a ValueError if it is not what was written."""
    body = line.rstrip(b"\n")
    digits, content = body[len(_MARK) : len(_MARK) + _DIGITS], body[len(_MARK) + _DIGITS + 1 :]
    if not body.startswith(_MARK) or hashlib.sha256(content).hexdigest().encode() != digits:
        raise ValueError("The checksum does not match.")
    return json.loads(content)


def _key(claim: Claim, bounds: str) -> str:
    everything = json.dumps([versions(), str(bounds), _content(claim)], sort_keys=True)
    return hashlib.sha256(everything.encode()).hexdigest()


def _content(value: Any) -> Any:
    """All that makes a value what it is, in a form that has one spelling."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {
            field.name: _content(getattr(value, field.name))
            for field in dataclasses.fields(value)
            if field.compare
        }
        return [f"{type(value).__module__}.{type(value).__qualname__}", fields]
    if isinstance(value, Enum):
        return [type(value).__qualname__, _content(value.value)]
    if isinstance(value, tuple | list):
        return [_content(item) for item in value]
    if isinstance(value, dict):
        return {str(name): _content(item) for name, item in value.items()}
    if isinstance(value, float):
        return value.hex()
    if isinstance(value, Decimal | Path):
        return [type(value).__name__, str(value)]
    if isinstance(value, np.ndarray):
        return [value.dtype.str, list(value.shape), hashlib.sha256(value.tobytes()).hexdigest()]
    if value is None or isinstance(value, bool | int | str):
        return value
    raise TypeError(f"A claim with a {type(value).__name__} in it has no key in a cache.")


def _plain(finding: Finding) -> dict[str, Any]:
    return {name: records.as_plain(getattr(finding, name)) for name in _FINDING}


_NUMBER = records.number(maximum=math.inf)
_STRINGS = records.many(records.string(), "strings")
_SIDE = records.record(
    {
        "bound": Key(records.string(), needed=True),
        "epsilon": Key(_NUMBER, needed=True),
        "order": Key(records.optional(_NUMBER), needed=True),
        "enclosure": Key(records.optional(records.row(_NUMBER, _NUMBER)), needed=True),
        "rigorous": Key(records.flag(), needed=True),
        "assumptions": Key(_STRINGS, needed=True),
    },
    Side,
)
_FINDING = {
    "published": Key(records.optional(_SIDE), needed=True),
    "upper": Key(records.optional(_SIDE), needed=True),
    "lower": Key(records.optional(_SIDE), needed=True),
    "reproduction": Key(records.choice(list(Reproduction), Reproduction), needed=True),
    "soundness": Key(records.choice(list(Soundness), Soundness), needed=True),
    "slack": Key(records.optional(_NUMBER), needed=True),
    "scenarios": Key(records.many(records.row(records.string(), _SIDE), "scenarios"), needed=True),
    "notes": Key(_STRINGS, needed=True),
    "refutation": Key(_STRINGS, needed=True),
    "pair": Key(_STRINGS, needed=True),
}
