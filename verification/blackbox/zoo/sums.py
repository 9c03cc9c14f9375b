"""Mistakes in sums of clipped records, and in their noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from rdpkit import Gaussian
from rdpkit.adjacency import Adjacency
from rdpkit.verification.blackbox.adversarial_pairs import OFF_GRID
from rdpkit.verification.blackbox.neighbours import LabelledData, Neighbours
from rdpkit.verification.blackbox.zoo.base import (
    Draw,
    NoisySum,
    SummedLogRatio,
    ZooMechanism,
    clipped,
    entry,
    worst_pair_of,
)
from rdpkit.verification.estimators.base import Array

_RECORDS, _DIMENSION = 8, 2
_LAYERS = 2
_REPLACED = Gaussian(noise_std=2.0, record_norm=1.0)
_ADDED = Gaussian(noise_std=1.5, record_norm=1.0)
# One record moves the mean by a vector whose norm is at most C/n.
_OF_THE_MEAN = Gaussian(noise_std=0.25, record_norm=1.0 / _RECORDS)
_LARGE = 1000.0


def _normal(std: float) -> Draw:
    return lambda rng, shape: rng.normal(0.0, std, shape)


def _seeded(_: np.random.Generator, shape: tuple[int, int]) -> Array:
    """The noise of runs that each make a generator with the same seed."""
    rows, columns = shape
    noise = [np.random.default_rng(0).normal(0.0, _ADDED.noise_std, columns) for _ in range(rows)]
    return np.array(noise)


def _single_precision(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    """The normal quantile of a uniform number, both in single precision: 2^24 levels."""
    # The normal quantile of 0 is not finite.
    uniform = np.maximum(rng.random(shape, dtype=np.float32), np.float32(2.0**-25))
    noise = (_ADDED.noise_std * ndtri(uniform)).astype(np.float32)
    return np.asarray(noise, dtype=np.float64)


def _double_precision(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    """The normal quantile of a uniform number, both in double precision."""
    return np.asarray(_ADDED.noise_std * ndtri(np.maximum(rng.random(shape), 2.0**-54)))


@dataclass(frozen=True, slots=True, kw_only=True)
class ClippedMean(ZooMechanism):
    """The clipped mean of all records, with noise; the number n of records is public."""

    after_averaging: bool  # Whether the mean is clipped, and not the records

    def many(self, dataset: LabelledData, rng: np.random.Generator, count: int) -> Array:
        """Releases, shape (count, d)."""
        if self.after_averaging:
            mean = clipped(dataset.features.mean(axis=0, keepdims=True), 1.0)[0]
        else:
            mean = clipped(dataset.features, 1.0).mean(axis=0)
        shape = (count, dataset.dimension)
        return np.asarray(mean + rng.normal(0.0, _OF_THE_MEAN.noise_std, shape))


@dataclass(frozen=True, slots=True, kw_only=True)
class LayeredSum(ZooMechanism):
    """A noisy sum of clipped records, released in layers of equal width."""

    reuse: bool  # Whether all layers get the same noise

    def many(self, dataset: LabelledData, rng: np.random.Generator, count: int) -> Array:
        """Releases, shape (count, layers, width)."""
        total = clipped(dataset.features, _ADDED.record_norm).sum(axis=0)
        parts = total.reshape(_LAYERS, -1)
        shape = (count, 1 if self.reuse else _LAYERS, parts.shape[1])
        return np.asarray(parts + rng.normal(0.0, _ADDED.noise_std, shape))


def _one_far_record() -> Neighbours:
    rest = np.zeros((_RECORDS - 1, _DIMENSION))
    far = np.array([[_LARGE, 0.0]])
    return Neighbours(
        first=LabelledData(features=np.vstack([rest, far])),
        second=LabelledData(features=np.vstack([rest, -far])),
        adjacency=Adjacency.REPLACE_ONE,
        description=(
            f"{_RECORDS - 1} records at the origin; one at {_LARGE:g} against one at "
            f"{-_LARGE:g} of the first axis",
        ),
    )


ENTRIES = (
    entry(
        "half-sensitivity",
        event=_REPLACED,
        adjacency=Adjacency.REPLACE_ONE,
        broken=NoisySum(noise=_normal(1.0)),
        fixed=NoisySum(noise=_normal(2.0)),
        records=_RECORDS,
        score=lambda: SummedLogRatio(
            shape=(1, _DIMENSION),
            centre=-1.0,
            distance=2.0,
            noise_multiplier=1.0,
            sampling_probability=1.0,
        ),
    ),
    entry(
        "clip-after-averaging",
        event=_OF_THE_MEAN,
        adjacency=Adjacency.REPLACE_ONE,
        broken=ClippedMean(after_averaging=True),
        fixed=ClippedMean(after_averaging=False),
        neighbours=_one_far_record,
    ),
    entry(
        "noise-reused",
        event=_ADDED,
        adjacency=Adjacency.ADD_OR_REMOVE_ONE,
        broken=LayeredSum(reuse=True),
        fixed=LayeredSum(reuse=False),
        dimension=2 * _LAYERS,
        records=_RECORDS,
    ),
    entry(
        "seeded-generator",
        event=_ADDED,
        adjacency=Adjacency.ADD_OR_REMOVE_ONE,
        broken=NoisySum(noise=_seeded),
        fixed=NoisySum(noise=_normal(_ADDED.noise_std)),
        records=_RECORDS,
    ),
    entry(
        "float32-noise",
        event=_ADDED,
        adjacency=Adjacency.ADD_OR_REMOVE_ONE,
        broken=NoisySum(noise=_single_precision),
        fixed=NoisySum(noise=_double_precision),
        neighbours=lambda: worst_pair_of(
            _ADDED, Adjacency.ADD_OR_REMOVE_ONE, dimension=_DIMENSION, records=_RECORDS
        ).scaled(OFF_GRID),
    ),
)
