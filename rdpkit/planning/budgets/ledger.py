"""A budget on the disk: what was spent is there before anything is released.

The file has one line of JSON for the budget and one for each release, in the order in which they
were spent. Every line has a number and a checksum, and stands there twice. Both are added in one
write, and are on the disk (``fsync``) before the function that adds them returns; so whatever kills
the process, a release that was allowed is in the file, and a file that lost its last line, or a
part of it, has lost a copy and no charge. A line that is not whole and has no copy was being
written by a process that was killed before it could release anything: readers pass over it, and who
writes next cuts it off. Any other damage is an error.

The first line says how many lines there are at least, so that a file is not taken for whole which
lost more than its last line. A file that was replaced by an older copy of itself looks like what it
was; nothing inside a file can tell.

Whoever reads or writes locks the file itself, by whatever name or link it is known. Reading needs
no right to write.
"""

from __future__ import annotations

import json
import os
import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from rdpkit.formats.files import locked_file, write_whole

_HEAD = re.compile(rb'\{"lines":"(\d{15})"\}\n')
_HEAD_SIZE = 28  # Bytes of the first line


def as_line(number: int, entry: dict[str, Any]) -> bytes:
    """A line of the file, and its copy."""
    body = json.dumps(entry, allow_nan=False, separators=(",", ":"), sort_keys=True)
    check = zlib.crc32(f"{number} {body}".encode())
    line = f'{{"n":{number},"check":"{check:08x}","entry":{body}}}\n'
    return 2 * line.encode()


def _head(lines: int) -> bytes:
    return f'{{"lines":"{lines:015d}"}}\n'.encode()


class LedgerFile:
    """The lines of a file, read as they are added by this process and by others."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._read_up_to = 0
        self._lines = 0
        # The last line, where its copy has not been read.
        self._last: bytes | None = None
        # Where the last line that was read has lost no more than the break behind it.
        self._break = b""
        self._status: os.stat_result | None = None
        self._file: IO[bytes] | None = None

    @classmethod
    def create(cls, path: Path, entries: list[dict[str, Any]]) -> LedgerFile:
        """Write a new file as a whole.

        Raises FileExistsError if there is a file of that name: spending that it records must not be
        lost. Raises OSError if it cannot be written.
        """
        content = b"".join(as_line(n, entry) for n, entry in enumerate(entries))
        try:
            write_whole(path, _head(len(entries)) + content, new=True)
        except FileExistsError:
            raise FileExistsError(
                f"{path} is there already, and what was spent must not be lost. A new file "
                "needs another name; 'rdpkit ledger show' reads it."
            ) from None
        ledger = cls(path)
        with ledger.locked():
            ledger.new_entries()
        return ledger

    @contextmanager
    def locked(self, *, writing: bool = False) -> Iterator[None]:
        """Nobody else writes the file meanwhile, nor reads it where this writes."""
        with locked_file(self.path, "r+b" if writing else "rb") as file:
            self._file = file
            try:
                yield
            finally:
                self._file = None

    def new_entries(
        self,
        read: Callable[[dict[str, Any]], Any] = dict,  # What is made of each entry; it may raise
    ) -> list[Any]:
        """What was added since the last call, by whomever; only called with the lock.

        After an error nothing counts as read.
        """
        before = self._read_up_to, self._lines, self._last, self._break
        try:
            return [read(entry) for entry in self._new_entries()]
        except BaseException:
            self._read_up_to, self._lines, self._last, self._break = before
            raise

    def _new_entries(self) -> list[dict[str, Any]]:
        file = self._opened()
        status = os.fstat(file.fileno())
        if self._status is not None and not os.path.samestat(status, self._status):
            raise ValueError(f"{self.path}: another file has taken its place since it was read.")
        if status.st_size < self._read_up_to:
            raise ValueError(f"{self.path}: what was spent is no longer there.")
        self._status = status
        file.seek(0)
        head = _HEAD.match(file.read(_HEAD_SIZE))
        if not self._read_up_to and head is not None:
            self._read_up_to = _HEAD_SIZE
        file.seek(self._read_up_to)
        content = file.read()
        if self._break and content:
            # Somebody has added the break that was missing, and lines behind it.
            self._read_up_to, self._break = self._read_up_to + 1, b""
            content = content[1:]
        found = self._entries(content.split(b"\n"))
        if head is not None and self._lines < int(head[1]):
            raise ValueError(
                f"{self.path}: what was spent is no longer there: {int(head[1])} lines were "
                f"written, and the first {self._lines} are left."
            )
        return found

    def _entries(self, lines: list[bytes]) -> list[dict[str, Any]]:
        """What lines hold; the last one has no break behind it, and may be torn or empty."""
        found = []
        for k, line in enumerate(lines):
            torn = k == len(lines) - 1
            if not torn and line == self._last:
                self._last = None
                self._read_up_to += len(line) + 1
                continue
            entry = self._entry(line)
            if torn and entry is None:
                break
            if entry is None:
                raise ValueError(
                    f"{self.path}, line {self._lines + 1}: this is not what was written there. "
                    "What was spent is not known, so nothing more can be spent."
                )
            found.append(entry)
            self._lines, self._last = self._lines + 1, line
            self._break = b"\n" if torn else b""
            self._read_up_to += len(line) + (not torn)
        return found

    def add(self, entry: dict[str, Any]) -> None:
        """Add a line and wait until the disk has it; only called with the lock for writing."""
        file, line = self._opened(), self._break + as_line(self._lines, entry)
        file.truncate(self._read_up_to)
        file.seek(self._read_up_to)
        try:
            if file.write(line) != len(line):
                raise OSError(f"{self.path}: the disk is full.")
        except OSError:
            file.truncate(self._read_up_to)
            raise
        os.fsync(file.fileno())
        self._read_up_to += len(line)
        self._lines, self._last = self._lines + 1, None
        self._break = b""
        file.seek(0)
        if _HEAD.match(file.read(_HEAD_SIZE)):
            # If this is lost there is one line more than stated, which is no damage.
            file.seek(0)
            file.write(_head(self._lines))

    def _opened(self) -> IO[bytes]:
        if self._file is None:
            raise RuntimeError("A ledger's file is read and written with its lock alone.")
        return self._file

    def _entry(self, line: bytes) -> dict[str, Any] | None:
        """What the next line holds; None if it is not as it was written."""
        try:
            entry: dict[str, Any] = json.loads(line)["entry"]
            written = as_line(self._lines, entry)
        except (ValueError, KeyError, TypeError, RecursionError):
            return None
        return entry if written.startswith(line + b"\n") else None
