r"""Shuffled batches: a record is in one batch of an epoch, and another may take its place.

Guarantee
---------
The divergence between what one epoch releases on two neighbours is at most that of one Gaussian
whose means are a record's diameter apart under add-or-remove-one and replace-one, and a record's
norm apart under zero-out.

Assumes
-------
Uniformly random orders, full batches only, and equally many of them for both neighbours.

Source
------
rdpkit, theory page "How batches are made": a coupling of the two orders.
"""

from __future__ import annotations

from typing import Any

from rdpkit.adjacency import Adjacency
from rdpkit.bounds.base import Kind, RdpBound, every_order, of_event
from rdpkit.bounds.gaussian import ball, rdp
from rdpkit.events import ShuffledGaussian


def _arguments(event: Any, adjacency: Adjacency) -> tuple[float]:
    return (event.noise_multiplier(adjacency),)


BOUND = RdpBound(
    id="shuffled-epoch",
    title="One epoch of shuffled batches",
    source="rdpkit, theory page 'How batches are made'",
    kind=Kind.UPPER,
    event_type=ShuffledGaussian,
    adjacencies=tuple(Adjacency),
    order_range=every_order,
    rdp=of_event(rdp, _arguments),
    ball=of_event(ball, _arguments),
)
