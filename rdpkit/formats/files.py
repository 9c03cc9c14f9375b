"""Writing files: a file is there as a whole or not at all. All of rdpkit writes through here."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A temporary path beside ``path``, moved into its place when the block ends well.

    The content is on the disk (``fsync``) before the name points to it. After an error nothing is
    left behind, and a file that was there stays as it was.

    Parameters
    ----------
    path : Path
        The file that is to be there in the end.

    Yields
    ------
    Path
        Where to write; it ends as ``path`` does, because some writers look at the ending.

    Raises
    ------
    OSError
        If the folder does not exist or cannot be written to.
    """
    descriptor, name = tempfile.mkstemp(
        dir=path.parent, prefix=f".{path.stem}.", suffix=path.suffix
    )
    os.close(descriptor)
    temporary = Path(name)
    try:
        yield temporary
        with open(temporary, "rb") as file:
            os.fsync(file.fileno())
        # mkstemp makes files that only their owner reads; give them what any new file has.
        mask = os.umask(0)
        os.umask(mask)
        temporary.chmod(0o666 & ~mask)
        temporary.replace(path)
        _flush_folder(path.parent)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_whole(path: Path, content: bytes | str) -> None:
    """Write a file, whole or not at all; text is written as UTF-8.

    Raises
    ------
    OSError
        As :func:`whole_file`.
    """
    with whole_file(path) as temporary:
        temporary.write_bytes(content.encode() if isinstance(content, str) else content)


@contextmanager
def locked_file(path: Path) -> Iterator[IO[bytes]]:
    """A file to read and to add to, which no other process has open in this way meanwhile.

    Parameters
    ----------
    path : Path
        The file; it is made if it is not there.

    Yields
    ------
    file
        Whatever is written is added to its end, one write at a time.

    Raises
    ------
    OSError
        If it cannot be opened.
    """
    with open(path, "a+b", buffering=0) as file:
        _lock(file.fileno())
        # Closing the file ends the lock, also where the process is killed.
        yield file


def _lock(descriptor: int) -> None:
    """Wait until no other process has the file locked, and lock it."""
    if os.name == "nt":
        import msvcrt  # noqa: PLC0415 - of Windows alone

        # Beyond the end of any file: what is locked there cannot even be read by others.
        os.lseek(descriptor, 2**40, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_LOCK, 1)  # type: ignore[attr-defined]
        return
    import fcntl  # noqa: PLC0415 - of Unix alone

    fcntl.flock(descriptor, fcntl.LOCK_EX)


def _flush_folder(folder: Path) -> None:
    # The new name is an entry of the folder, which is written to the disk apart from the file.
    # Windows cannot open folders.
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


__all__ = ["locked_file", "whole_file", "write_whole"]
