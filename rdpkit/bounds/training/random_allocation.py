r"""Random allocation: as if it were known in which batch a record is.

Guarantee
---------
The divergence between what one epoch releases on two neighbours is at most that of one Gaussian
with a record's norm (its diameter, if a record is replaced) between the means, and k times that if
a record is in k batches. It is a valid bound
and far from the best one: the loss distribution of the event is.

Assumes
-------
Every record is allocated independently of all others.

Source
------
Joint quasi-convexity: van Erven and Harremoes 2014, Theorem 13; rdpkit, theory page "How batches
are made".
"""

from __future__ import annotations

import math
from typing import Any

from rdpkit.adjacency import Adjacency
from rdpkit.bounds.base import Kind, RdpBound, every_order, of_event
from rdpkit.bounds.gaussian import ball, rdp
from rdpkit.events import RandomAllocationGaussian


def _arguments(event: Any, adjacency: Adjacency) -> tuple[float]:
    each = event.batches_per_record
    # Above the root by more than what is rounded.
    root = math.sqrt(each) * (1.0 + 2.0**-50) if each > 1 else 1.0
    return (event.noise_multiplier(adjacency) / root,)


BOUND = RdpBound(
    id="allocation-known",
    title="One epoch of random allocation, the batch known",
    source="van Erven and Harremoes 2014, Theorem 13; rdpkit, theory page 'How batches are made'",
    kind=Kind.UPPER,
    event_type=RandomAllocationGaussian,
    adjacencies=tuple(Adjacency),
    order_range=every_order,
    rdp=of_event(rdp, _arguments),
    ball=of_event(ball, _arguments),
)
