"""Batches of a shuffled epoch, accounted for as Poisson samples."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rdpkit import PoissonSampledGaussian, Repeated
from rdpkit.adjacency import Adjacency
from rdpkit.verification.blackbox.zoo.base import (
    SampledSums,
    SummedLogRatio,
    ZooEntry,
    poisson_samples,
    worst_pair_of,
)

_RECORDS, _BATCHES, _DIMENSION = 12, 4, 2
_STEP = PoissonSampledGaussian(noise_std=0.4, record_norm=1.0, sampling_probability=1.0 / _BATCHES)
_EVENT = Repeated(event=_STEP, count=_BATCHES)
_ADJACENCY = Adjacency.ADD_OR_REMOVE_ONE


def _shuffled_batches(
    shape: tuple[int, int, int], _: float, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """The batches of an epoch: the records are shuffled and dealt out."""
    count, batches, records = shape
    places = np.argsort(rng.random((count, records)), axis=1)
    # Batches have equal sizes, except that the last one may be smaller.
    batch_of = places // -(-records // batches)
    return np.asarray(batch_of[:, None, :] == np.arange(batches)[None, :, None])


def _score() -> SummedLogRatio:
    return SummedLogRatio(
        shape=(_BATCHES, _DIMENSION),
        direction=(1.0, 0.0),
        centre=0.0,
        distance=_STEP.record_norm,
        noise_multiplier=_STEP.noise_std,
        sampling_probability=_STEP.sampling_probability,
    )


ENTRY = ZooEntry(
    name="shuffle-as-poisson",
    mistake="An epoch deals out the shuffled records in batches and is accounted for as Poisson "
    "sampling: every record is in one batch for certain, where Poisson sampling would leave it "
    "out of all of them with probability (1 - q)^(1/q).",
    correction="Every record joins every batch independently.",
    seen_in="the loop that most training code has; opacus pull request 128 corrected it in its "
    "examples, and a maintainer of tensorflow/privacy calls it what is most commonly used (issue "
    "483)",
    event=_EVENT,
    adjacency=_ADJACENCY,
    broken=SampledSums(step=_STEP, steps=_BATCHES, samples=_shuffled_batches),
    fixed=SampledSums(step=_STEP, steps=_BATCHES, samples=poisson_samples),
    neighbours=lambda: worst_pair_of(_EVENT, _ADJACENCY, dimension=_DIMENSION, records=_RECORDS),
    statistic="log-likelihood ratio of Poisson sampling, summed over batches",
    score=_score,
)
