"""Batches of a fixed size, accounted for as Poisson samples."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from rdpkit.verification.training.mistakes import TrainingMistakeKind
from rdpkit.verification.training.zoo.base import TrainingZooEntry
from rdpkit.verification.training.zoo.with_numpy import NumpyTraining


class FixedSizes(NumpyTraining):
    """Each batch is a fresh subset of exactly the batch size."""

    def places(self) -> Iterator[NDArray[np.intp]]:
        """The positions of the records of each batch of an epoch."""
        count = len(self.labels)
        for _ in range(count // self.batch_size):
            yield self.generator.choice(count, self.batch_size, replace=False)


ENTRY = TrainingZooEntry(
    name="fixed-size-as-poisson",
    mistake="Each batch is a subset of exactly 64 records, and the accountant is told of Poisson "
    "samples.",
    correction="Every record joins each batch independently.",
    seen_in="after lxuechen/private-transformers issue 7 and ftramer/Handcrafted-DP issue 2",
    check="sampler",
    kinds=(TrainingMistakeKind.FIXED_SIZE, TrainingMistakeKind.NOT_POISSON),
    style="numpy",
    broken=lambda: FixedSizes().training(),
    fixed=lambda: NumpyTraining().training(),
)
