"""Columns brought to a common centre and scale, so that nothing overflows in any unit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rdpkit.verification.blackbox.scores.training_outputs import TrainingOutputs, thinned
from rdpkit.verification.estimators.base import Array

# Centres and scales are computed from at most this many outputs, and values, of each side, but from
# no fewer outputs than this.
_MOST_ROWS, _MOST_VALUES, _FEWEST = 1000, 2**22, 50
# The standard deviation of a normal distribution over its median absolute deviation.
_NORMAL = 1.4826
_LARGEST = 1e300


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Standard:
    """Some columns of an output, centred and divided by their spread."""

    columns: NDArray[np.intp]  # The columns; shape (k,)
    # What is subtracted, and what the difference is divided by; shape (k,).
    centre: Array
    scale: Array
    furthest: float = 1e6  # The result is clipped at this distance from 0

    def __call__(self, outputs: Array, /) -> Array:
        """Columns in standard units, shape (n, k)."""
        chosen = outputs
        if len(self.columns) != outputs.shape[1]:
            chosen = outputs[:, self.columns]
        with np.errstate(over="ignore", under="ignore"):
            unit = np.clip(chosen, -_LARGEST, _LARGEST)
            unit -= self.centre
            unit /= self.scale
        return np.clip(unit, -self.furthest, self.furthest, out=unit)

    def of(self, places: NDArray[np.intp]) -> Standard:
        """The same for some of its columns, given by their places among them."""
        return Standard(
            columns=self.columns[places],
            centre=self.centre[places],
            scale=self.scale[places],
            furthest=self.furthest,
        )


def standard(
    training: TrainingOutputs,  # The outputs to learn from
    *,
    furthest: float = 1e6,  # Where standard units are clipped
) -> Standard:
    """The robust centre and scale of every column of numbers that varies."""
    most = max(_FEWEST, min(_MOST_ROWS, _MOST_VALUES // max(1, training.p.shape[1])))
    rows = np.concatenate([thinned(side, most) for side in (training.p, training.q)])
    columns = training.numbers
    rows = np.clip(rows[:, columns], -_LARGEST, _LARGEST)
    centre = np.median(rows, axis=0)
    with np.errstate(over="ignore", under="ignore"):
        distances = np.abs(rows - centre)
        scale = _NORMAL * np.median(distances, axis=0)
        # Most outputs may be equal, and the scale is then that of the others.
        rare = scale == 0.0
        largest = distances[:, rare].max(axis=0)
        parts = distances[:, rare] / np.where(largest > 0.0, largest, 1.0)
        scale[rare] = largest * np.sqrt(np.mean(parts**2, axis=0))
    kept = (scale > 0.0) & np.isfinite(scale)
    return Standard(
        columns=columns[kept], centre=centre[kept], scale=scale[kept], furthest=furthest
    )
