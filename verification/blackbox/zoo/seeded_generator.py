"""The noise comes from a generator with a fixed seed."""

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
_DIMENSION = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class SeededSum(ZooMechanism):
    """A noisy sum of clipped records.

    Parameters
    ----------
    event : Gaussian
        The parameters.
    seed : int or None
        The seed of a generator that every run makes; None to use the one that is passed in.
    """

    event: Gaussian
    seed: int | None

    def many(self, dataset: LabelledData, rng: np.random.Generator, count: int) -> Array:
        """Releases, shape (count, d)."""
        total = clipped(dataset.features, self.event.record_norm).sum(axis=0)
        std, d = self.event.noise_std, dataset.dimension
        if self.seed is None:
            return np.asarray(total + rng.normal(0.0, std, (count, d)))
        noise = [np.random.default_rng(self.seed).normal(0.0, std, d) for _ in range(count)]
        return np.asarray(total + np.array(noise))


ENTRY = ZooEntry(
    name="seeded-generator",
    mistake="Every run makes a generator with the same fixed seed: whoever knows the code "
    "subtracts the noise.",
    correction="The noise comes from the generator that is passed in.",
    seen_in="a generator of synthetic data whose seed had a fixed default value "
    "(alan-turing-institute/tapas issue 101)",
    event=_EVENT,
    adjacency=_ADJACENCY,
    broken=SeededSum(event=_EVENT, seed=0),
    fixed=SeededSum(event=_EVENT, seed=None),
    neighbours=lambda: worst_pair_of(_EVENT, _ADJACENCY, dimension=_DIMENSION, records=8),
    statistic="any score: outputs do not vary, and a check names the mistake",
    mistakes=(MistakeKind.FIXED_SEED,),
)
