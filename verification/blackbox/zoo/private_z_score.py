"""Features are standardised with the private data's own mean and standard deviation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rdpkit import DPCDA
from rdpkit.adjacency import Adjacency
from rdpkit.verification.blackbox.neighbours import LabelledData, Neighbours
from rdpkit.verification.blackbox.zoo.base import (
    Array,
    ZooEntry,
    ZooMechanism,
    clipped,
    subset_sums,
)

_EVENT = DPCDA(
    class_sizes=(10, 10),
    samples_per_class=4,
    order_of_mixture=5,
    clip_norm=1.0,
    feature_noise=0.4,
    label_noise=0.0,
)
_ADJACENCY = Adjacency.REPLACE_ONE
_FAR = 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassCentricMixing(ZooMechanism):
    """Algorithm 1 of DP-CDA without its label noise."""

    event: DPCDA  # The parameters
    # Constants to standardise features with; None for the data's own, as in the algorithm.
    public_mean: float | None
    public_std: float | None

    def many(self, dataset: LabelledData, rng: np.random.Generator, count: int) -> Array:
        """Releases, shape (count, classes, releases of a class, d)."""
        event, features = self.event, dataset.features
        mean = features.mean(axis=0) if self.public_mean is None else self.public_mean
        std = features.std(axis=0) if self.public_std is None else self.public_std
        scaled = clipped((features - mean) / std, event.clip_norm)
        parts = []
        for label, releases in enumerate(event.samples):
            records = scaled[dataset.labels == label]
            sums = subset_sums(
                records, event.order_of_mixture, draws=releases, count=count, rng=rng
            )
            noise = rng.normal(0.0, event.feature_noise, sums.shape)
            parts.append(sums / event.order_of_mixture + noise)
        return np.stack(parts, axis=1)


def _neighbours() -> Neighbours:
    near = np.array([[1.0, 1.0]])
    sizes = _EVENT.class_sizes
    rest = np.vstack([np.tile(near, (sizes[0], 1)), np.tile(-near, (sizes[1] - 1, 1))])
    labels = np.repeat([0, 1], sizes)
    return Neighbours(
        first=LabelledData(features=np.vstack([rest, -near]), labels=labels),
        second=LabelledData(features=np.vstack([rest, _FAR * near]), labels=labels),
        adjacency=_ADJACENCY,
        description=(
            f"{sizes[0]} records of class 0 at (1, 1), {sizes[1]} of class 1 at (-1, -1); one of "
            f"these against one at ({_FAR:g}, {_FAR:g})",
        ),
    )


ENTRY = ZooEntry(
    name="private-z-score",
    mistake="Features are standardised with the private data's own mean and standard deviation, "
    "which are not accounted for: one far record moves all the others.",
    correction="They are standardised with public constants.",
    seen_in="Algorithm 1 of DP-CDA (Saha, Tonoy and Imtiaz)",
    event=_EVENT,
    adjacency=_ADJACENCY,
    broken=ClassCentricMixing(event=_EVENT, public_mean=None, public_std=None),
    fixed=ClassCentricMixing(event=_EVENT, public_mean=0.0, public_std=1.0),
    neighbours=_neighbours,
    statistic="a linear score, learnt",
)
