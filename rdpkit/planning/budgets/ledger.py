"""A budget on the disk: what was spent is there before anything is released.

The file has one line of JSON for the budget and one for each release, in the order in which they
were spent. Every line has a number and a checksum. A line is added with one write, and is on the
disk (``fsync``) before the function that adds it returns; so whatever kills the process, a release
that was allowed is in the file. A last line without its end was being written by a process that was
killed before it could release anything, and is cut off. Any other damage is an error.

A second file, with ``.lock`` added to the name, is locked by whoever reads and writes.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rdpkit.formats.files import locked_file, write_whole


def as_line(number: int, entry: dict[str, Any]) -> bytes:
    """A line of the file, with its end."""
    body = json.dumps(entry, allow_nan=False, separators=(",", ":"), sort_keys=True)
    check = zlib.crc32(f"{number} {body}".encode())
    return f'{{"n":{number},"check":"{check:08x}","entry":{body}}}\n'.encode()


class LedgerFile:
    """The lines of a file, read as they are added by this process and by others.

    Parameters
    ----------
    path : Path
        The file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._read_up_to = 0
        self._lines = 0

    @classmethod
    def create(cls, path: Path, entries: list[dict[str, Any]]) -> LedgerFile:
        """Write a new file as a whole.

        Raises
        ------
        FileExistsError
            If there is a file of that name: spending that it records must not be lost.
        OSError
            If it cannot be written.
        """
        ledger = cls(path)
        with ledger.locked():
            if path.exists():
                raise FileExistsError(
                    f"{path} is there already, and what was spent must not be lost. A new file "
                    "needs another name; 'rdpkit budget show' and 'rdpkit ledger show' read it."
                )
            content = b"".join(as_line(n, entry) for n, entry in enumerate(entries))
            write_whole(path, content)
            ledger._read_up_to, ledger._lines = len(content), len(entries)
        return ledger

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Nobody else reads or writes the file meanwhile."""
        with locked_file(self.path.with_name(self.path.name + ".lock")):
            yield

    def new_entries(self) -> list[dict[str, Any]]:
        """What was added since the last call, by whomever; only called with the lock.

        Raises
        ------
        ValueError
            If the file is damaged, or shorter than it was.
        OSError
            If it cannot be read.
        """
        with open(self.path, "r+b") as file:
            size = file.seek(0, os.SEEK_END)
            if size < self._read_up_to:
                raise ValueError(f"{self.path}: what was spent is no longer there.")
            file.seek(self._read_up_to)
            content = file.read()
            whole = content.rfind(b"\n") + 1
            if whole < len(content):
                file.truncate(self._read_up_to + whole)
                os.fsync(file.fileno())
        found = [
            self._entry(line, self._lines + k)
            for k, line in enumerate(content[:whole].splitlines())
        ]
        self._read_up_to += whole
        self._lines += len(found)
        return found

    def add(self, entry: dict[str, Any]) -> None:
        """Add a line and wait until the disk has it; only called with the lock.

        Raises
        ------
        OSError
            If it cannot be written: then nothing may be released.
        """
        line = as_line(self._lines, entry)
        with open(self.path, "ab", buffering=0) as file:
            if file.write(line) != len(line):
                raise OSError(f"{self.path}: the disk is full.")
            os.fsync(file.fileno())
        self._read_up_to += len(line)
        self._lines += 1

    def _entry(self, line: bytes, number: int) -> dict[str, Any]:
        try:
            found = json.loads(line)
            entry: dict[str, Any] = found["entry"]
            intact = as_line(number, entry) == line + b"\n"
        except (ValueError, KeyError, TypeError):
            intact = False
        if not intact:
            raise ValueError(
                f"{self.path}, line {number + 1}: this is not what was written there. What was "
                "spent is not known, so nothing more can be spent."
            )
        return entry


__all__ = ["LedgerFile", "as_line"]
