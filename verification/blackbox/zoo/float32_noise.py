"""Noise in single precision on a sum in double precision."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from rdpkit import Gaussian
from rdpkit.adjacency import Adjacency
from rdpkit.verification.blackbox.candidate_pairs import OFF_GRID
from rdpkit.verification.blackbox.mistakes import MistakeKind
from rdpkit.verification.blackbox.neighbours import Neighbours
from rdpkit.verification.blackbox.zoo.base import Array, NoisySum, ZooEntry, worst_pair_of

_EVENT = Gaussian(noise_std=1.5, record_norm=1.0)
_ADJACENCY = Adjacency.ADD_OR_REMOVE_ONE
_DIMENSION = 2


def _single_precision(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    """The normal quantile of a uniform number, both in single precision: 2^24 levels."""
    # The normal quantile of 0 is not finite.
    uniform = np.maximum(rng.random(shape, dtype=np.float32), np.float32(2.0**-25))
    noise = (_EVENT.noise_std * ndtri(uniform)).astype(np.float32)
    return np.asarray(noise, dtype=np.float64)


def _double_precision(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    """The normal quantile of a uniform number, both in double precision."""
    return np.asarray(_EVENT.noise_std * ndtri(np.maximum(rng.random(shape), 2.0**-54)))


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
    broken=NoisySum(clip_norm=_EVENT.record_norm, noise=_single_precision),
    fixed=NoisySum(clip_norm=_EVENT.record_norm, noise=_double_precision),
    neighbours=_neighbours,
    statistic="distance to the grid of the noise",
    mistakes=(MistakeKind.COARSE_NOISE,),
)
