r"""Sampling under replace-one by its privacy profile, turned into RDP at every real order.

Guarantee
---------
Let neighbours differ in one record, and let gamma be the probability that it is drawn. Write the
two outputs as (1-gamma) m0 + gamma m1 and (1-gamma) m0 + gamma m1', m0 the output given that it is
not drawn. By advanced joint convexity (Balle, Barthe and Gaboardi 2018, Theorem 2), for
e^eps' = 1 + gamma (e^eps - 1) and beta = e^(eps' - eps), the hockey-stick divergence at eps' is at
most

    gamma [(1 - beta) E_eps(m1 || m0) + beta E_eps(m1 || m1')].

Both pairs are Gaussian pairs mixed over how the other members are drawn, at most one sensitivity
apart: for a fixed-size sample both differ by one swapped member; for a Poisson sample m1 and m0
differ by a record's presence (its norm) and m1 and m1' by its value (the diameter). With the larger
of the two, the profile is at most h(eps') = gamma delta_Gauss(eps), in either direction since
neighbouring is symmetric. The hockey-stick integral (Sason and Verdu 2016)

    exp((a-1) D_a) = 1 + a (a-1) Integral_0^inf [e^{(a-1) eps'} + e^{-a eps'}] h(eps') d eps'

is increasing in the profile, so it bounds the Renyi divergence at every real order a > 1.
Integrated once more it is an integral of powers (:mod:`rdpkit.numerics.sampled_profile`).

Assumes
-------
REPLACE_ONE; uniform subsets without replacement (or independent Poisson draws), fresh each time.

Source
------
Balle, Barthe and Gaboardi, "Privacy amplification by subsampling: tight analyses via couplings and
divergences", NeurIPS 2018, Theorems 2 and 11 (arXiv 1807.01647v2); Sason and Verdu,
"f-divergence inequalities", IEEE Trans. Inf. Theory 2016; combination: rdpkit, theory page
"Profile sampling".
"""

from __future__ import annotations

from typing import Any

from flint import arb, ctx

from rdpkit.adjacency import Adjacency
from rdpkit.bounds.base import Array, Kind, OrderRange, RdpBound, every_order
from rdpkit.bounds.gaussian import unsampled
from rdpkit.events import FixedSizeSampledGaussian, PoissonSampledGaussian
from rdpkit.numerics.balls import over_rounded_inputs
from rdpkit.numerics.sampled_gaussian import rdp_from_log_excess
from rdpkit.numerics.sampled_profile import log_excess
from rdpkit.numerics.sampled_profile_balls import rdp_ball

_SOURCE = "Balle, Barthe and Gaboardi 2018, Theorem 11; Sason and Verdu 2016; rdpkit"


def rdp(orders: Array, z: float, gamma: float) -> Array:
    """Divergence at any orders for noise multiplier ``z`` and probability ``gamma`` > 0."""
    if gamma == 1.0:
        return unsampled(orders, z)
    return rdp_from_log_excess(log_excess(orders, z, gamma), orders)


def ball(order: float, noise_multiplier: float, gamma: float) -> arb:
    """A ball that contains the divergence; both arguments may carry a few roundings."""

    def exact(z: float, q: float) -> arb:
        if q == 1.0:
            return arb(order) / (2 * arb(z) * arb(z))
        return rdp_ball(order, z, arb(q))

    with ctx.workprec(128):
        return over_rounded_inputs(exact, noise_multiplier, gamma)


def _fixed_size(event: Any, orders: Array, adjacency: Adjacency) -> Array:
    return rdp(orders, event.noise_multiplier, event.sample_size / event.population_size)


def _fixed_size_ball(event: Any, order: float, adjacency: Adjacency) -> arb:
    return ball(order, event.noise_multiplier, event.sample_size / event.population_size)


def poisson_noise_multiplier(event: Any) -> float:
    """Noise over the larger of a record's norm and the distance between two records."""
    return float(
        min(
            event.noise_multiplier(Adjacency.ADD_OR_REMOVE_ONE),
            event.noise_multiplier(Adjacency.REPLACE_ONE),
        )
    )


def _poisson_range(event: Any, adjacency: Adjacency) -> OrderRange:
    # With probability 0 nothing is ever drawn; the bound without amplification covers it.
    return OrderRange() if event.sampling_probability > 0.0 else OrderRange(highest=1.0)


def _poisson(event: Any, orders: Array, adjacency: Adjacency) -> Array:
    return rdp(orders, poisson_noise_multiplier(event), event.sampling_probability)


def _poisson_ball(event: Any, order: float, adjacency: Adjacency) -> arb:
    return ball(order, poisson_noise_multiplier(event), event.sampling_probability)


FIXED_SIZE = RdpBound(
    id="profile-sampling",
    title="privacy profile of sampling without replacement, as RDP",
    source=_SOURCE,
    kind=Kind.UPPER,
    event_type=FixedSizeSampledGaussian,
    adjacencies=(Adjacency.REPLACE_ONE,),
    order_range=every_order,
    rdp=_fixed_size,
    ball=_fixed_size_ball,
)

POISSON = RdpBound(
    id="profile-sampling",
    title="privacy profile of Poisson sampling, as RDP",
    source=_SOURCE,
    kind=Kind.UPPER,
    event_type=PoissonSampledGaussian,
    adjacencies=(Adjacency.REPLACE_ONE,),
    order_range=_poisson_range,
    rdp=_poisson,
    ball=_poisson_ball,
)
