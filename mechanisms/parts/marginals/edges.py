"""Where the parts of a range begin, found with noise: about as many records in each of them.

A range that everybody knows may be far wider than where most values are. So counts of ever finer
parts are released, with Gaussian noise, and edges are computed from these.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rdpkit.mechanisms.parts.marginals.counting import Floats
from rdpkit.mechanisms.parts.noise import NoiseSource

Mask = NDArray[np.bool_]

LEVELS = 3
"""How often parts are counted."""

_PARTS = 32
_CHILDREN = 8
# Where noise allows fewer parts than this, equal ones are better.
_FEWEST_PARTS = 16
# The first parts halve towards both ends of a range, and towards 0, so often.
_HALVINGS = 40
# A part stands out of the noise with so many of its standard deviations.
_DEVIATIONS = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """A public range of numbers, and whether they are whole."""

    low: float
    high: float
    whole: bool

    def first_cuts(self) -> Floats:
        """Equal parts, and parts that get smaller towards the ends and towards 0."""
        halves = 0.5 ** np.arange(1, _HALVINGS + 1)
        width, equal = self.high - self.low, np.linspace(self.low, self.high, _PARTS + 1)
        found = np.concatenate([equal, self.low + width * halves, self.high - width * halves])
        if self.low < 0.0 < self.high:
            found = np.concatenate([found, self.low * halves, [0.0], self.high * halves])
        return self.cleaned(found)

    def cleaned(self, cuts: Floats) -> Floats:
        """Cuts in their order, each of them once, with the ends of the range."""
        inner = np.ceil(cuts) if self.whole else cuts
        inner = inner[(inner > self.low) & (inner < self.high)]
        found: Floats = np.unique(np.concatenate([[self.low], inner, [self.high]]))
        return found


def noisy_edges(
    values: Sequence[Floats], ranges: Sequence[Range], *, std: float, noise: NoiseSource
) -> list[Floats]:
    """Inner edges of each column, of about 32 parts, or twice as many around frequent values.

    Guarantee
    ---------
    That of a Gaussian mechanism with noise ``std`` on a sum of vectors of norm 1, two of which are
    at most sqrt(2) apart. At each of three levels a value is counted in one part at most of its
    column; counts of d columns have noise sqrt(3 d) ``std``; and what is counted at a level
    depends on public ranges and on noisy counts of the levels before it. See
    docs/theory/marginals.md.

    Parameters
    ----------
    values : sequence of float64 arrays of shape (n,)
        A private column each; NaN where a value is missing. What is outside of its range is moved
        to its nearer end.
    ranges : sequence of Range
        Public.
    std : float
        Noise of all of it together.
    noise : NoiseSource
        Where the noise comes from.

    Returns
    -------
    list of float64 arrays
        Ascending, inside of each range; none where there are too few records for the noise.
    """
    # Rounding must not make the noise smaller than the one of the event.
    each = std * math.sqrt(LEVELS * max(1, len(ranges))) * (1.0 + 1e-12)
    return [
        _edges_of(np.clip(column, one.low, one.high), one, std=each, noise=noise)
        for column, one in zip(values, ranges, strict=True)
    ]


def _edges_of(values: Floats, of: Range, *, std: float, noise: NoiseSource) -> Floats:
    cuts, known = of.first_cuts(), values[~np.isnan(values)]
    counts = _counted(known, cuts, np.ones(len(cuts) - 1, dtype=np.bool_), std=std, noise=noise)
    least = max(float(counts.sum()) / _PARTS, _DEVIATIONS * std)
    if _FEWEST_PARTS * least > counts.sum():
        return np.empty(0)
    for _ in range(LEVELS - 1):
        split = counts > least
        finer = [
            np.linspace(low, high, _CHILDREN + 1) if whether else np.array([low, high])
            for low, high, whether in zip(cuts, cuts[1:], split, strict=False)
        ]
        finer_cuts = of.cleaned(np.concatenate(finer))
        parent = np.searchsorted(cuts, finer_cuts[:-1], side="right") - 1
        # A part of whole numbers that is one number cannot be split, and keeps its count.
        new = split[parent] & (np.bincount(parent, minlength=len(counts))[parent] > 1)
        counts = np.where(
            new, _counted(known, finer_cuts, new, std=std, noise=noise), counts[parent]
        )
        cuts = finer_cuts
    return _merged(cuts, counts, least=least, std=std)


def _counted(
    values: Floats, cuts: Floats, asked: Mask, *, std: float, noise: NoiseSource
) -> Floats:
    """How many values are in each part that is asked for, with noise; 0 in the others."""
    places = np.minimum(np.searchsorted(cuts, values, side="right") - 1, len(cuts) - 2)
    found = np.bincount(places, minlength=len(cuts) - 1).astype(np.float64)
    noise.add_normal(found, std=std)
    return found * asked


def _merged(cuts: Floats, counts: Floats, *, least: float, std: float) -> Floats:
    """Edges of parts that together have about ``least`` values or more."""
    seen = np.where(counts > 2.0 * std, counts, 0.0)
    found, here = [], 0.0
    for edge, count, following in zip(cuts[1:-1], seen, seen[1:], strict=False):
        here += float(count)
        # A part with very many values begins by itself, and not with others.
        if here >= least or following >= least:
            found.append(edge)
            here = 0.0
    return np.array(found, dtype=np.float64)


__all__ = ["LEVELS", "Range", "noisy_edges"]
