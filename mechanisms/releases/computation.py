"""How a release is computed: device, file and progress; and the file of an unfinished run."""

from __future__ import annotations

import json
import time
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from rdpkit import Adjacency, _validate
from rdpkit.mechanisms.parts.counts import CountsUse, KnownCounts, NoisyCounts, Sizes
from rdpkit.mechanisms.parts.privacy import Privacy
from rdpkit.mechanisms.releases.files import AnyArray, write_arrays

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
        saved = self._read()
        if saved is None:
            return None
        found, identity = saved
        if identity != self._identity:
            raise self.wrong("is of a run with other parameters")
        return found

    def parameter(self, name: str) -> Any:
        """A parameter of the run that is saved; None if nothing is saved, or not of this run."""
        saved = self._read()
        if saved is None:
            return None
        try:
            identity = json.loads(saved[1])
            return identity.get(name) if identity["run"] == self._run else None
        except (ValueError, KeyError, AttributeError) as error:
            raise self.wrong(f"cannot be read ({error})") from None

    def _read(self) -> tuple[dict[str, AnyArray], str] | None:
        """The arrays and the identity of what is saved; None if there is no file."""
        try:
            # numpy does not close a damaged file that it has opened itself.
            with open(self.path, "rb") as file, np.load(file, allow_pickle=False) as archive:
                found = {name: archive[name] for name in archive.files}
            return found, found.pop(_IDENTITY).tobytes().decode()
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
            raise self.wrong(f"cannot be read ({error})") from None

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


def counts_of_run(
    actual: Sizes,  # The data's own class sizes
    use: CountsUse,  # What the mechanism needs
    privacy: Privacy,  # Says how counts become known
    checkpoint: Checkpoint | None,  # From which the run may continue
) -> KnownCounts:
    """The numbers of records of a run; noisy ones are those with which it began.

    Counts that were drawn again would be a second release, which nothing pays for. Seeded noise is
    drawn again all the same: the numbers are the same, and the run goes on in the same stream.
    """
    if (
        checkpoint is not None
        and isinstance(privacy.counts, NoisyCounts)
        and not privacy.noise.reproducible
    ):
        stored = checkpoint.parameter("counts")
        if stored is not None:
            try:
                return KnownCounts.from_dict(stored, use, Adjacency.parse(privacy.adjacency))
            except ValueError as error:
                raise checkpoint.wrong(f"cannot be read ({error})") from None
    return privacy.known_counts(actual, use)


# How a release is computed: device, precision, file, checkpoint and progress.

Progress = Callable[[int, int], None]
"""Called with the number of finished steps and the number of all steps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Computation:
    """How a release is computed. None of it changes what the release guarantees."""

    device: str | None = None
    """Torch device such as "cuda". By default everything is computed on the processor."""
    checkpoint: Checkpoint | None = None
    """File in which NDPDC keeps an unfinished run. Other mechanisms do not take hours and ignore
    it.
    """
    progress: Progress | None = None  #: Called with (records made or steps done, all of them)
    dtype: DTypeLike = np.float32
    """Type of the released features, float32 or float64. Mechanisms that learn images release
    float32 and ignore it.
    """
    out: str | Path | None = None
    """File ``X.npy`` to which the features are written batch by batch, so that they may be larger
    than memory. Mechanisms that learn images keep them in memory and ignore it.
    """

    @property
    def torch_device(self) -> str:
        """Name of the device for mechanisms that compute with torch everywhere."""
        return self.device or "cpu"

    def report(self, done: int, total: int) -> None:
        """Call ``progress``, if it is given."""
        if self.progress is not None:
            self.progress(done, total)


ON_PROCESSOR = Computation()
"""The defaults: on the processor, in memory, in single precision, without a checkpoint."""
