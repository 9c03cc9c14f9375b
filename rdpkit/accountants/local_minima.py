"""Local minima of a function of the order: found on a grid, then located one by one."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rdpkit.bounds.base import Array

Function = Callable[[Array], Array]
"""Maps places u = log(order - 1) of shape (k,) to values; inf where nothing is known."""

# Each round looks at nine points around the best one, and the next at nine between its neighbours.
WINDOW = np.linspace(-1.0, 1.0, 9)
_WIDER = 2.0
_NARROWEST = 1e-9
_ROUNDS = 24


@dataclass(frozen=True, slots=True)
class Minimum:
    """The lowest place of a function between some places."""

    # Where to look next, and how far to either side.
    centre: float
    width: float
    # The lowest place that was looked at, and the value there.
    place: float
    best: float
    # The lowest place and the value there by interpolation.
    vertex: float
    bottom: float
    error: float  # How wrong ``bottom`` may be

    @classmethod
    def of(cls, grid: Array, values: Array, pick: int, known: Minimum | None = None) -> Minimum:
        """The minimum near a grid point that is not above its neighbours, or is at an end."""
        here, place = float(values[pick]), float(grid[pick])
        best = here
        if known is not None and known.best < here:
            best, place = known.best, known.place
        vertex, bottom, error = float(grid[pick]), here, 0.0
        width = float(grid[min(pick + 1, grid.size - 1)] - grid[max(pick - 1, 0)])
        if 0 < pick < grid.size - 1:
            vertex, bottom, error = _interpolated(grid, values, pick)
            width /= 2.0
        return cls(
            centre=float(grid[pick]),
            width=max(width, _NARROWEST),
            place=place,
            best=best,
            vertex=vertex,
            bottom=min(bottom, best),
            error=error,
        )


def lowest(
    function: Function,  # Of the places in ``grid``
    known: tuple[Array, Array],  # Ascending places, and the function there; shape (k,)
    span: tuple[float, float],  # The ends of what is allowed
    accepted: Callable[[float], float],  # What error a value may have
    # Whether a minimum that is known by interpolation need not be evaluated there.
    certain: Callable[[Minimum], bool],
) -> Minimum:
    """The lowest of the local minima that a grid shows; those that cannot be it are skipped."""
    grid, values = known
    candidates = (Minimum.of(grid, values, int(k)) for k in indices_of_minima(values))
    found: Minimum | None = None
    for minimum in sorted(candidates, key=lambda one: one.bottom - one.error):
        if found is not None and minimum.bottom - minimum.error >= found.best:
            continue
        settled = settle(function, minimum, span, accepted, certain)
        if found is None or settled.best < found.best:
            found = settled
    assert found is not None  # the lowest of all points is not above its neighbours
    return found


def settle(
    function: Function,
    minimum: Minimum,
    span: tuple[float, float],
    accepted: Callable[[float], float],
    certain: Callable[[Minimum], bool],
) -> Minimum:
    """Narrow the surroundings of a minimum until its value is known well; see :func:`lowest`."""
    for _ in range(_ROUNDS):
        if minimum.error <= accepted(minimum.bottom):
            if certain(minimum):
                return minimum
            # Evaluate at the interpolated minimum: a value far off shows that it is no parabola.
            value = float(function(np.array([minimum.vertex]))[0])
            wrong = value - minimum.bottom > accepted(minimum.bottom)
            if value < minimum.best:
                minimum = replace(minimum, best=value, place=minimum.vertex)
            if not wrong:
                return minimum
        grid = np.unique(np.clip(minimum.centre + minimum.width * WINDOW, *span))
        values = function(grid)
        pick = int(np.argmin(values))
        minimum = Minimum.of(grid, values, pick, known=minimum)
        if pick in (0, grid.size - 1) and span[0] < grid[pick] < span[1]:
            wide = _WIDER * float(grid[-1] - grid[0])
            minimum = replace(minimum, width=wide, error=math.inf)
        elif minimum.width <= _NARROWEST:
            return minimum
    return minimum


def indices_of_minima(values: Array) -> NDArray[np.int64]:
    """Where a sequence is not above its neighbours."""
    padded = np.concatenate([[math.inf], values, [math.inf]])
    return np.flatnonzero((values <= padded[:-2]) & (values <= padded[2:]))


def _interpolated(grid: Array, values: Array, pick: int) -> tuple[float, float, float]:
    """The lowest place and value by a parabola through grid points, and the error of the value."""
    place, here = float(grid[pick]), float(values[pick])
    left, right = float(values[pick - 1]), float(values[pick + 1])
    first, second = float(grid[pick] - grid[pick - 1]), float(grid[pick + 1] - grid[pick])
    rise = (left - here) + (right - here)
    if math.isnan(rise):
        return place, here, 0.0
    # Beyond the lowest point a function is assumed to fall by no more than it fell before it.
    error = max(left - here, right - here)
    if not math.isfinite(rise) or rise <= 0.0 or abs(first - second) > 0.01 * first:
        return place, here, error
    tilt = 0.5 * (right - left)
    # The parabola predicts the next neighbours of a smooth minimum, but not of a kink or a jump.
    strays = [
        0.25 * abs(float(values[pick + k]) - (here + k * tilt + 0.5 * k * k * rise))
        for k in (-2, 2)
        if 0 <= pick + k < grid.size and math.isfinite(values[pick + k])
    ]
    stray = max(strays, default=math.inf)
    if stray >= error:
        return place, here, error
    return place - first * tilt / rise, here - 0.5 * tilt * tilt / rise, stray
