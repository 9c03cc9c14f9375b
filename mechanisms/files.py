"""Files that are there whole or not at all, however large."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A temporary path beside ``path``, moved into its place when the block ends well.

    After an error nothing is left behind, and a file that was there stays as it was.

    Parameters
    ----------
    path : Path
        The file that is to be there in the end.

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
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


__all__ = ["whole_file"]
