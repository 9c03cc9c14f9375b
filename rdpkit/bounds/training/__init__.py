"""Theorems about how batches are made in training."""

from __future__ import annotations

from rdpkit.bounds.base import RdpBound
from rdpkit.bounds.training import (
    correlated_noise,
    random_allocation,
    shuffled,
    truncated_poisson,
    user_sampled,
)

BOUNDS: tuple[RdpBound, ...] = (
    shuffled.BOUND,
    random_allocation.BOUND,
    truncated_poisson.BOUND,
    user_sampled.BOUND,
    correlated_noise.TREE,
    correlated_noise.MATRIX,
)
