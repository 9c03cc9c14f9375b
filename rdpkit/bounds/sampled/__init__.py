"""Theorems about Gaussians and others on samples: Poisson samples, and samples of a fixed size."""

from __future__ import annotations

from rdpkit.bounds.base import RdpBound
from rdpkit.bounds.sampled import (
    birrell2024,
    couplings,
    mironov2019,
    poisson_renyi,
    poisson_replace,
    profile_sampling,
    wang2019,
)

BOUNDS: tuple[RdpBound, ...] = (
    mironov2019.BOUND,
    poisson_replace.BOUND,
    poisson_renyi.BOUND,
    profile_sampling.POISSON,
    couplings.POISSON,
    wang2019.THEOREM_9,
    wang2019.THEOREM_27,
    wang2019.BOUND,
    wang2019.CONCENTRATED,
    birrell2024.BOUND,
    profile_sampling.FIXED_SIZE,
    couplings.SWAPPED,
    couplings.FIXED_SIZE,
    couplings.ANY_POISSON,
    couplings.ANY_FIXED_SIZE,
)
"""The theorems of this folder. A new theorem needs a line here, and nothing else."""
