"""Exact structure in outputs: combinations without noise, and grids.

Both are what a score can look at (:mod:`rdpkit.verification.blackbox.scores`), and what a mistake
can be named by (:mod:`rdpkit.verification.blackbox.mistakes`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from rdpkit.verification.estimators.base import Array

_EPS = float(np.finfo(np.float64).eps)
# Columns that are looked at together.
_MOST_COLUMNS = 256
# A combination has no noise if it varies less than this, relative to its parts.
_NOISELESS = 1e-9
# What differs by less than this, relative to the parts, differs by rounding.
_DIFFERENT = 1e-6
_SHARE = 0.98
# A point is on the grid if it is nearer to it than this part of a step. Uniform digits are so with
# probability 0.2.
_NEAR = 0.1
_FEWEST = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Noiseless:
    """A combination of outputs that does not vary on at least one of the data sets.

    Parameters
    ----------
    columns : tuple of int
        The outputs in it.
    weights : tuple of float
        Their weights.
    spread : float
        Its standard deviation over that of its parts.
    gap : float
        How far apart it is on the two data sets, in the units of the output.
    """

    columns: tuple[int, ...]
    weights: tuple[float, ...]
    spread: float
    gap: float

    def __call__(self, outputs: Array, /) -> Array:
        """The combination, for each row."""
        return np.asarray(outputs[:, list(self.columns)] @ np.array(self.weights))


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseGrid:
    """A grid on which one output lies on one of the data sets, and elsewhere on the other.

    Parameters
    ----------
    column : int
        The output.
    origin : float
        A point of the grid.
    step : float
        A power of two.
    shift : float
        How far the other data set's outputs are from it, in steps, in (0, 0.5].
    """

    column: int
    origin: float
    step: float
    shift: float

    def __call__(self, outputs: Array, /) -> Array:
        """Distance to the grid in steps, in [0, 0.5], for each row."""
        return _distance(outputs[:, self.column], self.origin, self.step)


@dataclass(frozen=True, slots=True, kw_only=True)
class Structure:
    """What there is of both.

    Parameters
    ----------
    noiseless : Noiseless or None
        A combination of outputs that does not vary, where the data sets differ in it.
    grid : NoiseGrid or None
        A grid on which outputs lie, where the data sets differ in it.
    """

    noiseless: Noiseless | None = None
    grid: NoiseGrid | None = None


def structure_of(p_outputs: Array, q_outputs: Array) -> Structure:
    """What outputs on D and on D' show; fewer than 20 of them show nothing.

    Parameters
    ----------
    p_outputs, q_outputs : ndarray, shape (n, d) and (m, d)
        Outputs of independent runs.
    """
    if min(len(p_outputs), len(q_outputs)) < _FEWEST:
        return Structure()
    return Structure(
        noiseless=noiseless_direction(p_outputs, q_outputs), grid=grid_of(p_outputs, q_outputs)
    )


def noiseless_direction(p_outputs: Array, q_outputs: Array) -> Noiseless | None:
    """The combination that varies least, if it does not vary and tells the data sets apart."""
    columns = _columns(p_outputs, q_outputs)
    for side, other in ((p_outputs, q_outputs), (q_outputs, p_outputs)):
        rows, others = side[:, columns], other[:, columns]
        found = _in_columns(rows, others)
        if found is not None:
            weights, spread, gap = found
            used = np.abs(weights) > _DIFFERENT * np.abs(weights).max()
            return Noiseless(
                columns=tuple(int(column) for column in columns[used]),
                weights=tuple(float(weight) for weight in weights[used]),
                spread=spread,
                gap=gap,
            )
    return None


def _columns(p_outputs: Array, q_outputs: Array) -> NDArray[np.intp]:
    """The columns to look at: those whose means differ most, if there are too many."""
    width = p_outputs.shape[1]
    # With fewer rows than columns something always has no variance.
    room = min(_MOST_COLUMNS, (min(len(p_outputs), len(q_outputs)) - 1) // 4)
    if width <= room:
        return np.arange(width)
    gap = np.abs(p_outputs.mean(axis=0) - q_outputs.mean(axis=0))
    spread = p_outputs.std(axis=0) + q_outputs.std(axis=0)
    clear = gap / np.where(spread > 0.0, spread, 1.0) + np.where(
        (spread == 0.0) & (gap > 0.0), np.inf, 0.0
    )
    return np.sort(np.argsort(-clear, kind="stable")[:room])


def _in_columns(rows: Array, others: Array) -> tuple[Array, float, float] | None:
    size = np.abs(rows).max(axis=0)
    # Relative to one of them, what is constant is exactly so.
    rows, others = rows - rows[0], others - rows[0]
    centre = rows.mean(axis=0)
    spread = rows.std(axis=0)
    # What varies by rounding only has no noise of its own.
    noisy = spread > 16.0 * _EPS * size
    scale = np.where(noisy, spread, np.where(size > 0.0, size, 1.0))
    residuals = (rows - centre) / scale
    _, singular, basis = np.linalg.svd(residuals, full_matrices=False)
    deviations = singular / math.sqrt(len(rows))
    still = basis[deviations < _NOISELESS]
    if not len(still):
        return None
    gaps = still @ ((others.mean(axis=0) - centre) / scale)
    length = float(np.linalg.norm(gaps))
    if length < _DIFFERENT:
        return None
    direction = gaps @ still / length
    # Leave out columns that have nothing to do with it.
    direction[np.abs(direction) < _DIFFERENT] = 0.0
    weights = direction / scale
    weights = weights / np.abs(weights).max()
    values, other_values = rows @ weights, others @ weights
    parts = float(np.abs(weights * spread).max())
    varies = float(values.std()) / parts if parts > 0.0 else 0.0
    gap = float(abs(other_values.mean() - values.mean()))
    if varies > math.sqrt(_NOISELESS * _DIFFERENT) or gap <= 1e3 * float(values.std()):
        return None
    return weights, varies, gap


def grid_of(p_outputs: Array, q_outputs: Array) -> NoiseGrid | None:
    """The grid on which the data sets differ most clearly, if there is one."""
    best: NoiseGrid | None = None
    for column in _columns(p_outputs, q_outputs):
        for side, other in ((p_outputs, q_outputs), (q_outputs, p_outputs)):
            found = _grid_of_column(side[:, column], other[:, column])
            if found is None:
                continue
            grid = NoiseGrid(column=int(column), origin=found[0], step=found[1], shift=found[2])
            if best is None or grid.shift > best.shift:
                best = grid
    return best


def _grid_of_column(values: Array, others: Array) -> tuple[float, float, float] | None:
    """Origin, largest step, and shift; None if there is no grid, or the data sets share it."""
    if len(np.unique(values)) < _FEWEST:
        return None
    size = max(float(np.abs(values).max()), float(np.abs(others).max()))
    origin = float(values[0])
    # The finest grid that rounding errors of the outputs leave visible.
    finest = 2.0 ** math.ceil(math.log2(64.0 * _EPS * size))
    step, found = finest, None
    while step < size:
        near = _distance(values, origin, step) < _NEAR
        if near.mean() < _SHARE:
            break
        shift = float(np.median(_distance(others, origin, step)))
        same = float((_distance(others, origin, step) < _NEAR).mean())
        if shift > 2.0 * _NEAR and same < 1.0 - _SHARE:
            found = (step, shift)
        step *= 2.0
    return None if found is None else (origin, *found)


def _distance(values: Array, origin: float, step: float) -> Array:
    steps = (values - origin) / step
    return np.asarray(np.abs(steps - np.round(steps)))


__all__ = ["NoiseGrid", "Noiseless", "Structure", "grid_of", "noiseless_direction", "structure_of"]
