"""Noise in single precision on a sum in double precision."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from rdpkit import Gaussian
from rdpkit.adjacency import Adjacency
from rdpkit.verification.blackbox.candidate_pairs import OFF_GRID
from rdpkit.verification.blackbox.mistakes import MistakeKind
from rdpkit.verification.blackbox.neighbours import LabelledData, Neighbours
from rdpkit.verification.blackbox.zoo.base import (
    Array,
    ZooEntry,
    ZooMechanism,
    clipped,
    worst_pair_of,
)

_EVENT = Gaussian(noise_std=1.5, record_norm=1.0)
_ADJACENCY = Adjacency.ADD_OR_REMOVE_ONE
_DIMENSION = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class QuantileNoiseSum(ZooMechanism):
    """A noisy sum of clipped records; the noise is the normal quantile of a uniform number.

    Parameters
    ----------
    event : Gaussian
        The parameters.
    single : bool
        Whether the uniform number and the noise are in single precision: 2^24 levels.
    """

    event: Gaussian
    single: bool

    def many(self, dataset: LabelledData, rng: np.random.Generator, count: int) -> Array:
        """Releases, shape (count, d)."""
        total = clipped(dataset.features, self.event.record_norm).sum(axis=0)
        shape = (count, dataset.dimension)
        if self.single:
            # The normal quantile of 0 is not finite.
            uniform = np.maximum(rng.random(shape, dtype=np.float32), np.float32(2.0**-25))
            noise = (self.event.noise_std * ndtri(uniform)).astype(np.float32)
            return np.asarray(total + noise.astype(np.float64))
        return np.asarray(
            total + self.event.noise_std * ndtri(np.maximum(rng.random(shape), 2.0**-54))
        )


def _neighbours() -> Neighbours:
    return worst_pair_of(_EVENT, _ADJACENCY, dimension=_DIMENSION, records=8).scaled(OFF_GRID)


ENTRY = ZooEntry(
    name="float32-noise",
    mistake="The noise is drawn in single precision, with 2^24 levels, and added to a sum in "
    "double precision: the digits beyond those of the noise reveal the sum.",
    correction="The noise is drawn in double precision.",
    seen_in="attacks on the precision of floating-point noise: Mironov 2012, On Significance of "
    "the Least Significant Bits for Differential Privacy; opacus pull request 260 answers one on "
    "its Gaussian noise, prestodb/presto issue 23002 reports one",
    event=_EVENT,
    adjacency=_ADJACENCY,
    broken=QuantileNoiseSum(event=_EVENT, single=True),
    fixed=QuantileNoiseSum(event=_EVENT, single=False),
    neighbours=_neighbours,
    statistic="distance to the grid of the noise",
    mistakes=(MistakeKind.COARSE_NOISE,),
)
