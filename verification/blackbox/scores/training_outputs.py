"""Outputs that scores are learnt from, and their columns in standard units."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from rdpkit.verification.blackbox.neighbours import Neighbours
from rdpkit.verification.estimators.base import Array

# Outputs are never thinned below this number.
_FEWEST = 200
# How many columns a message names.
_MOST_NAMES = 4
# Centres and scales are computed from at most this many outputs, and values, of each side, but from
# no fewer outputs than this.
_MOST_ROWS, _MOST_VALUES, _FEWEST_FOR_SCALES = 1000, 2**22, 50
# The standard deviation of a normal distribution over its median absolute deviation.
_NORMAL = 1.4826
_LARGEST = 1e300


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TrainingOutputs:
    """Outputs of past runs on both data sets, and what is known about their columns."""

    # Encoded outputs on D and on D'.
    p: Array
    q: Array
    shapes: tuple[tuple[int, ...], ...]
    """The shapes of the arrays of a release, in the order in which they are flattened."""
    is_number: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))
    """Whether a column holds a number; False for codes of categories, of which only equality means
    anything. By default all columns hold numbers.
    """
    pair: Neighbours | None = None  # The data sets; None if they are not known
    name: Callable[[int], str] = str  # The name of a column in a release; by default its number

    def __post_init__(self) -> None:
        width = self.p.shape[1:]
        if not self.is_number.size:
            object.__setattr__(self, "is_number", np.ones(width, dtype=np.bool_))
        if self.p.ndim != 2 or self.q.shape[1:] != width or self.is_number.shape != width:
            raise ValueError(
                "Expected outputs on D and D' of shapes (n, d) and (m, d) and one entry of "
                f"is_number for each column, got {self.p.shape}, {self.q.shape} and "
                f"{self.is_number.shape}."
            )

    @property
    def runs(self) -> int:
        """Runs on the side with fewer of them."""
        return min(len(self.p), len(self.q))

    @property
    def numbers(self) -> NDArray[np.intp]:
        """The columns that hold numbers."""
        return np.flatnonzero(self.is_number)

    def only_numbers(self) -> tuple[Array, Array]:
        """The outputs of the columns that hold numbers."""
        if self.is_number.all():
            return self.p, self.q
        return self.p[:, self.numbers], self.q[:, self.numbers]

    def names(self, columns: Sequence[int]) -> str:
        """The names of the first columns among these."""
        some = ", ".join(self.name(int(column)) for column in columns[:_MOST_NAMES])
        return some + " and others" * (len(columns) > _MOST_NAMES)

    def within(self, values: float) -> TrainingOutputs:
        """So many outputs of each side, evenly spread, that they hold at most this many values."""
        return self.thinned(max(_FEWEST, int(values / max(1, self.p.shape[1]))))

    def half(self, which: int) -> TrainingOutputs:
        """Every second output, beginning with the first (0) or with the second (1)."""
        return replace(self, p=self.p[which::2], q=self.q[which::2])

    def thinned(self, runs: int) -> TrainingOutputs:
        """At most this many outputs of each side, evenly spread."""
        if max(len(self.p), len(self.q)) <= runs:
            return self
        return replace(self, p=thinned(self.p, runs), q=thinned(self.q, runs))


def thinned(rows: Array, most: int) -> Array:
    """At most this many rows, evenly spread; which ones depends on the number of rows alone."""
    if len(rows) <= most:
        return rows
    return rows[np.arange(most) * len(rows) // most]


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
    most = max(_FEWEST_FOR_SCALES, min(_MOST_ROWS, _MOST_VALUES // max(1, training.p.shape[1])))
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
