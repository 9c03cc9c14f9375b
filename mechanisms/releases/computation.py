"""How a release is computed: device, precision, file, checkpoint and progress."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import DTypeLike

from rdpkit.mechanisms.releases.checkpoint import Checkpoint

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
