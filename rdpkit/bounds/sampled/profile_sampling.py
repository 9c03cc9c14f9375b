r"""Sampling under replace-one by its privacy profile, turned into RDP at every real order.

Guarantee
---------
Let neighbours differ in one record, and let gamma be the probability that this record is drawn. The
distributions of the two outputs are (1-gamma) m0 + gamma m1 and (1-gamma) m0 + gamma m1', where m0
is that of the output given that the record is not drawn. By advanced joint convexity (Balle, Barthe
and Gaboardi 2018, Theorem 2), for e^eps' = 1 + gamma (e^eps - 1) and beta = e^(eps' - eps), the
hockey-stick divergence at eps' is at most

    gamma [(1 - beta) E_eps(m1 || m0) + beta E_eps(m1 || m1')].

Each of the two pairs is a mixture, over how the other members are drawn, of pairs of Gaussians at
most one sensitivity apart. In a sample of fixed size the sensitivity is the swap distance for both
pairs. In a Poisson sample it is the norm of a record for m1 and m0, which differ in whether the
record is there, and the diameter for m1 and m1', which differ in its value. With the larger
sensitivity, the profile is at most h(eps') = gamma delta_Gauss(eps). This holds in both directions,
because neighbouring is symmetric. The hockey-stick integral (Sason and Verdu 2016)

    exp((a-1) D_a) = 1 + a (a-1) Integral_0^inf [e^{(a-1) eps'} + e^{-a eps'}] h(eps') d eps'

is increasing in the profile, so it bounds the Renyi divergence at every real order a > 1.
Integration by parts turns it into an integral of powers (:mod:`rdpkit.numerics.sampled_profile`).

Assumes
-------
REPLACE_ONE, or ZERO_OUT for samples of a fixed size, where m1' has the special record and no two
members of a sample, of which one may be special, are farther apart than the sensitivity; uniform
subsets without replacement (or independent Poisson draws), fresh each time.

Source
------
Balle, Barthe and Gaboardi, "Privacy amplification by subsampling: tight analyses via couplings and
divergences", NeurIPS 2018, Theorems 2 and 11 (arXiv 1807.01647v2); Sason and Verdu,
"f-divergence inequalities", IEEE Trans. Inf. Theory 2016; combination: rdpkit, theory page
"Profile sampling".
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from flint import arb

from rdpkit.adjacency import Adjacency
from rdpkit.bounds.base import Array, Kind, OrderRange, RdpBound, every_order, of_event
from rdpkit.bounds.gaussian import unsampled, unsampled_ball
from rdpkit.events import FixedSizeSampledGaussian, PoissonSampledGaussian
from rdpkit.numerics.balls import over_rounded_inputs
from rdpkit.numerics.sampled_gaussian import rdp_from_log_excess
from rdpkit.numerics.sampled_profile import log_excess, rdp_ball


def rdp(orders: Array, z: float, gamma: float) -> Array:
    """Divergence at any orders for noise multiplier ``z`` and probability ``gamma`` > 0."""
    if gamma == 1.0:
        return unsampled(orders, z)
    return rdp_from_log_excess(log_excess(orders, z, gamma), orders)


def ball(order: float, noise_multiplier: float, gamma: float) -> arb:
    """A ball that contains the divergence; both arguments may carry a few roundings."""

    def exact(z: float, q: float) -> arb:
        return unsampled_ball(order, z) if q == 1.0 else rdp_ball(order, z, arb(q))

    return over_rounded_inputs(exact, noise_multiplier, gamma)


def _fixed_size(event: Any, adjacency: Adjacency) -> tuple[float, float]:
    """Under zero-out the special record is one of those that are swapped."""
    zero_out = adjacency is Adjacency.ZERO_OUT
    z = event.smallest_noise_multiplier if zero_out else event.noise_multiplier
    return z, event.sampling_probability


def _poisson(event: Any, adjacency: Adjacency) -> tuple[float, float]:
    """The noise is measured in the larger of a record's norm and the distance of two records."""
    z = min(
        event.noise_multiplier(Adjacency.ADD_OR_REMOVE_ONE),
        event.noise_multiplier(Adjacency.REPLACE_ONE),
    )
    return z, event.sampling_probability


FIXED_SIZE = RdpBound(
    id="profile-sampling",
    title="privacy profile of sampling without replacement, as RDP",
    source="Balle, Barthe and Gaboardi 2018, Theorem 11; Sason and Verdu 2016; rdpkit",
    kind=Kind.UPPER,
    event_type=FixedSizeSampledGaussian,
    adjacencies=(Adjacency.REPLACE_ONE, Adjacency.ZERO_OUT),
    order_range=every_order,
    rdp=of_event(rdp, _fixed_size),
    ball=of_event(ball, _fixed_size),
)

POISSON = replace(
    FIXED_SIZE,
    title="privacy profile of Poisson sampling, as RDP",
    event_type=PoissonSampledGaussian,
    adjacencies=(Adjacency.REPLACE_ONE,),
    # With probability 0 no record is ever drawn; the bound without amplification covers that case.
    order_range=lambda event, adjacency: (
        OrderRange() if event.sampling_probability > 0.0 else OrderRange(highest=1.0)
    ),
    rdp=of_event(rdp, _poisson),
    ball=of_event(ball, _poisson),
)
