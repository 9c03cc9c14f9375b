"""Pairs along the directions in which a release has the least noise.

Noise that is smaller in one coordinate, or correlated, shows only where a record lies along that
direction. The direction is seen in the outputs themselves, so these pairs are made once some runs
have been made on other pairs.
"""

from __future__ import annotations

import math

import numpy as np

from rdpkit.adjacency import Adjacency
from rdpkit.verification.blackbox.neighbours import Array, LabelledData, Neighbours

# A direction is quiet if its variance is below this part of what even noise would show by chance.
_QUIET = 0.8
MOST_QUIET_PAIRS = 2
"""Along a coordinate, and along an eigenvector."""
# Eigenvectors are looked for among at most this many coordinates.
_MOST_COORDINATES = 512


def quiet_pairs(
    noise: Array,  # Outputs, less their mean on the data set that they come from; shape (runs, d)
    *,
    # A pair. The changed record of the new pairs is as long as its longest record, and all other
    # records are at the origin, with its labels.
    like: Neighbours,
) -> list[Neighbours]:
    """Pairs whose changed record lies where there is little noise; none if the noise is even."""
    directions = []
    runs, d = noise.shape
    if d != like.first.dimension or d == 1 or runs < 4 * d:
        return []
    # By chance the smallest of d variances is sqrt(2 log d) deviations below the usual one.
    variances = noise.var(axis=0)
    chance = max(0.0, 1.0 - math.sqrt(2.0 * math.log(d)) * math.sqrt(2.0 / runs))
    quietest = int(np.argmin(variances))
    if variances[quietest] < _QUIET * chance * np.median(variances):
        directions.append(("the coordinate with the least noise", np.eye(1, d, quietest)[0]))
    if d <= _MOST_COORDINATES:
        values, vectors = np.linalg.eigh(np.cov(noise, rowvar=False))
        # The edge of the spectrum that even noise has (Marchenko and Pastur).
        edge = (1.0 - math.sqrt(d / runs)) ** 2
        if values[0] < _QUIET * edge * np.median(values) and abs(vectors[:, 0]).max() < 0.95:
            directions.append(("the direction with the least noise", vectors[:, 0]))
    return [_along(direction, words, like) for words, direction in directions]


def _along(direction: Array, words: str, like: Neighbours) -> Neighbours:
    """The pair with its changed record along a direction."""
    larger = like.first if len(like.first) >= len(like.second) else like.second
    length = float(np.linalg.norm(larger.features, axis=1).max())
    # A little less, because norms are rounded.
    changed = (1.0 - 1e-12) * length * direction
    rows = np.zeros((len(larger), larger.dimension))
    rows[-1] = changed
    if like.adjacency is Adjacency.ADD_OR_REMOVE_ONE:
        other = LabelledData(features=rows[:-1], labels=larger.labels[:-1])
    else:
        mirrored = rows.copy()
        mirrored[-1] = -changed
        other = LabelledData(features=mirrored, labels=larger.labels)
    return Neighbours(
        first=LabelledData(features=rows, labels=larger.labels),
        second=other,
        adjacency=like.adjacency,
        beyond_norm=like.beyond_norm,
        description=(f"a record of norm {length:.6g} in {words}; all others at the origin",),
    )
