r"""Truncated Poisson samples: the mean of two moments, with room in the sample and without.

Guarantee
---------
exp((a-1) r(a)) <= w exp((a-1) r_1(a)) + v exp((a-1) r_2(a)) between neighbours under
add-or-remove-one, with w and v the probabilities that all other records leave room in the sample
and that they fill it, r_1 the divergence of a Poisson sample, and r_2 that of a sample in which two
records are swapped.

Assumes
-------
Records join independently of each other, and a sample that is too large is cut uniformly.

Source
------
rdpkit, theory page "How batches are made". The event is that of Chua et al. 2024 ("Scalable
DP-SGD", arXiv 2411.04205) and of arXiv 2508.15089.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from flint import arb, ctx

from rdpkit.adjacency import Adjacency
from rdpkit.bounds.base import Array, Kind, RdpBound, every_order
from rdpkit.bounds.sampled import mironov2019
from rdpkit.events import TruncatedPoissonGaussian

_BITS = 256
_LARGE = 30.0


def _rdp(event: Any, orders: Array, adjacency: Adjacency) -> Array:
    low, high = event.overflow
    rest = orders - 1.0
    room = mironov2019.rdp(orders, event.noise_multiplier(adjacency), event.sampling_probability)
    if high == 0.0:
        return room
    full = mironov2019.rdp(orders, event.swap_noise_multiplier, event.probability_if_full)
    with np.errstate(over="ignore", divide="ignore"):
        mean = (1.0 - low) * np.expm1(rest * room) + high * np.expm1(rest * full)
        small = np.log1p(mean)
        # Where the moments exceed the floats, their logarithms do not.
        large = np.logaddexp(np.log1p(-low) + rest * room, np.log(high) + rest * full)
    return np.asarray(np.where(small < _LARGE, small, large) / rest)


def _ball(event: Any, order: float, adjacency: Adjacency) -> arb:
    low, high = event.overflow
    z = event.noise_multiplier(adjacency)
    room = mironov2019.ball(order, z, event.sampling_probability)
    if high == 0.0:
        return room
    full = mironov2019.ball(order, event.swap_noise_multiplier, event.probability_if_full)
    with ctx.workprec(_BITS):
        rest = arb(order) - 1
        # From both ends, as a ball around a tiny weight holds numbers below 0.
        one, other = ((rest * r).expm1() for r in (room, full))
        least = (1 - arb(high)) * one + arb(low) * other
        return least.log1p().union(((1 - arb(low)) * one + arb(high) * other).log1p()) / rest


BOUND = RdpBound(
    id="truncated-poisson",
    title="Truncated Poisson sample",
    source="rdpkit, theory page 'How batches are made'",
    kind=Kind.UPPER,
    event_type=TruncatedPoissonGaussian,
    adjacencies=(Adjacency.ADD_OR_REMOVE_ONE,),
    order_range=every_order,
    rdp=_rdp,
    ball=_ball,
)
