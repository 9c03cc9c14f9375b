"""Theorems about how batches are made in training."""

from __future__ import annotations

from rdpkit.bounds.base import RdpBound
from rdpkit.bounds.training import correlated_noise, epochs, truncated_poisson

BOUNDS: tuple[RdpBound, ...] = (
    epochs.SHUFFLED,
    epochs.ALLOCATED,
    truncated_poisson.BOUND,
    correlated_noise.TREE,
    correlated_noise.MATRIX,
)
