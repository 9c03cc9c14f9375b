"""Theorems about events of which somebody states a guarantee."""

from __future__ import annotations

from rdpkit.bounds.base import RdpBound
from rdpkit.bounds.stated import zero_concentrated

BOUNDS: tuple[RdpBound, ...] = (zero_concentrated.BOUND,)
"""The theorems of this folder. A new theorem needs a line here, and nothing else."""
