"""Theorems about events that select one output out of several."""

from __future__ import annotations

from rdpkit.bounds.base import RdpBound
from rdpkit.bounds.selection import above_threshold, gaussian_above_threshold, papernot2022

BOUNDS: tuple[RdpBound, ...] = (
    papernot2022.BOUND,
    papernot2022.UNTIL,
    above_threshold.BOUND,
    gaussian_above_threshold.BOUND,
)
"""The theorems of this folder. A new theorem needs a line here, and nothing else."""
