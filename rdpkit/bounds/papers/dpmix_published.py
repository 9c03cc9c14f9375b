r"""DPMix's dimension-dependent epsilon, as printed.

Guarantee
---------
Kind "published": the formula of the paper, without a guarantee of its own. It is Theorem 27 of Wang
et al. at integers a >= 2 with gamma = l/n, where l of n records are mixed, and with the base
divergence r(a) = a Delta^2 / (2 l^2), Delta^2 = d_x / sigma_x^2 + d_y / sigma_y^2. The paper uses
Mironov's conversion and delta = 1/n. For DPMix over the whole data set the formula is a sound upper
bound, in which d_y could be 2. The class-wise form takes the size of the smallest class for n and
counts the releases of all classes.

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
from dataclasses import replace
from functools import partial
from operator import attrgetter
from typing import Any

from rdpkit.adjacency import Adjacency
from rdpkit.bounds.base import Kind, RdpBound, integers_from, of_event
from rdpkit.bounds.sampled import wang2019
from rdpkit.events import ClassWiseDPMix, DPMix

_RDP = partial(wang2019.rdp, terms="theorem27")
_BALL = partial(wang2019.ball, terms="theorem27")


def _noise_multiplier(event: Any) -> float:
    """L / Delta of the paper; 0 if there is no label noise, which makes the formula infinite."""
    if event.label_noise == 0.0:
        return 0.0
    squared = (
        event.feature_dimension / event.feature_noise**2
        + event.label_dimension / event.label_noise**2
    )
    return float(event.order_of_mixture / math.sqrt(squared))


def _whole(event: Any, adjacency: Adjacency) -> tuple[float, int, int]:
    return _noise_multiplier(event), event.order_of_mixture, event.population_size


def _class_wise(event: Any, adjacency: Adjacency) -> tuple[float, int, int]:
    return _noise_multiplier(event), event.order_of_mixture, min(event.class_sizes)


def _all_releases(event: Any) -> int:
    return sum(event.samples)


BOUND = RdpBound(
    id="dpmix",
    title="DPMix's dimension-dependent epsilon, as printed",
    source="DPMix thesis (2025), Figure 3.1; Lee et al., ISIT 2019",
    kind=Kind.PUBLISHED,
    event_type=DPMix,
    adjacencies=(Adjacency.REPLACE_ONE,),
    order_range=integers_from(2),
    rdp=of_event(_RDP, _whole, attrgetter("releases")),
    ball=of_event(_BALL, _whole, attrgetter("releases")),
    conversion="mironov2017",
)

CLASS_WISE = replace(
    BOUND,
    id="dpmix-class-wise",
    title="DPMix's epsilon with n = the smallest class and T = all releases",
    source=BOUND.source + "; thesis, section 4.2",
    event_type=ClassWiseDPMix,
    rdp=of_event(_RDP, _class_wise, _all_releases),
    ball=of_event(_BALL, _class_wise, _all_releases),
)
