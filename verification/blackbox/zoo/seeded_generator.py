"""The noise comes from a generator with a fixed seed."""

from __future__ import annotations

import numpy as np

from rdpkit import Gaussian
from rdpkit.adjacency import Adjacency
from rdpkit.verification.blackbox.mistakes import MistakeKind
from rdpkit.verification.blackbox.zoo.base import (
    Array,
    NoisySum,
    ZooEntry,
    normal_noise,
    worst_pair_of,
)

_EVENT = Gaussian(noise_std=1.5, record_norm=1.0)
_ADJACENCY = Adjacency.ADD_OR_REMOVE_ONE
_DIMENSION = 2


def _seeded_noise(_: np.random.Generator, shape: tuple[int, int]) -> Array:
    """The noise of runs that each make a generator with the same seed."""
    rows, columns = shape
    noise = [np.random.default_rng(0).normal(0.0, _EVENT.noise_std, columns) for _ in range(rows)]
    return np.array(noise)


ENTRY = ZooEntry(
    name="seeded-generator",
    mistake="Every run makes a generator with the same fixed seed: whoever knows the code "
    "subtracts the noise.",
    correction="The noise comes from the generator that is passed in.",
    seen_in="a generator of synthetic data whose seed had a fixed default value "
    "(alan-turing-institute/tapas issue 101)",
    event=_EVENT,
    adjacency=_ADJACENCY,
    broken=NoisySum(clip_norm=_EVENT.record_norm, noise=_seeded_noise),
    fixed=NoisySum(clip_norm=_EVENT.record_norm, noise=normal_noise(_EVENT.noise_std)),
    neighbours=lambda: worst_pair_of(_EVENT, _ADJACENCY, dimension=_DIMENSION, records=8),
    statistic="any score: outputs do not vary, and a check names the mistake",
    mistakes=(MistakeKind.FIXED_SEED,),
)
