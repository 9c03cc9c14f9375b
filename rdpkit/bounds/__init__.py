"""Named theorems, one a file, and the registry of all of them."""

from __future__ import annotations

from rdpkit.bounds import custom_profile, custom_rdp, gaussian
from rdpkit.bounds.base import Kind, OrderRange, RdpBound
from rdpkit.bounds.papers import (
    dpcda_corrected,
    dpcda_theorem1,
    dpmix_published,
    ldpdc_thm31,
    ndpdc_thm32,
)
from rdpkit.bounds.sampled import (
    fixed_size,
    mironov2019,
    no_amplification,
    poisson_replace,
    profile_sampling,
)
from rdpkit.bounds.synthesis import by_theorem as synthesis

BOUNDS: tuple[RdpBound, ...] = (
    gaussian.BOUND,
    mironov2019.BOUND,
    poisson_replace.BOUND,
    profile_sampling.POISSON,
    no_amplification.POISSON,
    *fixed_size.BOUNDS,
    custom_rdp.BOUND,
    custom_profile.BOUND,
    dpmix_published.BOUND,
    dpmix_published.CLASS_WISE,
    dpcda_theorem1.BOUND,
    dpcda_theorem1.CLASS,
    dpcda_corrected.BOUND,
    ldpdc_thm31.BOUND,
    ndpdc_thm32.BOUND,
    *synthesis.BOUNDS,
)
"""Every bound that the library knows; add a theorem here and everything else finds it."""

__all__ = ["BOUNDS", "Kind", "OrderRange", "RdpBound"]
