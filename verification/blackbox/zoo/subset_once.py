"""The subset is drawn once per class, outside of the loop over releases."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rdpkit import ClassWiseDPMix
from rdpkit.adjacency import Adjacency
from rdpkit.verification.blackbox.neighbours import LabelledData
from rdpkit.verification.blackbox.zoo.base import (
    Array,
    SummedLogRatio,
    ZooEntry,
    ZooMechanism,
    subset_sums,
    worst_pair_of,
)

_EVENT = ClassWiseDPMix(
    class_sizes=(12, 12),
    samples_per_class=8,
    order_of_mixture=3,
    feature_dimension=2,
    label_dimension=2,
    feature_noise=0.7,
    label_noise=0.0,
)
_ADJACENCY = Adjacency.REPLACE_ONE


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassWiseMixing(ZooMechanism):
    """Class-wise DPMix: means of subsets of a class, plus noise."""

    event: ClassWiseDPMix
    """The parameters."""
    fresh: bool
    """Whether every release draws its own subset; otherwise all releases of a class share one."""

    def many(self, dataset: LabelledData, rng: np.random.Generator, count: int) -> Array:
        """Releases, shape (count, classes, releases of a class, d)."""
        event = self.event
        parts = []
        for label, releases in enumerate(event.samples):
            records = dataset.features[dataset.labels == label]
            draws = releases if self.fresh else 1
            sums = subset_sums(records, event.order_of_mixture, draws=draws, count=count, rng=rng)
            noise = rng.normal(0.0, event.feature_noise, (count, releases, dataset.dimension))
            parts.append(sums / event.order_of_mixture + noise)
        return np.stack(parts, axis=1)


def _score() -> SummedLogRatio:
    distance = math.sqrt(_EVENT.feature_dimension) / _EVENT.order_of_mixture
    releases = _EVENT.samples[0]
    half = 1.0 / math.sqrt(2.0)
    return SummedLogRatio(
        shape=(2 * releases, 2),
        touched=(0, releases),
        direction=(half, half),
        centre=0.0,
        distance=distance,
        noise_multiplier=_EVENT.feature_noise / distance,
        sampling_probability=_EVENT.order_of_mixture / _EVENT.class_sizes[0],
    )


ENTRY = ZooEntry(
    name="subset-once",
    mistake="The subset is drawn once per class, outside of the loop over releases: one mean is "
    "released again and again with fresh noise, so there is no amplification by sampling.",
    correction="Every release draws its own subset.",
    seen_in="the class-wise listing B.1 of the DPMix thesis, whose accounting assumes fresh "
    "subsets",
    event=_EVENT,
    adjacency=_ADJACENCY,
    broken=ClassWiseMixing(event=_EVENT, fresh=False),
    fixed=ClassWiseMixing(event=_EVENT, fresh=True),
    neighbours=lambda: worst_pair_of(_EVENT, _ADJACENCY, dimension=_EVENT.feature_dimension),
    statistic="log-likelihood ratio of the claimed releases, summed over those of one class",
    score=_score,
)
