r"""A lower bound on every sound bound, in closed form: it shows quickly that noise is too small.

Guarantee
---------
If a record is drawn with probability q and then shifts the output by 1/z of the noise, two data
sets have P >= q N(1, z^2) and Q = N(0, z^2), hence at every order a > 1

    D_a(P || Q) >= a / (2 z^2) - a / (a-1) log(1/q).

A sound bound on an event is at least that: summed over releases, and largest over parts. Where
nothing is known the value is 0.

Source
------
rdpkit; the pairs are those of the theory page "Loss distributions".
"""

from __future__ import annotations

import math

import numpy as np

from rdpkit.adjacency import Adjacency
from rdpkit.bounds.base import Array
from rdpkit.events import Event, Parallel
from rdpkit.events.composition import released_counts
from rdpkit.events.losses import NoLossDistributionError, ProfilePoints, Several, Step
from rdpkit.events.pairs import Pair


def rdp_floor(
    event: Event,  # What is released
    orders: Array,  # Renyi orders, each > 1; shape (k,)
    adjacency: Adjacency,  # The neighbouring relation
) -> Array:
    """A lower bound, at each order, on the divergence between some two neighbours."""
    found = [
        count * _of_one(leaf, orders, adjacency) for leaf, count in released_counts(event).items()
    ]
    return np.asarray(sum(found))


def _of_one(event: Event, orders: Array, adjacency: Adjacency) -> Array:
    if isinstance(event, Parallel):
        inside = event.inside(adjacency)
        parts = [rdp_floor(part, orders, inside) for part in dict.fromkeys(event.events)]
        return np.asarray(np.maximum.reduce(parts))
    expanded = event.attained_expansion()
    if expanded is not None:
        return rdp_floor(expanded, orders, adjacency)
    try:
        choices = event.attained(adjacency)
    except NoLossDistributionError:
        return np.zeros_like(orders)
    known = [
        sum((_pair(orders, loss) for loss in losses), np.zeros_like(orders)) for losses in choices
    ]
    return np.asarray(np.maximum.reduce(known))


def _pair(orders: Array, loss: Step | ProfilePoints | Pair | Several) -> Array:
    if not isinstance(loss, Step) or not (loss.kind == "removed" or loss.is_gaussian):
        return np.zeros_like(orders)
    with np.errstate(over="ignore"):
        whole = orders / (2.0 * loss.noise_multiplier) / loss.noise_multiplier
    drawn = orders / (orders - 1.0) * math.log(loss.sampling_probability)
    return np.maximum(whole + drawn, 0.0)
