"""The clipping norm is the median of the norms of the batch, without noise."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn

from rdpkit.verification.training.mistakes import TrainingMistakeKind
from rdpkit.verification.training.zoo.base import TrainingZooEntry
from rdpkit.verification.training.zoo.parts import (
    NOISE,
    Gradients,
    clipped_sums,
    gradients_of_records,
    mean_of,
    noise_like,
    norms,
    torch_training,
)


def _by_median(model: nn.Module, batch: Sequence[Tensor]) -> Gradients:
    found = gradients_of_records(model, batch)
    norm = float(norms(found).median()) if len(batch[1]) else 1.0
    sums = clipped_sums(found, norm)
    return mean_of(sums, noise_like(sums, NOISE * norm))


ENTRY = TrainingZooEntry(
    name="norm-from-the-batch",
    mistake="Gradients are clipped to the median of the batch's norms: a record changes how all "
    "others are clipped, and the noise shows the median.",
    correction="A norm that is fixed in advance.",
    seen_in="after meta-pytorch/opacus issue 152 and pull request 421, where norms are adapted "
    "with noise",
    check="step",
    kinds=(
        TrainingMistakeKind.BATCH_STATISTICS,
        TrainingMistakeKind.BATCH_DEPENDENT_SCALE,
        TrainingMistakeKind.NO_CLIPPING,
    ),
    style="torch",
    broken=lambda: torch_training(_by_median),
    fixed=torch_training,
)
