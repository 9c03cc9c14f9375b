"""Batches of a fixed size, accounted for as Poisson samples."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rdpkit import PoissonSampledGaussian, Repeated
from rdpkit.adjacency import Adjacency
from rdpkit.verification.blackbox.neighbours import LabelledData, Neighbours
from rdpkit.verification.blackbox.zoo.base import (
    SampledSums,
    SummedLogRatio,
    ZooEntry,
    poisson_samples,
    subset_indicators,
)

_RECORDS, _BATCH, _STEPS, _DIMENSION = 12, 3, 4, 2
_STEP = PoissonSampledGaussian(
    noise_std=1.0, record_norm=1.0, sampling_probability=_BATCH / _RECORDS
)
_EVENT = Repeated(event=_STEP, count=_STEPS)
_ADJACENCY = Adjacency.ADD_OR_REMOVE_ONE


def _fixed_batches(
    shape: tuple[int, int, int], _: float, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Batches of a fixed size, drawn without replacement."""
    count, steps, records = shape
    return subset_indicators((count, steps), _BATCH, records, rng)


def _neighbours() -> Neighbours:
    others = np.tile([[-1.0, 0.0]], (_RECORDS - 1, 1))
    return Neighbours(
        first=LabelledData(features=np.vstack([others, [[1.0, 0.0]]])),
        second=LabelledData(features=others),
        adjacency=_ADJACENCY,
        description=(
            f"{_RECORDS - 1} records at -1 of the first axis, and one at +1 in D alone: in a batch "
            "of fixed size it replaces one of the others",
        ),
    )


def _score() -> SummedLogRatio:
    return SummedLogRatio(
        shape=(_STEPS, _DIMENSION),
        direction=(1.0, 0.0),
        centre=-float(_BATCH),
        distance=2.0,
        noise_multiplier=_STEP.noise_std / 2.0,
        sampling_probability=_STEP.sampling_probability,
    )


ENTRY = ZooEntry(
    name="fixed-batches-as-poisson",
    mistake="Batches have a fixed size and are accounted for as Poisson samples: a record that "
    "joins pushes another one out, and moves the sum by 2C instead of C.",
    correction="Every record joins independently.",
    seen_in="fixed batches with the accounting of Poisson sampling: Handcrafted-DP (ftramer, issue "
    "2) and private-transformers (lxuechen, issue 7) say so of their own code; tensorflow/privacy "
    "issue 483 asks about it",
    event=_EVENT,
    adjacency=_ADJACENCY,
    broken=SampledSums(step=_STEP, steps=_STEPS, samples=_fixed_batches),
    fixed=SampledSums(step=_STEP, steps=_STEPS, samples=poisson_samples),
    neighbours=_neighbours,
    statistic="log-likelihood ratio of batches of fixed size, summed over steps",
    score=_score,
)
