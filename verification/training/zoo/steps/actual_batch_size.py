"""Sum and noise are divided by the number of records that happen to be in the batch."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn

from rdpkit.verification.training.mistakes import TrainingMistakeKind
from rdpkit.verification.training.zoo.base import TrainingZooEntry
from rdpkit.verification.training.zoo.parts import (
    STD,
    Gradients,
    clipped_sums,
    gradients_of_records,
    mean_of,
    noise_like,
    torch_training,
)


def _by_actual_size(model: nn.Module, batch: Sequence[Tensor]) -> Gradients:
    sums = clipped_sums(gradients_of_records(model, batch))
    return mean_of(sums, noise_like(sums, STD), max(1, len(batch[1])))


ENTRY = TrainingZooEntry(
    name="actual-batch-size",
    mistake="The noisy sum is divided by the number of records of the Poisson sample, which "
    "shows how many there were.",
    correction="It is divided by the expected number of records.",
    seen_in="after meta-pytorch/opacus issues 420 (where it is asked for), 571 and 819",
    check="step",
    kinds=(TrainingMistakeKind.BATCH_DEPENDENT_SCALE,),
    style="torch",
    broken=lambda: torch_training(_by_actual_size),
    fixed=torch_training,
)
