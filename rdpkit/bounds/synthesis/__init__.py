"""Theorems about synthesis from a mean and a covariance."""

from __future__ import annotations

from rdpkit.bounds.base import RdpBound
from rdpkit.bounds.synthesis import direct, exact, miura2023_cor32, miura2023_thm31, regularised

BOUNDS: tuple[RdpBound, ...] = (
    miura2023_thm31.PUBLISHED,
    miura2023_thm31.UPPER,
    miura2023_cor32.PUBLISHED,
    miura2023_cor32.UPPER,
    direct.BOUND,
    exact.BOUND,
    regularised.REPLACED,
    regularised.ADDED_OR_REMOVED,
)
"""The theorems of this folder. A new theorem needs a line here, and nothing else."""
