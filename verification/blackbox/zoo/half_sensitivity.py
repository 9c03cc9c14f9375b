"""The sensitivity of add-or-remove-one is used where replace-one is claimed."""

from __future__ import annotations

from rdpkit import Gaussian
from rdpkit.adjacency import Adjacency
from rdpkit.verification.blackbox.zoo.base import (
    NoisySum,
    SummedLogRatio,
    ZooEntry,
    normal_noise,
    worst_pair_of,
)

_NOISE_MULTIPLIER, _NORM = 1.0, 1.0
_ADJACENCY = Adjacency.REPLACE_ONE
_EVENT = Gaussian(noise_std=_NOISE_MULTIPLIER * 2.0 * _NORM, record_norm=_NORM)
_DIMENSION = 2


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
    broken=NoisySum(clip_norm=_NORM, noise=normal_noise(_NOISE_MULTIPLIER * _NORM)),
    fixed=NoisySum(clip_norm=_NORM, noise=normal_noise(_NOISE_MULTIPLIER * 2.0 * _NORM)),
    neighbours=lambda: worst_pair_of(_EVENT, _ADJACENCY, dimension=_DIMENSION, records=8),
    statistic="the sum along the changed record",
    score=_score,
)
