r"""DPMix's dimension-dependent epsilon, as printed.

Guarantee
---------
None of its own: kind "published". The formula is Theorem 27 of Wang et al. with gamma = l/n and
the base divergence r(a) = a Delta^2 / (2 l^2), Delta^2 = d_x / sigma_x^2 + d_y / sigma_y^2, at
integers a >= 2, with Mironov's conversion and delta = 1/n. It is a sound upper bound for DPMix over
the whole data set (d_y could be 2). The class-wise form takes n = the class size and T = all
releases.

Assumes
-------
Features in [0, 1]^{d_x}, one-hot labels, a fresh subset for every release.

Source
------
Mahmud, thesis on DPMix, 2025, Figure 3.1 and listing A.3; Lee et al., "Synthesizing differentially
private datasets using random mixing", ISIT 2019. The figure's second factor B(2 floor(j/2)) is
B(2 ceil(j/2)) in the listing and in Wang et al.; the listing is followed.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from flint import arb

from rdpkit.adjacency import Adjacency
from rdpkit.bounds.base import Array, Kind, RdpBound, integers_from
from rdpkit.bounds.sampled import wang2019
from rdpkit.events import ClassWiseDPMix, DPMix

_SOURCE = "DPMix thesis (2025), Figure 3.1; Lee et al., ISIT 2019"


def noise_multiplier(event: Any) -> float:
    """L / Delta of the paper; 0 where there is no label noise, and the formula is infinite."""
    if event.label_noise == 0.0:
        return 0.0
    squared = (
        event.feature_dimension / event.feature_noise**2
        + event.label_dimension / event.label_noise**2
    )
    return float(event.order_of_mixture / math.sqrt(squared))


def _formula(event: Any, orders: Array, population: int, releases: int) -> Array:
    z = noise_multiplier(event)
    if z == 0.0:
        return np.full_like(orders, np.inf)
    gamma = event.order_of_mixture / population
    return releases * wang2019.rdp(orders, z, gamma, terms="theorem27")


def _whole(event: Any, orders: Array, adjacency: Adjacency) -> Array:
    return _formula(event, orders, event.population_size, event.releases)


def _class_wise(event: Any, orders: Array, adjacency: Adjacency) -> Array:
    return _formula(event, orders, min(event.class_sizes), sum(event.samples))


def _enclose(event: Any, order: float, population: int, releases: int) -> arb:
    z = noise_multiplier(event)
    if z == 0.0:
        return arb.pos_inf()
    one = wang2019.enclose(order, z, event.order_of_mixture, population, terms="theorem27")
    return one * releases


def _whole_ball(event: Any, order: float, adjacency: Adjacency) -> arb:
    return _enclose(event, order, event.population_size, event.releases)


def _class_wise_ball(event: Any, order: float, adjacency: Adjacency) -> arb:
    return _enclose(event, order, min(event.class_sizes), sum(event.samples))


BOUND = RdpBound(
    id="dpmix",
    title="DPMix's dimension-dependent epsilon, as printed",
    source=_SOURCE,
    kind=Kind.PUBLISHED,
    event_type=DPMix,
    adjacencies=(Adjacency.REPLACE_ONE,),
    order_range=integers_from(2),
    rdp=_whole,
    ball=_whole_ball,
    conversion="mironov2017",
)

CLASS_WISE = RdpBound(
    id="dpmix-class-wise",
    title="DPMix's epsilon with n = the smallest class and T = all releases",
    source=_SOURCE + "; thesis, section 4.2",
    kind=Kind.PUBLISHED,
    event_type=ClassWiseDPMix,
    adjacencies=(Adjacency.REPLACE_ONE,),
    order_range=integers_from(2),
    rdp=_class_wise,
    ball=_class_wise_ball,
    conversion="mironov2017",
)
