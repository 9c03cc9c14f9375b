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

from dataclasses import replace
from typing import Any

from flint import arb

from rdpkit.adjacency import Adjacency
from rdpkit.bounds.noise.formula import moved_up, of_formula
from rdpkit.events import Laplace, PermuteAndFlip, ReportNoisyMax


def _divergence(event: Any, order: arb, adjacency: Adjacency) -> arb:
    d, a = moved_up(event.distance(adjacency)), order
    whole = a * ((a - 1) * d).exp() + (a - 1) * (-a * d).exp()
    return (whole / (2 * a - 1)).log() / (a - 1)


BOUND = of_formula(
    _divergence,
    id="laplace",
    title="Laplace mechanism",
    source="Mironov 2017, Proposition 6 (arXiv 1702.07476v3)",
    event_type=Laplace,
)

BOUNDS = (
    BOUND,
    replace(
        BOUND,
        title="Permute-and-flip, below two Laplace distributions",
        event_type=PermuteAndFlip,
    ),
    replace(
        BOUND,
        title="Noisy maximum, below two Laplace distributions",
        event_type=ReportNoisyMax,
    ),
)
