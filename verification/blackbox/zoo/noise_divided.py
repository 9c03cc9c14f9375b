"""Noise for a mean of l records is added to their sum, so that it is divided by l as well."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rdpkit import FixedSizeSampledGaussian
from rdpkit.adjacency import Adjacency
from rdpkit.verification.blackbox.neighbours import LabelledData
from rdpkit.verification.blackbox.zoo.base import (
    Array,
    SummedLogRatio,
    ZooEntry,
    ZooMechanism,
    clipped,
    subset_sums,
    worst_pair_of,
)

_EVENT = FixedSizeSampledGaussian(
    noise_std=0.5, record_norm=1.0, sample_size=4, population_size=12, release="mean"
)
_ADJACENCY = Adjacency.REPLACE_ONE
_DIMENSION = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyMean(ZooMechanism):
    """The mean of the clipped records of a subset of fixed size, with noise."""

    event: FixedSizeSampledGaussian
    """The parameters; the noise is for the mean."""
    before_dividing: bool
    """Whether the noise is added to the sum before it is divided by the size of the subset."""

    def many(self, dataset: LabelledData, rng: np.random.Generator, count: int) -> Array:
        """Releases, shape (count, d)."""
        event = self.event
        records = clipped(dataset.features, event.record_norm)
        total = subset_sums(records, event.sample_size, draws=1, count=count, rng=rng)[:, 0]
        noise = rng.normal(0.0, event.noise_std, total.shape)
        if self.before_dividing:
            return np.asarray((total + noise) / event.sample_size)
        return np.asarray(total / event.sample_size + noise)


def _score() -> SummedLogRatio:
    return SummedLogRatio(
        shape=(1, _DIMENSION),
        direction=(1.0, 0.0),
        centre=-_EVENT.record_norm,
        distance=_EVENT.swap_distance,
        noise_multiplier=_EVENT.noise_multiplier,
        sampling_probability=_EVENT.sample_size / _EVENT.population_size,
    )


ENTRY = ZooEntry(
    name="noise-divided-by-l",
    mistake="Noise that was calibrated for the mean of l records is added to their sum and divided "
    "by l with it: it is l times too small.",
    correction="The sum is divided first.",
    seen_in="a wrong factor of the batch size in the sensitivity left too little noise in the code "
    'of "Backpropagation Clipping" (Tramer et al. 2022, Debugging Differential Privacy); '
    "users keep asking which of the two scales a noise is for (tensorflow/privacy issue 88, "
    "opacus issue 200)",
    event=_EVENT,
    adjacency=_ADJACENCY,
    broken=NoisyMean(event=_EVENT, before_dividing=True),
    fixed=NoisyMean(event=_EVENT, before_dividing=False),
    neighbours=lambda: worst_pair_of(_EVENT, _ADJACENCY, dimension=_DIMENSION),
    statistic="log-likelihood ratio of the claimed release",
    score=_score,
)
