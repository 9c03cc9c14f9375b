"""Writing files: a file is there as a whole or not at all. All of rdpkit writes through here."""

from __future__ import annotations

import os
import shutil
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
def whole_folder(path: Path) -> Iterator[Path]:
    """A temporary folder beside ``path``, moved into its place when the block ends well.

    All that was in the folder before is replaced; whether it may be is for the caller to know. The
    files are on the disk before the name points to them. After an error nothing is left behind, and
    a folder that was there stays as it was. A kill between two renames may leave the former folder
    beside it, under a name that begins with a dot.

    Parameters
    ----------
    path : Path
        The folder that is to be there in the end.

    Yields
    ------
    Path
        An empty folder.

    Raises
    ------
    OSError
        If the folder around it does not exist or cannot be written to.
    """
    # A link stays a link: the folder that it leads to is replaced.
    path = path.resolve()
    temporary = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}."))
    try:
        yield temporary
        for inside in temporary.rglob("*"):
            if inside.is_file():
                with open(inside, "rb") as file:
                    os.fsync(file.fileno())
        # mkdtemp makes folders that only their owner reads; give it what any new folder has.
        mask = os.umask(0)
        os.umask(mask)
        temporary.chmod(0o777 & ~mask)
        _take_place(temporary, path)
        _flush_folder(path.parent)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def _take_place(folder: Path, path: Path) -> None:
    """Give a folder its name; what had the name is removed once the new one is there."""
    if not path.exists():
        folder.rename(path)
        return
    former = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}."))
    try:
        path.rename(former / path.name)
        try:
            folder.rename(path)
        except BaseException:
            (former / path.name).rename(path)
            raise
    finally:
        shutil.rmtree(former, ignore_errors=True)


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


__all__ = ["locked_file", "whole_file", "whole_folder", "write_whole"]
