"""One logarithmic axis for all claims, with room for 0 and infinity at its ends."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

_MOST_LABELS = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """Powers of ten from left to right.

    Parameters
    ----------
    low, high : int
        Exponents of ten at the ends; ``high`` is larger.
    """

    low: int
    high: int

    @classmethod
    def around(cls, values: Iterable[float]) -> Axis:
        """The shortest axis that holds all positive finite values."""
        logs = [math.log10(value) for value in values if 0.0 < value < math.inf]
        if not logs:
            return cls(low=-1, high=1)
        low, high = math.floor(min(logs)), math.ceil(max(logs))
        return cls(low=low, high=max(high, low + 1))

    def place(self, value: float) -> str:
        """Where a value stands, in per cent of the width; 0 and infinity are at the ends."""
        if value <= 0.0:
            return "0%"
        if math.isinf(value):
            return "100%"
        share = (math.log10(value) - self.low) / (self.high - self.low)
        return f"{100.0 * min(max(share, 0.0), 1.0):.2f}%"

    @property
    def decade(self) -> str:
        """Width of a power of ten, in per cent."""
        return f"{100.0 / (self.high - self.low):.6f}%"

    @property
    def ticks(self) -> tuple[tuple[str, str], ...]:
        """Places and labels; if there are many powers of ten, some have no label."""
        step = max(1, math.ceil((self.high - self.low) / (_MOST_LABELS - 1)))
        exponents = range(self.low, self.high + 1, step)
        return tuple((self.place(10.0**k), f"{10.0**k:g}") for k in exponents)
