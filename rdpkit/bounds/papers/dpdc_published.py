r"""LDPDC's Theorem 3.1 and NDPDC's Theorem 3.2, as printed.

Guarantee
---------
Both have the kind "published", and both are true. Let q = max_c L / N_c, the probability with which
records of the smallest class are sampled, and let Omega be the divergence of the Poisson-sampled
Gaussian mechanism at that probability. For every a > 1, LDPDC is (a, M Omega(a))-RDP at noise
multiplier sigma / (b sqrt d), and NDPDC is (a, I Omega(a))-RDP at noise multiplier sigma / G. By
parallel composition over classes the largest q counts. The paper converts with Balle et al.'s
formula.

The theorems take the minimum over all real orders; the printed budgets take it over an accountant's
fixed grid, because the paper computes with a library. All 24 budgets of Tables 1 and 8 come out
with the 156 default orders of the RDP accountant of TensorFlow Privacy and dp-accounting. Over all
real orders CelebA would be 0.59 instead of 0.61 and 0.70 instead of 0.71. With Opacus's orders,
which end at 63, Table 8 would not come out for CelebA. The published bounds use that grid; the
upper bounds use all real orders.

Assumes
-------
Add-or-remove-one; Poisson sampling with a probability that is the same in both neighbours (the size
of a sample is binomial; the paper calls it Poisson). For NDPDC, the extractors and augmentations do
not depend on the private data.

Source
------
"Differentially private dataset condensation", Theorems 3.1 and 3.2 and appendix A.
"""

from __future__ import annotations

from operator import attrgetter
from typing import Any

from rdpkit.adjacency import Adjacency
from rdpkit.bounds.base import Kind, RdpBound, every_order, of_event
from rdpkit.bounds.sampled.mironov2019 import ball, rdp
from rdpkit.events import LDPDC, NDPDC, Event

# Tenths up to 10.9, integers from 11 to 63, and four powers of two.
_ACCOUNTANT_ORDERS = (
    *(1.0 + tenths / 10.0 for tenths in range(1, 100)),
    *(float(order) for order in range(11, 64)),
    128.0,
    256.0,
    512.0,
    1024.0,
)


def _smallest_class(event: Any, adjacency: Adjacency) -> tuple[float, float]:
    """Noise multiplier and sampling probability of the class that is sampled the most."""
    return event.noise_std / event.record_norm, event.group_size / min(event.class_sizes)


def _bound(mechanism: str, theorem: str, event_type: type[Event], releases: str) -> RdpBound:
    return RdpBound(
        id=f"{mechanism.lower()}-thm{theorem}",
        title=f"{mechanism}, Theorem {theorem}",
        source=f"Differentially private dataset condensation, Theorem {theorem}",
        kind=Kind.PUBLISHED,
        event_type=event_type,
        adjacencies=(Adjacency.ADD_OR_REMOVE_ONE,),
        order_range=every_order,
        rdp=of_event(rdp, _smallest_class, attrgetter(releases)),
        ball=of_event(ball, _smallest_class, attrgetter(releases)),
        conversion="balle2020",
        grid=_ACCOUNTANT_ORDERS,
    )


LINEAR = _bound("LDPDC", "3.1", LDPDC, "samples_per_class")
NONLINEAR = _bound("NDPDC", "3.2", NDPDC, "iterations")
