r"""Laplace noise, and selections that tell no more than it does.

Guarantee
---------
With d the distance of two Laplace distributions of scale 1, at every order a > 1

    D_a = log( a/(2a-1) e^((a-1) d) + (a-1)/(2a-1) e^(-a d) ) / (a-1).

Permute-and-flip, and the largest of noisy scores, have a hockey-stick curve below that of two such
distributions (theory page "Selections"), so that the same number bounds them. Several coordinates
tell no more than one (theory page "Laplace noise").

Assumes
-------
The noise is that of the event, drawn independently for every coordinate or score.

Source
------
Mironov, "Renyi differential privacy", CSF 2017, Proposition 6 (arXiv 1702.07476v3).
"""

from __future__ import annotations

from typing import Any

from flint import arb

from rdpkit.adjacency import Adjacency
from rdpkit.bounds.base import Kind, RdpBound, every_order
from rdpkit.bounds.noise.formula import ball_of, moved_up, rdp_of
from rdpkit.events import Event, Laplace, PermuteAndFlip, ReportNoisyMax


def _divergence(event: Any, order: arb, adjacency: Adjacency) -> arb:
    d, a = moved_up(event.distance(adjacency)), order
    whole = a * ((a - 1) * d).exp() + (a - 1) * (-a * d).exp()
    return (whole / (2 * a - 1)).log() / (a - 1)


def _bound(event_type: type[Event], title: str) -> RdpBound:
    return RdpBound(
        id="laplace",
        title=title,
        source="Mironov 2017, Proposition 6 (arXiv 1702.07476v3)",
        kind=Kind.UPPER,
        event_type=event_type,
        adjacencies=tuple(Adjacency),
        order_range=every_order,
        rdp=rdp_of(_divergence),
        ball=ball_of(_divergence),
    )


BOUNDS = (
    _bound(Laplace, "Laplace mechanism"),
    _bound(PermuteAndFlip, "Permute-and-flip, below two Laplace distributions"),
    _bound(ReportNoisyMax, "Noisy maximum, below two Laplace distributions"),
)
