"""How far values are apart: what one record moves, and by how much of the noise."""

from __future__ import annotations

import math
from typing import Any, List, Optional

import numpy as np

from .noise import plain
from .tape import Call

ROUNDING = 1e-9
"""Values and sensitivities are computed in floats; a difference within this part is rounding."""


def moved(first: Any, second: Any) -> Optional[List[float]]:
    """The L1, the L2 and the largest difference of two values; None if they are no numbers."""
    if first is None or second is None:
        return None
    try:
        one, other = (numbers_of(value) for value in (first, second))
    except (TypeError, ValueError, RuntimeError):
        return None
    if one.shape != other.shape:
        return None if one.ndim else [math.inf] * 3
    with np.errstate(all="ignore"):
        by = np.abs(one - other)
    by = np.where((one == other) | (np.isnan(one) & np.isnan(other)), 0.0, by)
    by = np.where(np.isnan(by), np.inf, by)
    return [*_lengths(by), float(by.max(initial=0.0))]


def length_of_move(before: Call, after: Call, by: List[float]) -> float:
    """How far a value moved, measured as its sensitivity is."""
    if after.length in ("spectral", "spread") and by[2] < math.inf:
        difference = np.asarray(before.value) - np.asarray(after.value)
        return float(
            np.linalg.norm(difference, 2) if after.length == "spectral" else np.ptp(difference)
        )
    return by[1] if after.length == "euclidean" else by[2]


def relative(before: Call, after: Call) -> Optional[List[float]]:
    """How far the values moved in units of the noise: the L1 and the L2 length.

    For draws among probabilities, the sum of the largest logarithms of their ratios, twice.
    """
    first, second = (np.asarray(one.value, dtype=float) for one in (before, after))
    if first.shape != second.shape or not equal(before.scale, after.scale):
        return None
    answer = plain(before.answer)
    with np.errstate(all="ignore"):
        if before.family == "categorical":
            by = np.abs(np.log(first) - np.log(second))
        else:
            by = np.abs(first - second) / np.asarray(before.scale, dtype=float)
    by = np.where(first == second, 0.0, by)
    if before.family == "categorical":
        return [by.max(initial=0.0) * np.size(answer)] * 2
    if by.size < np.size(answer):
        # One value under many draws, each of which shows it.
        by = np.broadcast_to(by, np.shape(answer))
    return _lengths(by)


def _lengths(by: np.ndarray) -> List[float]:
    return [float(by.sum()), float(np.sqrt(np.square(by).sum()))]


def size_of(first: Any, second: Any) -> float:
    """The logarithm of the ratio of two numbers; infinite for anything else."""
    try:
        with np.errstate(all="ignore"):
            one, other = (np.log(np.abs(np.asarray(v, dtype=float))) for v in (first, second))
            largest = float(np.max(np.abs(one - other), initial=0.0))
    except (TypeError, ValueError):
        return math.inf
    return math.inf if math.isnan(largest) else largest


def numbers_of(value: Any) -> Any:
    """An array of floats; also of a tensor, whose gradient nobody needs."""
    detached = value.detach().cpu() if hasattr(value, "detach") else value
    return np.asarray(detached, dtype=float)


def equal(first: Any, second: Any) -> bool:
    """Whether two values are the same but for rounding; functions are not compared."""
    try:
        if callable(first) and callable(second):
            return True
        one, other = np.asarray(first), np.asarray(second)
        if one.shape != other.shape:
            return False
        if one.dtype.kind == "f" and other.dtype.kind in "fiu":
            return bool(np.allclose(one, other, rtol=ROUNDING, atol=0.0, equal_nan=True))
        return bool(np.all(one == other))
    except Exception:  # objects of the examined library may refuse to be compared
        return repr(first) == repr(second)


def short(value: Any) -> str:
    """A value in a few words."""
    value = plain(value)
    if isinstance(value, np.generic):
        value = value.item()
    shown = value if isinstance(value, str) else repr(value)
    return shown if len(shown) <= 120 else shown[:117] + "..."
