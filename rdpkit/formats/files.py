"""Writing files: a file is there as a whole or not at all. All of rdpkit writes through here."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Literal


@contextmanager
def whole_file(path: Path, *, new: bool = False) -> Iterator[Path]:
    """A temporary path beside ``path``, moved into its place when the block ends well.

    The content is on the disk (``fsync``) before the name points to it. After an error nothing is
    left behind, and a file that was there stays as it was. A device or a pipe stays what it is, and
    is written to at the end.

    Parameters
    ----------
    path : Path
        The file that is to be there in the end.
    new : bool
        Whether a file that has the name by then is an error instead of being replaced.

    Yields
    ------
    Path
        Where to write; it ends as ``path`` does, because some writers look at the ending.

    Raises
    ------
    FileExistsError
        If the file has to be new and is not.
    OSError
        If the folder does not exist or cannot be written to.
    """
    if not new and _is_device(path):
        with _to_device(path) as temporary:
            yield temporary
        return
    with _naming(path):
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
        if new:
            _claim_name(temporary, path)
        else:
            temporary.replace(path)
        _flush_folder(path.parent)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Errors name what is to be there in the end, and not the temporary name beside it."""
    try:
        yield
    except OSError as error:
        error.filename = os.fspath(path)
        raise


def _is_device(path: Path) -> bool:
    """Whether a path is a device, a pipe, or one of the names that a system has for them."""
    named = path.absolute().parent in (Path("/dev"), Path("/dev/fd"))
    return named or (path.exists() and not path.is_file())


@contextmanager
def _to_device(path: Path) -> Iterator[Path]:
    """A temporary path, whose content is written to a device when the block ends well."""
    if path.is_dir():
        raise IsADirectoryError(f"Expected the path of a file, got the folder {path}.")
    with tempfile.TemporaryDirectory() as folder:
        temporary = Path(folder) / path.name
        yield temporary
        with open(temporary, "rb") as source, open(path, "wb") as target:
            shutil.copyfileobj(source, target)


def _claim_name(temporary: Path, path: Path) -> None:
    """Give a file a name that no file has, even where another process does the same."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        raise
    except OSError:
        # A file system without hard links: the empty file holds the name until it is replaced.
        open(path, "xb").close()
        temporary.replace(path)
    else:
        temporary.unlink()


def write_whole(path: Path, content: bytes | str, *, new: bool = False) -> None:
    """Write a file, whole or not at all; text is written as UTF-8.

    Raises
    ------
    FileExistsError, OSError
        As :func:`whole_file`.
    """
    with whole_file(path, new=new) as temporary:
        temporary.write_bytes(content.encode() if isinstance(content, str) else content)


@contextmanager
def whole_folder(
    path: Path,  # The folder that is to be there in the end
) -> Iterator[Path]:
    """A temporary folder beside ``path``, moved into its place when the block ends well.

    All that was in the folder before is replaced; whether it may be is for the caller to know. The
    files are on the disk before the name points to them. After an error nothing is left behind, and
    a folder that was there stays as it was. A kill between two renames may leave the former folder
    beside it, under a name that begins with a dot. Yields an empty folder.
    """
    # A link stays a link: the folder that it leads to is replaced.
    path = path.resolve()
    with _naming(path):
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
def locked_file(
    path: Path,  # The file
    # "a+b": it is made if it is not there, and whatever is written is added to its end. "r+b": it
    # is there, and is read and written. "rb": it is only read, as others may meanwhile; this works
    # on a disk that cannot be written to.
    mode: Literal["a+b", "r+b", "rb"] = "a+b",
) -> Iterator[IO[bytes]]:
    """A file that no other process writes meanwhile, under whatever name it is known there.

    The file itself is locked, so that links to it lead to the same lock. It has no buffer: one
    write at a time. A pipe or a device is an error: it has no end, and keeps nothing.
    """
    while True:
        # Looked at first, because a pipe is not even opened before somebody writes into it.
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise OSError(f"{path}: expected a file that keeps what is written, as no pipe does.")
        with open(path, mode, buffering=0) as file:
            _lock(file.fileno(), shared=mode == "rb")
            # While this waited, another file may have been given the name.
            if not os.path.samestat(os.fstat(file.fileno()), os.stat(path)):
                continue
            # Closing the file ends the lock, also where the process is killed.
            yield file
            return


def _lock(descriptor: int, *, shared: bool) -> None:
    """Wait until no other process writes the file, or reads it where this one will write."""
    if os.name == "nt":
        import msvcrt  # noqa: PLC0415 - of Windows alone

        # Beyond the end of any file: what is locked there cannot even be read by others.
        os.lseek(descriptor, 2**40, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_LOCK, 1)  # type: ignore[attr-defined]
        os.lseek(descriptor, 0, os.SEEK_SET)
        return
    import fcntl  # noqa: PLC0415 - of Unix alone

    fcntl.flock(descriptor, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)


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
