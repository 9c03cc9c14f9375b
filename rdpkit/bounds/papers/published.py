"""DPMix's dimension-dependent epsilon, LDPDC's Theorem 3.1 and NDPDC's Theorem 3.2, as printed.

Guarantee
---------
*DPMix.* Kind "published": the formula of the paper, without a guarantee of its own. It is Theorem
27 of Wang et al. at integers a >= 2 with gamma = l/n, where l of n records are mixed, and with the
base divergence r(a) = a Delta^2 / (2 l^2), Delta^2 = d_x / sigma_x^2 + d_y / sigma_y^2. The paper
uses Mironov's conversion and delta = 1/n. For DPMix over the whole data set the formula is a sound
upper bound, in which d_y could be 2. The class-wise form takes the size of the smallest class for n
and counts the releases of all classes.

*LDPDC and NDPDC.* Both have the kind "published", and both are true. Let q = max_c L / N_c, the
probability with which records of the smallest class are sampled, and let Omega be the divergence of
the Poisson-sampled Gaussian mechanism at that probability. For every a > 1, LDPDC is
(a, M Omega(a))-RDP at noise multiplier sigma / (b sqrt d), and NDPDC is (a, I Omega(a))-RDP at
noise multiplier sigma / G. By parallel composition over classes the largest q counts. The paper
converts with Balle et al.'s formula.

These theorems take the minimum over all real orders; the printed budgets take it over an
accountant's fixed grid, because the paper computes with a library. All 24 budgets of Tables 1 and 8
come out with the 156 default orders of the RDP accountant of TensorFlow Privacy and dp-accounting.
Over all real orders CelebA would be 0.59 instead of 0.61 and 0.70 instead of 0.71. With Opacus's
orders, which end at 63, Table 8 would not come out for CelebA. The published bounds use that grid;
the upper bounds use all real orders.

Assumes
-------
DPMix: features in [0, 1]^{d_x}, one-hot labels, a fresh subset for every release. LDPDC and NDPDC:
add-or-remove-one; Poisson sampling with a probability that is the same in both neighbours (the size
of a sample is binomial; the paper calls it Poisson). For NDPDC, the extractors and augmentations do
not depend on the private data.

Source
------
Mahmud, thesis on DPMix, 2025, Figure 3.1 and listing A.3; Lee et al., "Synthesizing differentially
private datasets using random mixing", ISIT 2019. The figure's second factor B(2 floor(j/2)) is
B(2 ceil(j/2)) in the listing and in Wang et al.; the listing is followed. "Differentially private
dataset condensation", Theorems 3.1 and 3.2 and appendix A.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from operator import attrgetter
from typing import Any

from rdpkit.adjacency import Adjacency
from rdpkit.bounds.base import Kind, RdpBound, every_order, integers_from, of_event
from rdpkit.bounds.sampled import wang2019
from rdpkit.bounds.sampled.mironov2019 import ball, rdp
from rdpkit.events import LDPDC, NDPDC, ClassWiseDPMix, DPMix, Event

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


def _of_all(event: Any, adjacency: Adjacency) -> tuple[float, int, int]:
    return _noise_multiplier(event), event.order_of_mixture, event.population_size


def _class_wise(event: Any, adjacency: Adjacency) -> tuple[float, int, int]:
    return _noise_multiplier(event), event.order_of_mixture, min(event.class_sizes)


def _all_releases(event: Any) -> int:
    return sum(event.samples)


DPMIX = RdpBound(
    id="dpmix",
    title="DPMix's dimension-dependent epsilon, as printed",
    source="DPMix thesis (2025), Figure 3.1; Lee et al., ISIT 2019",
    kind=Kind.PUBLISHED,
    event_type=DPMix,
    adjacencies=(Adjacency.REPLACE_ONE,),
    order_range=integers_from(2),
    rdp=of_event(_RDP, _of_all, attrgetter("releases")),
    ball=of_event(_BALL, _of_all, attrgetter("releases")),
    conversion="mironov2017",
)

CLASS_WISE_DPMIX = replace(
    DPMIX,
    id="dpmix-class-wise",
    title="DPMix's epsilon with n = the smallest class and T = all releases",
    source=DPMIX.source + "; thesis, section 4.2",
    event_type=ClassWiseDPMix,
    rdp=of_event(_RDP, _class_wise, _all_releases),
    ball=of_event(_BALL, _class_wise, _all_releases),
)


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
