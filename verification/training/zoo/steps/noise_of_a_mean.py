"""Noise for a mean is added to the sum, and divided by the batch size once more."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rdpkit.verification.training.mistakes import TrainingMistakeKind
from rdpkit.verification.training.trainer import PrivateTraining
from rdpkit.verification.training.zoo.base import TrainingZooEntry
from rdpkit.verification.training.zoo.with_numpy import NumpyTraining

Vector = NDArray[np.float64]


class NoiseDivided(NumpyTraining):
    """Noise is divided by the batch size before the sum is."""

    def noise(self, shape: tuple[int, ...]) -> Vector:
        """Noise of the mean."""
        return super().noise(shape) / self.batch_size


def _made(kind: type[NumpyTraining]) -> PrivateTraining:
    return kind().training()


ENTRY = TrainingZooEntry(
    name="noise-of-a-mean",
    mistake="Noise of standard deviation sigma C / B is added to the sum, which is then divided "
    "by B: the noise is B times too small.",
    correction="Noise of standard deviation sigma C is added to the sum, and both are divided.",
    seen_in="after meta-pytorch/opacus issues 200 and 753 and tensorflow/privacy issue 88, where "
    "the right place of the division is asked for",
    check="step",
    kinds=(TrainingMistakeKind.NOISE_TOO_SMALL,),
    style="numpy",
    broken=lambda: _made(NoiseDivided),
    fixed=lambda: _made(NumpyTraining),
)
