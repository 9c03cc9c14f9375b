"""The divergence of an event tree, written down as its definition says: nothing is left out."""

import itertools

import numpy as np

import rdpkit
from rdpkit.accountants.event_tree import sound_bounds

BOTH_ENDS = rdpkit.Adjacency.ADD_OR_REMOVE_ONE


def divergence(event, orders, adjacency):
    """The best sound Renyi divergence at each order."""
    if isinstance(event, rdpkit.Repeated):
        return event.count * divergence(event.event, orders, adjacency)
    if isinstance(event, rdpkit.Composed):
        return sum(divergence(part, orders, adjacency) for part in event.events)
    if isinstance(event, rdpkit.Parallel):
        found = [divergence(part, orders, adjacency) for part in event.events]
        if event.record_may_move(adjacency):
            ends = [divergence(part, orders, BOTH_ENDS) for part in event.events]
            found += [one + other for one, other in itertools.combinations(ends, 2)]
        return np.maximum.reduce(found)
    rows = [bound.values(event, orders, adjacency) for bound in sound_bounds(event, adjacency)]
    expanded = event.expand()
    if expanded is not None:
        rows.append(divergence(expanded, orders, adjacency))
    return np.minimum.reduce(rows)
