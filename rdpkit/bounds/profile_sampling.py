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

import functools
import math
from itertools import pairwise
from typing import Any

from flint import acb, arb, ctx

from rdpkit.adjacency import Adjacency
from rdpkit.bounds.base import Array, Kind, OrderRange, RdpBound, every_order
from rdpkit.bounds.gaussian import unsampled
from rdpkit.events import FixedSizeSampledGaussian, PoissonSampledGaussian
from rdpkit.numerics.balls import over_rounded_inputs, to_relative_accuracy
from rdpkit.numerics.gaussian_profile import log_excess_of_sampled_profile
from rdpkit.numerics.sampled_gaussian import rdp_from_log_excess

_SOURCE = "Balle, Barthe and Gaboardi 2018, Theorem 11; Sason and Verdu 2016; rdpkit"


def rdp(orders: Array, z: float, gamma: float) -> Array:
    """Divergence at any orders for noise multiplier ``z`` and probability ``gamma`` > 0."""
    if gamma == 1.0:
        return unsampled(orders, z)
    return rdp_from_log_excess(log_excess_of_sampled_profile(orders, z, gamma), orders)


def rdp_ball(order: float, z: float, gamma: arb, *, bits: int = 60) -> arb:
    """A ball that contains the value of the integral formula at ``order``.

    The integral up to t = z eps = T is enclosed by Arb's rigorous integrator. Beyond it delta(eps)
    is at most Phi(-t + 1/(2z)) and the bracket at most 2 e^{a eps}, a Gaussian integral in closed
    form.
    """

    def compute() -> arb:
        a, s = arb(order), 1 / arb(z)
        root = arb(2).sqrt()

        def integrand(x: acb, analytic: bool, *, beyond: bool) -> acb:
            # In t = z eps - 1/(2z): the arguments of the two error functions stay moderate.
            epsilon = (x + s / 2) * s
            delta = (x / root).erfc() / 2 - epsilon.exp() * ((x + s) / root).erfc() / 2
            # Beyond the bend e^eps comes out of the logarithm, whose branch cuts otherwise run
            # along the line at a distance of pi z and would be met by every box wider than that.
            if beyond:
                rest = 1 + (1 - gamma) / gamma * (-epsilon).exp()
                grown = gamma.log() + epsilon + rest.log(analytic)
            else:
                grown = (1 + gamma * epsilon.expm1()).log(analytic)
            bracket = ((a - 2) * grown).exp() + (-(a + 1) * grown).exp()
            return bracket * delta * epsilon.exp() * s

        # The main part is at least gamma^2 times something of order one, or gamma^a e^{...}: reach
        # far enough that the tail is small beside either.
        spread = 2 * (max(order, 2.0) * abs(float(gamma.log().mid())) + 1.5 * ctx.prec + 100.0)
        end = (a + 1) * s + arb(spread).sqrt()
        end = arb(float(end.upper()))
        start = -s / 2
        total = arb(0)
        # Cutting the range where the integrand changes character helps the integrator.
        cuts = [start, *[arb(float(c)) for c in _cuts(order, z, gamma, float(end.mid()))], end]
        bend = _bend(z, gamma)
        for left, right in pairwise(cuts):
            part = functools.partial(integrand, beyond=float(left.mid()) >= bend)
            total += acb.integral(part, left, right).real
        tail = 2 * s * (2 * arb.pi()).sqrt() * ((a + 1) * (a + 2) * s * s / 2).exp()
        tail *= ((end - (a + 1) * s) / root).erfc() / 2
        total += tail.union(arb(0))
        return (a * (a - 1) * gamma * gamma * total).log1p() / (a - 1)

    return to_relative_accuracy(compute, bits=bits, start=128)


def _bend(z: float, gamma: arb) -> float:
    """Where gamma (e^eps - 1) is 1, in t = z eps - 1/(2z)."""
    return z * math.log1p(1.0 / float(gamma.mid())) - 0.5 / z


def _cuts(order: float, z: float, gamma: arb, end: float) -> list[float]:
    """Where the integrand has its peaks and its bend, and 8 to either side of them."""
    bend = _bend(z, gamma)
    peaks = [1.0 / z, bend, (order - 1.0) / z]
    points = {p + shift for p in peaks for shift in (-8.0, 0.0, 8.0)}
    return sorted(p for p in points if -0.5 / z + 1e-3 < p < end - 1e-3)


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
