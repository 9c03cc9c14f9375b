r"""Skellam noise is nearly Gaussian.

Guarantee
---------
With v the variance and s_1, s_2 the L1 and L2 sensitivities of vectors of integers, the divergence
at an integer order a >= 2 is at most

    r(a) = a s_2^2 / (2 v) + min(((2 a - 1) s_2^2 + 6 s_1) / (4 v^2), 3 s_1 / (2 v)).

(a - 1) r(a) is convex in the order, so that in between it is below the straight line, which begins
with 0 at order 1.

Assumes
-------
The noise is that of the event, and records are vectors of integers.

Source
------
Agarwal, Kairouz and Liu, "The Skellam mechanism for differentially private federated learning",
NeurIPS 2021, Theorem 3.5 (arXiv 2110.04995).
"""

from __future__ import annotations

import math
from typing import Any

from flint import arb

from rdpkit.adjacency import Adjacency
from rdpkit.bounds.noise.formula import moved_up, of_formula
from rdpkit.events import Skellam


def _divergence(event: Any, order: arb, adjacency: Adjacency) -> arb:
    below = math.floor(float(order))
    share, rest = order - below, (below - 1) * _at_integer(event, arb(below), adjacency)
    if share == 0:
        return rest / (order - 1)
    after = below * _at_integer(event, arb(below + 1), adjacency)
    return ((1 - share) * rest + share * after) / (order - 1)


def _at_integer(event: Any, order: arb, adjacency: Adjacency) -> arb:
    v, square = arb(event.variance), arb(event.sensitivity(adjacency)) ** 2
    length = moved_up(event.l1_sensitivity(adjacency))
    more = (((2 * order - 1) * square + 6 * length) / (4 * v * v)).min(3 * length / (2 * v))
    return order * square / (2 * v) + more


BOUND = of_formula(
    _divergence,
    id="skellam",
    title="Skellam noise",
    source="Agarwal, Kairouz and Liu 2021, Theorem 3.5 (arXiv 2110.04995)",
    event_type=Skellam,
)
