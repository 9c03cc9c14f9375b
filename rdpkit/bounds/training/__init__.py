"""Theorems about how batches are made in training."""

from __future__ import annotations

from rdpkit.bounds.base import RdpBound
from rdpkit.bounds.training import shuffled

BOUNDS: tuple[RdpBound, ...] = (shuffled.BOUND,)
