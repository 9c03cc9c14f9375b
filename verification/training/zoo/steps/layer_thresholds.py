"""Each layer is clipped to C, and the noise is that for a gradient that is clipped to C."""

from __future__ import annotations

import math
from collections.abc import Sequence

from torch import Tensor, nn

from rdpkit.verification.training.mistakes import TrainingMistakeKind
from rdpkit.verification.training.trainer import PrivateTraining
from rdpkit.verification.training.zoo.base import TrainingZooEntry
from rdpkit.verification.training.zoo.parts import (
    NORM,
    STD,
    Gradients,
    clipped_sums,
    gradients_of_records,
    mean_of,
    noise_like,
    torch_training,
)


def _made(*, all_together: bool) -> PrivateTraining:
    def gradients(model: nn.Module, batch: Sequence[Tensor]) -> Gradients:
        found = gradients_of_records(model, batch)
        each = NORM / math.sqrt(len(found)) if all_together else NORM
        sums: Gradients = {}
        for name, value in found.items():
            sums |= clipped_sums({name: value}, each)
        return mean_of(sums, noise_like(sums, STD))

    return torch_training(gradients)


ENTRY = TrainingZooEntry(
    name="layer-thresholds",
    mistake="Each of four parameters is clipped to C on its own, so that a record moves all of "
    "them together by 2 C, and the noise is that for C.",
    correction="Thresholds whose squares add up to C squared.",
    seen_in="after meta-pytorch/opacus issue 202 and fedbiomed/fedbiomed issue 1443",
    check="step",
    kinds=(TrainingMistakeKind.NOISE_TOO_SMALL,),
    style="torch",
    broken=lambda: _made(all_together=False),
    fixed=lambda: _made(all_together=True),
)
