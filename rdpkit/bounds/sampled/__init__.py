"""Theorems about Gaussians and others on samples: Poisson samples, and samples of a fixed size."""

from __future__ import annotations

from rdpkit.bounds.base import RdpBound
from rdpkit.bounds.sampled import (
    birrell2024,
    mironov2019,
    no_amplification,
    poisson_renyi,
    poisson_replace,
    profile_sampling,
    swap_coupling,
    wang2019,
)

BOUNDS: tuple[RdpBound, ...] = (
    mironov2019.BOUND,
    poisson_replace.BOUND,
    poisson_renyi.BOUND,
    profile_sampling.POISSON,
    no_amplification.POISSON,
    wang2019.THEOREM_9,
    wang2019.THEOREM_27,
    wang2019.BOUND,
    wang2019.CONCENTRATED,
    birrell2024.BOUND,
    profile_sampling.FIXED_SIZE,
    swap_coupling.BOUND,
    no_amplification.FIXED_SIZE,
    no_amplification.ANY_POISSON,
    no_amplification.ANY_FIXED_SIZE,
)
"""The theorems of this folder. A new theorem needs a line here, and nothing else."""
