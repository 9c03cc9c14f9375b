"""The mean is clipped instead of the records."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rdpkit import Gaussian
from rdpkit.adjacency import Adjacency
from rdpkit.verification.blackbox.neighbours import LabelledData, Neighbours
from rdpkit.verification.blackbox.zoo.base import Array, ZooEntry, ZooMechanism, clipped

_RECORDS, _NORM, _DIMENSION = 8, 1.0, 2
_ADJACENCY = Adjacency.REPLACE_ONE
# One record moves the mean by a vector whose norm is at most C/n.
_EVENT = Gaussian(noise_std=0.25, record_norm=_NORM / _RECORDS)
_LARGE = 1000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ClippedMean(ZooMechanism):
    """The clipped mean of all records, with noise; the number n of records is public."""

    clip_norm: float  # C
    noise_std: float  # Standard deviation of the noise
    after_averaging: bool  # Whether the mean is clipped, and not the records

    def many(self, dataset: LabelledData, rng: np.random.Generator, count: int) -> Array:
        """Releases, shape (count, d)."""
        if self.after_averaging:
            mean = clipped(dataset.features.mean(axis=0, keepdims=True), self.clip_norm)[0]
        else:
            mean = clipped(dataset.features, self.clip_norm).mean(axis=0)
        return np.asarray(mean + rng.normal(0.0, self.noise_std, (count, dataset.dimension)))


def _neighbours() -> Neighbours:
    rest = np.zeros((_RECORDS - 1, _DIMENSION))
    far = np.array([[_LARGE, 0.0]])
    return Neighbours(
        first=LabelledData(features=np.vstack([rest, far])),
        second=LabelledData(features=np.vstack([rest, -far])),
        adjacency=_ADJACENCY,
        description=(
            f"{_RECORDS - 1} records at the origin; one at {_LARGE:g} against one at "
            f"{-_LARGE:g} of the first axis",
        ),
    )


ENTRY = ZooEntry(
    name="clip-after-averaging",
    mistake="The mean is clipped to C instead of the records, and noise is scaled to C/n: one "
    "record can carry the mean from one side of the ball to the other.",
    correction="Every record is clipped.",
    seen_in="batch clipping, which num_microbatches = 1 amounts to (bargavj/EvaluatingDPML issue "
    "22; tensorflow/privacy issues 46 and 135 explain the price of microbatches)",
    event=_EVENT,
    adjacency=_ADJACENCY,
    broken=ClippedMean(clip_norm=_NORM, noise_std=_EVENT.noise_std, after_averaging=True),
    fixed=ClippedMean(clip_norm=_NORM, noise_std=_EVENT.noise_std, after_averaging=False),
    neighbours=_neighbours,
    statistic="a linear score, learnt",
)
