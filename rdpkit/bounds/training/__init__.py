"""Theorems about how batches are made in training."""

from __future__ import annotations

from rdpkit.bounds.base import RdpBound
from rdpkit.bounds.training import correlated_noise, shuffled

BOUNDS: tuple[RdpBound, ...] = (shuffled.BOUND, correlated_noise.TREE, correlated_noise.MATRIX)
