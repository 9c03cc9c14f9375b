"""Guarantees of the papers as printed, to compare with; never part of an upper bound."""

from __future__ import annotations

from rdpkit.bounds.base import RdpBound
from rdpkit.bounds.papers import (
    dpcda_corrected,
    dpcda_theorem1,
    dpmix_published,
    ldpdc_thm31,
    ndpdc_thm32,
)

BOUNDS: tuple[RdpBound, ...] = (
    dpmix_published.BOUND,
    dpmix_published.CLASS_WISE,
    dpcda_theorem1.BOUND,
    dpcda_theorem1.CLASS,
    dpcda_corrected.BOUND,
    ldpdc_thm31.BOUND,
    ndpdc_thm32.BOUND,
)
"""The theorems of this folder; a new one needs a line here, and nothing else.

Where several are about one event, the one that a reader should see first comes first.
"""
