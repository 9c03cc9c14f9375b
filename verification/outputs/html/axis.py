"""One logarithmic axis for all claims, with places of their own for 0 and infinity."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

# Labels on a wide page, and on a phone, whose axis is about 300 pixels wide.
_MOST_LABELS, _FEW_LABELS = 9, 4
# The part of the width beside the powers of ten for 0, or for infinity.
_BESIDE = 12.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """Powers of ten from left to right."""

    # Exponents of ten at the ends; ``high`` is larger.
    low: int
    high: int
    # Whether there is a place for 0 at the left, and for infinity at the right.
    zero: bool = False
    infinite: bool = False

    @classmethod
    def around(cls, values: Iterable[float]) -> Axis:
        """The shortest axis that holds all values."""
        values = list(values)
        logs = [math.log10(value) for value in values if 0.0 < value < math.inf]
        low, high = (math.floor(min(logs)), math.ceil(max(logs))) if logs else (-1, 1)
        return cls(
            low=low,
            high=max(high, low + 1),
            zero=any(value <= 0.0 for value in values),
            infinite=any(math.isinf(value) for value in values),
        )

    @property
    def _ends(self) -> tuple[float, float]:
        """Where the powers of ten begin and end, in per cent."""
        return (_BESIDE if self.zero else 0.0), 100.0 - (_BESIDE if self.infinite else 0.0)

    def place(self, value: float) -> str:
        """Where a value stands, in per cent of the width."""
        if value <= 0.0:
            return "0%"
        if math.isinf(value):
            return "100%"
        left, right = self._ends
        share = (math.log10(value) - self.low) / (self.high - self.low)
        return f"{left + (right - left) * min(max(share, 0.0), 1.0):.2f}%"

    @property
    def ticks(self) -> tuple[tuple[str, str, bool], ...]:
        """Places, labels, and whether there is room for the label on a phone."""
        decades = self.high - self.low
        step = max(1, math.ceil(decades / (_MOST_LABELS - 1)))
        few = step * math.ceil(decades / (_FEW_LABELS * step))
        found = [
            (self.place(10.0**k), f"{10.0**k:g}", (k - self.low) % few == 0)
            for k in range(self.low, self.high + 1, step)
        ]
        zero = [("0%", "0", True)] if self.zero else []
        infinite = [("100%", "\N{INFINITY}", True)] if self.infinite else []
        return (*zero, *found, *infinite)

    @property
    def lines(self) -> tuple[str, ...]:
        """Where the powers of ten are."""
        return tuple(self.place(10.0**k) for k in range(self.low, self.high + 1))
