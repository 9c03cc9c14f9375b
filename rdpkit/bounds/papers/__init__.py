"""The papers' guarantees as printed, and DP-CDA's corrected one.

What is printed is there for comparison, and is never part of an upper bound.
"""

from __future__ import annotations

from rdpkit.bounds.base import RdpBound
from rdpkit.bounds.papers import dpcda, published

BOUNDS: tuple[RdpBound, ...] = (
    published.DPMIX,
    published.CLASS_WISE_DPMIX,
    dpcda.BOUND,
    dpcda.CLASS,
    dpcda.CORRECTED,
    published.LINEAR,
    published.NONLINEAR,
)
"""The theorems of this folder. A new theorem needs a line here, and nothing else.

If several theorems are about one event, the first one listed is the first one shown.
"""
