"""The state of a long synthesis in a file, so that an interruption loses minutes, not hours."""

from __future__ import annotations

import json
import time
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from rdpkit import _validate
from rdpkit.mechanisms.releases.arrays import AnyArray, write_arrays

_IDENTITY = "identity"


class Checkpoint:
    """A file from which an unfinished synthesis goes on after an interruption.

    The file holds what a mechanism has computed from its noisy answers so far. That is
    post-processing of the answers. The file holds neither the key of the noise nor anything else
    about the private data, so it is as public as the release will be. But whoever sees both a
    checkpoint and a release that was *not* continued from it has seen two releases.

    Parameters
    ----------
    path : str or Path
        The file to write, ending in ``.npz``; folders are made when they are needed.
    run : str
        A name for everything that the mechanism's own parameters do not say, such as the data set.
    every : float
        Seconds between two writings.

    Raises
    ------
    ValueError
        If ``path`` does not end in ``.npz``, or ``every`` is negative.
    """

    __slots__ = ("_every", "_identity", "_run", "_written", "path")

    def __init__(self, path: str | Path, *, run: str = "", every: float = 60.0) -> None:
        self.path = Path(path)
        if self.path.suffix != ".npz":
            raise _validate.fail("path", "to end in .npz", str(path))
        self._every = _validate.non_negative("every", every)
        self._run = run
        self._identity = ""
        self._written = time.monotonic()

    def resume(self, **parameters: Any) -> dict[str, AnyArray] | None:
        """What was saved last by a run of the same parameters; None if there is no file.

        Parameters
        ----------
        **parameters
            Everything that decides what the run does, as plain JSON values.

        Raises
        ------
        ValueError
            If the file is of another run, or no checkpoint.
        """
        self._identity = json.dumps({"run": self._run, **parameters}, sort_keys=True)
        try:
            # numpy does not close a damaged file that it has opened itself.
            with open(self.path, "rb") as file, np.load(file, allow_pickle=False) as archive:
                found = {name: archive[name] for name in archive.files}
            identity = found.pop(_IDENTITY).tobytes().decode()
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
            raise self.wrong(f"cannot be read ({error})") from None
        if identity != self._identity:
            raise self.wrong("is of a run with other parameters")
        return found

    def wrong(self, why: str) -> ValueError:
        """The error about a file from which a run cannot be continued."""
        return ValueError(f"{self.path}: the checkpoint {why}; remove it to begin anew.")

    def is_due(self) -> bool:
        """Whether it is time to save."""
        return time.monotonic() - self._written >= self._every

    def save(self, arrays: Mapping[str, AnyArray]) -> None:
        """Write arrays under a temporary name and move them.

        Raises
        ------
        OSError
            If the file cannot be written.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        identity = np.frombuffer(self._identity.encode(), np.uint8)
        write_arrays(self.path, {**arrays, _IDENTITY: identity})
        self._written = time.monotonic()

    def clear(self) -> None:
        """Remove the file, if there is one."""
        self.path.unlink(missing_ok=True)


__all__ = ["Checkpoint"]
