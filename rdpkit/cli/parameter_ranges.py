"""The values of one parameter in a sweep: a list, a range, or a geometric range."""

from __future__ import annotations

import math

import numpy as np

SYNTAX = "X,X,... or FROM:TO:COUNT, with :log at the end for equal ratios"

_LARGEST = 10_000_000


def numbers(
    name: str,  # The option or the path that gives them, for errors
    # Numbers with commas between them, or ``FROM:TO:COUNT``, both ends included, or
    # ``FROM:TO:COUNT:log``.
    text: str,
) -> list[float]:
    """Read the values that one parameter takes.

    Examples
    --------
    >>> numbers("noise", "1,2.5")
    [1.0, 2.5]
    >>> numbers("noise", "0:1:3")
    [0.0, 0.5, 1.0]
    >>> numbers("noise", "1:100:3:log")
    [1.0, 10.0, 100.0]
    """
    try:
        if ":" not in text:
            return [_number(item) for item in text.split(",")]
        parts = text.split(":")
        scale = parts.pop() if len(parts) == 4 else ""
        if len(parts) != 3 or scale not in ("", "log"):
            raise ValueError
        first, last, count = _number(parts[0]), _number(parts[1]), int(parts[2])
        if not 1 <= count <= _LARGEST or (scale and not (first > 0.0 and last > 0.0)):
            raise ValueError
        spaced = np.geomspace if scale else np.linspace
        found: list[float] = spaced(first, last, count).tolist()
    except ValueError:
        raise ValueError(f"Expected {name} to be {SYNTAX}, got {text!r}.") from None
    return found


def integers(name: str, text: str) -> list[int]:
    """Read the integers that one parameter takes; a range is rounded and keeps each once.

    Examples
    --------
    >>> integers("count", "1:1000:4:log")
    [1, 10, 100, 1000]
    """
    found = numbers(name, text)
    if ":" in text:
        return sorted({round(value) for value in found})
    if any(value != math.floor(value) for value in found):
        raise ValueError(f"Expected {name} to be integers with commas between them, got {text!r}.")
    return [int(value) for value in found]


def _number(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError
    return value
