"""Named theorems, in folders by what they are about, and the registry of all of them.

Every folder lists its own theorems in ``BOUNDS``; this module joins the lists.
"""

from __future__ import annotations

from rdpkit import extensions
from rdpkit.bounds import gaussian, noise, papers, sampled, selection, stated, synthesis, training
from rdpkit.bounds.base import Kind, OrderRange, RdpBound

_OWN: tuple[RdpBound, ...] = (
    gaussian.BOUND,
    *sampled.BOUNDS,
    stated.CURVE,
    *noise.BOUNDS,
    stated.PROFILE,
    stated.CONCENTRATED,
    *selection.BOUNDS,
    *papers.BOUNDS,
    *synthesis.BOUNDS,
    *training.BOUNDS,
)


def _with_those_of_packages() -> tuple[RdpBound, ...]:
    """Rdpkit's own theorems, then those that packages add under ``rdpkit.bounds``."""
    found = {(bound.id, bound.event_type): bound for bound in _OWN}
    for name, value in extensions.extensions(extensions.BOUNDS).items():
        for bound in value if isinstance(value, (tuple, list)) else (value,):
            if not isinstance(bound, RdpBound):
                reason = f"expected an RdpBound, or a tuple of them, got {bound!r}"
            elif (bound.id, bound.event_type) in found:
                reason = f"a theorem about the same event has the id {bound.id!r} already"
            else:
                found[bound.id, bound.event_type] = bound
                continue
            raise extensions.problem(extensions.BOUNDS, name, reason)
    return tuple(found.values())


BOUNDS = _with_those_of_packages()
"""Every bound that is known: the accountants, the audit and the commands read this."""

__all__ = ["BOUNDS", "Kind", "OrderRange", "RdpBound"]
