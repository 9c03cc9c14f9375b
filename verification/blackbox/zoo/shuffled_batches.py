"""Batches of a shuffled epoch, accounted for as Poisson samples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rdpkit import PoissonSampledGaussian, Repeated
from rdpkit.adjacency import Adjacency
from rdpkit.verification.blackbox.neighbours import LabelledData
from rdpkit.verification.blackbox.zoo.base import (
    Array,
    SummedLogRatio,
    ZooEntry,
    ZooMechanism,
    clipped,
    in_pieces,
    worst_pair_of,
)

_RECORDS, _BATCHES, _DIMENSION = 12, 4, 2
_STEP = PoissonSampledGaussian(noise_std=0.4, record_norm=1.0, sampling_probability=1.0 / _BATCHES)
_EVENT = Repeated(event=_STEP, count=_BATCHES)
_ADJACENCY = Adjacency.ADD_OR_REMOVE_ONE


@dataclass(frozen=True, slots=True, kw_only=True)
class OneEpoch(ZooMechanism):
    """A noisy sum of clipped records for each batch of an epoch.

    Parameters
    ----------
    step : PoissonSampledGaussian
        What each sum is claimed to be.
    batches : int
        The number of batches.
    shuffled : bool
        Whether the records are shuffled and dealt out; otherwise each joins each batch
        independently.
    """

    step: PoissonSampledGaussian
    batches: int
    shuffled: bool

    def many(self, dataset: LabelledData, rng: np.random.Generator, count: int) -> Array:
        """Releases, shape (count, batches, d)."""
        records = clipped(dataset.features, self.step.record_norm)
        n = len(records)

        def sums(size: int) -> Array:
            if not self.shuffled:
                joined = rng.random((size, self.batches, n)) < self.step.sampling_probability
                return np.asarray(joined @ records)
            places = np.argsort(rng.random((size, n)), axis=1)
            # Batches have equal sizes, except that the last one may be smaller.
            batch_of = places // -(-n // self.batches)
            dealt = batch_of[:, None, :] == np.arange(self.batches)[None, :, None]
            return np.asarray(dealt @ records)

        total = in_pieces(count, self.batches * n, sums)
        return np.asarray(total + rng.normal(0.0, self.step.noise_std, total.shape))


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
    broken=OneEpoch(step=_STEP, batches=_BATCHES, shuffled=True),
    fixed=OneEpoch(step=_STEP, batches=_BATCHES, shuffled=False),
    neighbours=lambda: worst_pair_of(_EVENT, _ADJACENCY, dimension=_DIMENSION, records=_RECORDS),
    statistic="log-likelihood ratio of Poisson sampling, summed over batches",
    score=_score,
)
