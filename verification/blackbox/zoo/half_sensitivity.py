"""The sensitivity of add-or-remove-one is used where replace-one is claimed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rdpkit import Gaussian
from rdpkit.adjacency import Adjacency
from rdpkit.verification.blackbox.neighbours import LabelledData
from rdpkit.verification.blackbox.zoo.base import (
    Array,
    SummedLogRatio,
    ZooEntry,
    ZooMechanism,
    clipped,
    worst_pair_of,
)

_NOISE_MULTIPLIER, _NORM = 1.0, 1.0
_ADJACENCY = Adjacency.REPLACE_ONE
_EVENT = Gaussian(noise_std=_NOISE_MULTIPLIER * 2.0 * _NORM, record_norm=_NORM)
_DIMENSION = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisySum(ZooMechanism):
    """The sum of clipped records plus noise.

    Parameters
    ----------
    noise_multiplier : float
        Noise standard deviation over the sensitivity.
    clip_norm : float
        C.
    sensitivity : float
        The sensitivity that the noise is scaled to.
    """

    noise_multiplier: float
    clip_norm: float
    sensitivity: float

    def many(self, dataset: LabelledData, rng: np.random.Generator, count: int) -> Array:
        """Releases, shape (count, d)."""
        total = clipped(dataset.features, self.clip_norm).sum(axis=0)
        noise = rng.normal(
            0.0, self.noise_multiplier * self.sensitivity, (count, dataset.dimension)
        )
        return np.asarray(total + noise)


def _score() -> SummedLogRatio:
    return SummedLogRatio(
        shape=(1, _DIMENSION),
        direction=(1.0, 0.0),
        centre=-_NORM,
        distance=2.0 * _NORM,
        noise_multiplier=_NOISE_MULTIPLIER,
        sampling_probability=1.0,
    )


ENTRY = ZooEntry(
    name="half-sensitivity",
    mistake="Noise is calibrated to the clip norm C, the sensitivity under add-or-remove-one, "
    "where replace-one is claimed: C against -C moves the sum by 2C.",
    correction="The sensitivity is 2C.",
    seen_in="dp-accounting's RDP accountant, for a GaussianDpEvent under REPLACE_ONE "
    "(google/differential-privacy issue 378, pull request 464)",
    event=_EVENT,
    adjacency=_ADJACENCY,
    broken=NoisySum(noise_multiplier=_NOISE_MULTIPLIER, clip_norm=_NORM, sensitivity=_NORM),
    fixed=NoisySum(noise_multiplier=_NOISE_MULTIPLIER, clip_norm=_NORM, sensitivity=2.0 * _NORM),
    neighbours=lambda: worst_pair_of(_EVENT, _ADJACENCY, dimension=_DIMENSION, records=8),
    statistic="the sum along the changed record",
    score=_score,
)
