"""Theorems about synthesis from a mean and a covariance."""

from __future__ import annotations

from rdpkit.bounds.base import RdpBound
from rdpkit.bounds.synthesis import direct, miura2023, regularised

BOUNDS: tuple[RdpBound, ...] = (
    miura2023.THEOREM,
    miura2023.EVERY_PAIR,
    miura2023.COROLLARY,
    miura2023.CORRECTED,
    direct.REPLACED,
    direct.ADDED_OR_REMOVED,
    regularised.REPLACED,
    regularised.ADDED_OR_REMOVED,
)
"""The theorems of this folder. A new theorem needs a line here, and nothing else."""
