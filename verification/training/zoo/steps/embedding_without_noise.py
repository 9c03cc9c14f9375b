"""An embedding is trained without noise."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.utils.data import TensorDataset

from rdpkit.verification.training.mistakes import TrainingMistakeKind
from rdpkit.verification.training.trainer import PrivateTraining
from rdpkit.verification.training.zoo.base import TrainingZooEntry
from rdpkit.verification.training.zoo.parts import (
    CLASSES,
    RECORDS,
    STD,
    Gradients,
    clipped_sums,
    gradients_of_records,
    mean_of,
    noise_like,
    poisson_loader,
    torch_training,
)

_WORDS, _LENGTH = 30, 6


class BagOfWords(nn.Module):
    """Mean of the embeddings of a record's words, and a linear layer."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(_WORDS, 8)
        self.output = nn.Linear(8, CLASSES)

    def forward(self, words: Tensor) -> Tensor:
        """Logits of each class."""
        logits: Tensor = self.output(self.embedding(words).mean(1))
        return logits


def sentences() -> TensorDataset:
    """Records of six words each."""
    generator = torch.Generator().manual_seed(2)
    words = torch.randint(_WORDS, (RECORDS, _LENGTH), generator=generator)
    return TensorDataset(words, (words.sum(1) // 7) % CLASSES)


def _made(*, noise_on_embedding: bool) -> PrivateTraining:
    def gradients(model: nn.Module, batch: Sequence[Tensor]) -> Gradients:
        sums = clipped_sums(gradients_of_records(model, batch))
        noise = noise_like(sums, STD)
        if not noise_on_embedding:
            noise["embedding.weight"].zero_()
        return mean_of(sums, noise)

    return torch_training(gradients, model=BagOfWords(), loader=poisson_loader(sentences()))


ENTRY = TrainingZooEntry(
    name="embedding-without-noise",
    mistake="All gradients are clipped, and the embedding gets no noise: it shows which words "
    "were in the batch.",
    correction="Noise on every parameter, also on rows that no record touched.",
    seen_in="after NVIDIA/NVFlare issue 343 (some parameters are sent clipped, without noise)",
    check="step",
    kinds=(TrainingMistakeKind.NO_NOISE_ON_PARAMETERS,),
    style="torch",
    broken=lambda: _made(noise_on_embedding=False),
    fixed=lambda: _made(noise_on_embedding=True),
)
