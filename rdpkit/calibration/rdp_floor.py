r"""A divergence that no sound bound is below, in closed form: to see from afar that noise is short.

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
from rdpkit.events import (
    Composed,
    Event,
    FixedSizeSampledGaussian,
    Gaussian,
    Parallel,
    PoissonSampledGaussian,
    Repeated,
)


def at_least(event: Event, orders: Array, adjacency: Adjacency) -> Array:
    """The divergence at each order that some two neighbours have, or less.

    Parameters
    ----------
    event : Event
        What is released.
    orders : ndarray, shape (k,)
        Renyi orders, each > 1.
    adjacency : Adjacency
        The neighbouring relation.
    """
    match event:
        case Repeated():
            return event.count * at_least(event.event, orders, adjacency)
        case Composed():
            return np.asarray(sum(at_least(part, orders, adjacency) for part in event.events))
        case Parallel():
            parts = [at_least(part, orders, adjacency) for part in event.events]
            return np.asarray(np.maximum.reduce(parts))
        case Gaussian():
            return _pair(orders, event.noise_multiplier(adjacency), 1.0)
        case PoissonSampledGaussian() if adjacency is Adjacency.ADD_OR_REMOVE_ONE:
            return _pair(orders, event.noise_multiplier(adjacency), event.sampling_probability)
        case FixedSizeSampledGaussian():
            share = event.sample_size / event.population_size
            return _pair(orders, event.noise_multiplier, share)
    expanded = event.expand()
    return np.zeros_like(orders) if expanded is None else at_least(expanded, orders, adjacency)


def _pair(orders: Array, z: float, q: float) -> Array:
    if q == 0.0:
        return np.zeros_like(orders)
    with np.errstate(over="ignore"):
        whole = orders / (2.0 * z) / z
    return np.maximum(whole + orders / (orders - 1.0) * math.log(q), 0.0)
