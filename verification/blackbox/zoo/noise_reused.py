"""One draw of noise serves two releases."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rdpkit import Gaussian
from rdpkit.adjacency import Adjacency
from rdpkit.verification.blackbox.mistakes import MistakeKind
from rdpkit.verification.blackbox.neighbours import LabelledData
from rdpkit.verification.blackbox.zoo.base import (
    Array,
    ZooEntry,
    ZooMechanism,
    clipped,
    worst_pair_of,
)

_EVENT = Gaussian(noise_std=1.5, record_norm=1.0)
_ADJACENCY = Adjacency.ADD_OR_REMOVE_ONE
_LAYERS, _WIDTH = 2, 2


@dataclass(frozen=True, slots=True, kw_only=True)
class LayeredSum(ZooMechanism):
    """A noisy sum of clipped records, released layer by layer."""

    event: Gaussian  # The parameters
    layers: int  # Parts of equal width that a record is cut into
    reuse: bool  # Whether all layers get the same noise

    def many(self, dataset: LabelledData, rng: np.random.Generator, count: int) -> Array:
        """Releases, shape (count, layers, width)."""
        total = clipped(dataset.features, self.event.record_norm).sum(axis=0)
        parts = total.reshape(self.layers, -1)
        shape = (count, 1 if self.reuse else self.layers, parts.shape[1])
        return np.asarray(parts + rng.normal(0.0, self.event.noise_std, shape))


ENTRY = ZooEntry(
    name="noise-reused",
    mistake="All layers get the same draw of noise: the difference of two layers has none.",
    correction="Every layer gets its own.",
    seen_in="jax's differentially private SGD example, which used one random key for all "
    "parameters (jax-ml/jax pull request 3646); diffprivlib's maintainer names it as the danger of "
    "seeds (issue 31)",
    event=_EVENT,
    adjacency=_ADJACENCY,
    broken=LayeredSum(event=_EVENT, layers=_LAYERS, reuse=True),
    fixed=LayeredSum(event=_EVENT, layers=_LAYERS, reuse=False),
    neighbours=lambda: worst_pair_of(_EVENT, _ADJACENCY, dimension=_LAYERS * _WIDTH, records=8),
    statistic="the combination of outputs that varies least",
    mistakes=(MistakeKind.NOISE_REUSED,),
)
