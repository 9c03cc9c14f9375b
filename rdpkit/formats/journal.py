"""Results on the disk, a line each, while work goes on: what is finished survives a kill.

A journal is a file of lines that are only ever added: a mark that says whose journal it is, a
checksum, and an entry as JSON. A process that is killed loses the line that it was writing, which
the checksum shows, and nothing else.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

_DIGITS = 64  # Of a SHA-256 sum
_SECONDS_BETWEEN_STORES = 1.0


class Journal:
    """Entries of a file, by their keys.

    Parameters
    ----------
    path : str or Path
        The file; it is made when the first entry is added.
    mark : str
        What every line begins with: one word without white space, a name and a version.
    kind : str
        What an entry is called in messages, like "claim".

    Raises
    ------
    ValueError
        If the file is something else: it is left alone.
    OSError
        If it cannot be read.
    """

    def __init__(self, path: str | Path, *, mark: str, kind: str) -> None:
        self.path = Path(path)
        self._mark = f"{mark} ".encode()
        self._kind = kind
        # Where lines start and end: the entries themselves stay on the disk.
        self._places: dict[str, tuple[int, int]] = {}
        self._damaged: list[str] = []
        self._torn = False
        self._stored_at = time.monotonic()
        self._read()

    def __len__(self) -> int:
        """How many entries can be looked up."""
        return len(self._places)

    def __contains__(self, key: str) -> bool:
        """Whether there is an entry of this key."""
        return key in self._places

    def __iter__(self) -> Iterator[str]:
        """The keys of all entries that can be looked up, the oldest first."""
        return iter(self._places)

    @property
    def damaged(self) -> tuple[str, ...]:
        """What is damaged: the file, the line, and the entry's name if that can be read."""
        return tuple(self._damaged)

    def get(self, key: str) -> Any:
        """The entry of this key.

        Raises
        ------
        KeyError
            If there is none.
        ValueError
            If it is damaged, which :attr:`damaged` then says as well.
        """
        start, end = self._places[key]
        with self.path.open("rb") as file:
            file.seek(start)
            line = file.read(end - start)
        return self._payload(line)["entry"]

    def report_damage(self, name: str) -> None:
        """Say in :attr:`damaged` that the entry of this name cannot be used."""
        self._damaged.append(f"{self.path}: the entry of {self._kind} {name!r} is damaged")

    def add(self, key: str, entry: Any, *, name: str) -> None:
        """Add an entry with one write; an entry that was cut off is noticed when it is read.

        When this returns, the operating system has the entry, so that killing the process loses
        nothing of it. Only a power cut may: waiting for the disk takes longer than many results
        do, so it is done at most once a second, and by :meth:`sync`.

        Parameters
        ----------
        key : str
            It replaces an earlier entry of the same key.
        entry : object
            Anything that is JSON, without NaN and infinity.
        name : str
            How messages call it.

        Raises
        ------
        OSError
            If it cannot be written.
        """
        payload = json.dumps(
            {"key": key, "id": name, "entry": entry}, allow_nan=False, separators=(",", ":")
        ).encode()
        line = self._mark + hashlib.sha256(payload).hexdigest().encode() + b" " + payload + b"\n"
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
        """Wait until the disk holds all entries, so that not even a power cut loses one."""
        if self.path.exists():
            with self.path.open("ab") as file:
                self._store(file)

    def remove(self) -> None:
        """Delete the file, because the work is done."""
        self.path.unlink(missing_ok=True)
        self._places.clear()

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
                    ours = ours or line.startswith(self._mark) or self._mark.startswith(line)
                    self._take(line, number, (start, end))
                self._torn = not line.endswith(b"\n")
                start = end
        if start and not ours:
            raise ValueError(
                f"Expected {self.path} to be a file that rdpkit wrote for its {self._kind}s, or no "
                "file: it holds something else, and was left as it is."
            )

    def _take(self, line: bytes, number: int, place: tuple[int, int]) -> None:
        try:
            self._places[self._payload(line)["key"]] = place
        except (ValueError, KeyError, TypeError):
            # The entry's name, if that much is left of it. A line without end was being written.
            name = line.partition(b'"id":"')[2].partition(b'"')[0].decode(errors="replace")
            about = f" ({self._kind} {name!r})" if name else ""
            what = "is damaged" if line.endswith(b"\n") else "was not written to its end"
            self._damaged.append(f"{self.path}, line {number}{about} {what}")

    def _payload(self, line: bytes) -> Any:
        """What a line holds; a ValueError if it is not what was written."""
        body = line.rstrip(b"\n")
        begin = len(self._mark)
        # The digits, and the space behind them.
        check, content = body[begin : begin + _DIGITS + 1], body[begin + _DIGITS + 1 :]
        if (
            not body.startswith(self._mark)
            or hashlib.sha256(content).hexdigest().encode() + b" " != check
        ):
            raise ValueError("The checksum does not match.")
        return json.loads(content)
