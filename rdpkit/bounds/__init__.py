"""Named theorems, one a file, in folders by what they are about; and the registry of all of them.

Every folder lists its own theorems in ``BOUNDS``; this module joins the lists.
"""

from __future__ import annotations

from rdpkit.bounds import custom_profile, custom_rdp, gaussian, papers, sampled, synthesis
from rdpkit.bounds.base import Kind, OrderRange, RdpBound

BOUNDS: tuple[RdpBound, ...] = (
    gaussian.BOUND,
    *sampled.BOUNDS,
    custom_rdp.BOUND,
    custom_profile.BOUND,
    *papers.BOUNDS,
    *synthesis.BOUNDS,
)
"""Every bound that the library knows: the accountants, the audit and the commands read this."""

__all__ = ["BOUNDS", "Kind", "OrderRange", "RdpBound"]
