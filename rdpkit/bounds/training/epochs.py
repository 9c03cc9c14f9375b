r"""One epoch, as if it was known in which batch a record is.

Guarantee
---------
The divergence between what one epoch releases on two neighbours is at most that of one Gaussian.

* Shuffled batches: the means are a record's diameter apart under add-or-remove-one and replace-one,
  and a record's norm under zero-out. A record is in one batch, and another may take its place.
* Random allocation: a record's norm is between the means (its diameter, if a record is replaced),
  and it is k times the divergence if a record is in k batches.

The loss distributions of both events are far tighter.

Assumes
-------
Uniformly random orders, full batches only, and equally many of them for both neighbours; or every
record is allocated independently of all others.

Source
------
Joint quasi-convexity: van Erven and Harremoes 2014, Theorem 13; a coupling of the two orders:
rdpkit, theory page "How batches are made".
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from rdpkit.adjacency import Adjacency
from rdpkit.bounds import gaussian
from rdpkit.bounds.base import of_event
from rdpkit.events import RandomAllocationGaussian, ShuffledGaussian


def _allocated(event: Any, adjacency: Adjacency) -> tuple[float]:
    each = event.batches_per_record
    # Above the root by more than what is rounded.
    root = math.sqrt(each) * (1.0 + 2.0**-50) if each > 1 else 1.0
    return (event.noise_multiplier(adjacency) / root,)


SHUFFLED = replace(
    gaussian.BOUND,
    id="shuffled-epoch",
    title="One epoch of shuffled batches",
    source="rdpkit, theory page 'How batches are made'",
    event_type=ShuffledGaussian,
)

ALLOCATED = replace(
    gaussian.BOUND,
    id="allocation-known",
    title="One epoch of random allocation, the batch known",
    source="van Erven and Harremoes 2014, Theorem 13; rdpkit, theory page 'How batches are made'",
    event_type=RandomAllocationGaussian,
    rdp=of_event(gaussian.rdp, _allocated),
    ball=of_event(gaussian.ball, _allocated),
)
