"""Only one of the workers adds noise, and adds its own share alone."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from rdpkit.verification.training.mistakes import TrainingMistakeKind
from rdpkit.verification.training.trainer import PrivateTraining
from rdpkit.verification.training.zoo.base import TrainingZooEntry
from rdpkit.verification.training.zoo.parts import (
    BATCH,
    STD,
    Gradients,
    clipped_sums,
    gradients_of_records,
    noise_like,
    torch_training,
)

_WORKERS = 4


def _worker(model: nn.Module, batch: Sequence[Tensor], rank: int, *, only_first: bool) -> Gradients:
    """What one worker sends: its clipped sum, with its share of the noise."""
    mine = [part[rank::_WORKERS] for part in batch]
    sums = clipped_sums(gradients_of_records(model, mine))
    if only_first and rank > 0:
        return sums
    noise = noise_like(sums, STD / math.sqrt(_WORKERS))
    return {name: sums[name] + noise[name] for name in sums}


def _made(*, only_first: bool) -> PrivateTraining:
    def gradients(model: nn.Module, batch: Sequence[Tensor]) -> Gradients:
        sent = [_worker(model, batch, rank, only_first=only_first) for rank in range(_WORKERS)]
        return {name: torch.stack([each[name] for each in sent]).sum(0) / BATCH for name in sent[0]}

    return torch_training(gradients)


ENTRY = TrainingZooEntry(
    name="noise-on-one-worker",
    mistake="Noise is shared out among four workers, and only the first one adds its share.",
    correction="Each of the W workers adds noise of standard deviation sigma C / sqrt(W).",
    seen_in="after meta-pytorch/opacus pull request 196 (the first worker adds all of the noise "
    "there) and google-deepmind/optax issue 148",
    check="step",
    kinds=(TrainingMistakeKind.NOISE_TOO_SMALL,),
    style="torch",
    broken=lambda: _made(only_first=True),
    fixed=lambda: _made(only_first=False),
)
