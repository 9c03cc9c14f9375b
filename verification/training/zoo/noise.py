"""Mistakes in the noise of a step."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from itertools import accumulate

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.utils.data import TensorDataset

from rdpkit.verification.training.trainer import PrivateTraining
from rdpkit.verification.training.zoo.parts import (
    BATCH,
    CLASSES,
    RECORDS,
    STD,
    Gradients,
    Trainings,
    clipped_sums,
    gradients_of_records,
    mean_of,
    noise_like,
    perceptron,
    poisson_loader,
    torch_training,
    with_and_without,
)
from rdpkit.verification.training.zoo.with_numpy import NumpyTraining
from rdpkit.verification.training.zoo.with_opacus import private_parts, trained_with_opacus

_PARTS = 4


def _noise_of_a_part(*, parts_of_noise: int) -> PrivateTraining:
    def gradients(model: nn.Module, batch: Sequence[Tensor]) -> Gradients:
        total = {name: torch.zeros_like(value) for name, value in model.named_parameters()}
        for features, labels in zip(batch[0].chunk(_PARTS), batch[1].chunk(_PARTS), strict=True):
            sums = clipped_sums(gradients_of_records(model, (features, labels)))
            total = {name: total[name] + sums[name] for name in total}
        return {
            name: (value + STD / parts_of_noise * torch.randn_like(value)).detach() / BATCH
            for name, value in total.items()
        }

    return torch_training(gradients)


Vector = NDArray[np.float64]


class NoiseDivided(NumpyTraining):
    """Noise is divided by the batch size before the sum is."""

    def noise(self, shape: tuple[int, ...]) -> Vector:
        """Noise of the mean."""
        return super().noise(shape) / self.batch_size


_SENDERS = 4


def _worker(model: nn.Module, batch: Sequence[Tensor], rank: int, *, only_first: bool) -> Gradients:
    """What one worker sends: its clipped sum, with its share of the noise."""
    mine = [part[rank::_SENDERS] for part in batch]
    sums = clipped_sums(gradients_of_records(model, mine))
    if only_first and rank > 0:
        return sums
    noise = noise_like(sums, STD / math.sqrt(_SENDERS))
    return {name: sums[name] + noise[name] for name in sums}


def _one_worker(*, only_first: bool) -> PrivateTraining:
    def gradients(model: nn.Module, batch: Sequence[Tensor]) -> Gradients:
        sent = [_worker(model, batch, rank, only_first=only_first) for rank in range(_SENDERS)]
        return {name: torch.stack([each[name] for each in sent]).sum(0) / BATCH for name in sent[0]}

    return torch_training(gradients)


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


def _embedding_without_noise(*, noise_on_embedding: bool) -> PrivateTraining:
    def gradients(model: nn.Module, batch: Sequence[Tensor]) -> Gradients:
        sums = clipped_sums(gradients_of_records(model, batch))
        noise = noise_like(sums, STD)
        if not noise_on_embedding:
            noise["embedding.weight"].zero_()
        return mean_of(sums, noise)

    return torch_training(gradients, model=BagOfWords(), loader=poisson_loader(sentences()))


def _same_noise_for_all_parameters(*, keys: int) -> PrivateTraining:
    def gradients(model: nn.Module, batch: Sequence[Tensor]) -> Gradients:
        sums = clipped_sums(gradients_of_records(model, batch))
        key = int(torch.randint(2**40, ()))
        noise = {}
        for place, (name, value) in enumerate(sums.items()):
            generator = torch.Generator().manual_seed(key + place % keys)
            noise[name] = STD * torch.randn(value.shape, generator=generator)
        return mean_of(sums, noise)

    return torch_training(gradients)


_SHARDS = 2


def _seed_of_workers(*, own_seeds: bool) -> PrivateTraining:
    def gradients(model: nn.Module, batch: Sequence[Tensor]) -> Gradients:
        sums = clipped_sums(gradients_of_records(model, batch))
        flat = torch.cat([value.flatten() for value in sums.values()])
        seed = int(torch.randint(2**40, ()))
        shards = []
        for rank, shard in enumerate(flat.chunk(_SHARDS)):
            generator = torch.Generator().manual_seed(seed + rank if own_seeds else seed)
            shards.append(shard + STD * torch.randn(shard.shape, generator=generator))
        ends = list(accumulate(value.numel() for value in sums.values()))
        noisy = torch.cat(shards).tensor_split(ends[:-1])
        return {
            name: part.view_as(value) / BATCH
            for (name, value), part in zip(sums.items(), noisy, strict=True)
        }

    return torch_training(gradients)


def _seed_of_a_step(*, in_each_step: bool) -> PrivateTraining:
    seed = int(torch.randint(2**40, ()))
    kept = torch.Generator().manual_seed(seed)

    def gradients(model: nn.Module, batch: Sequence[Tensor]) -> Gradients:
        generator = torch.Generator().manual_seed(seed) if in_each_step else kept
        sums = clipped_sums(gradients_of_records(model, batch))
        return mean_of(sums, noise_like(sums, STD, generator))

    return torch_training(gradients, objects=(kept,))


def _fixed_seed(*, fixed: bool) -> PrivateTraining:
    generator = torch.Generator()
    if fixed:
        generator.manual_seed(42)
    else:
        generator.seed()
    return trained_with_opacus(private_parts(noise_generator=generator))


def _model_beside_opacus() -> PrivateTraining:
    plain = perceptron()
    optimizer = torch.optim.SGD(plain.parameters(), lr=0.1)

    def step(batch: Sequence[Tensor]) -> None:
        optimizer.zero_grad()
        torch.autograd.backward(nn.functional.cross_entropy(plain(batch[0]), batch[1]))
        optimizer.step()

    private = trained_with_opacus()
    return dataclasses.replace(private, model=plain, optimizer=optimizer, step=step)


TRAININGS: Trainings = {
    "noise-divided-by-accumulation": with_and_without(_noise_of_a_part, parts_of_noise=(_PARTS, 1)),
    "noise-of-a-mean": (lambda: NoiseDivided().training(), lambda: NumpyTraining().training()),
    "noise-on-one-worker": with_and_without(_one_worker, only_first=(True, False)),
    "embedding-without-noise": with_and_without(
        _embedding_without_noise, noise_on_embedding=(False, True)
    ),
    "one-key-for-all-parameters": with_and_without(_same_noise_for_all_parameters, keys=(1, 1_000)),
    "one-seed-for-all-workers": with_and_without(_seed_of_workers, own_seeds=(False, True)),
    "seed-in-each-step": with_and_without(_seed_of_a_step, in_each_step=(True, False)),
    "fixed-seed": with_and_without(_fixed_seed, fixed=(True, False)),
    "model-beside-opacus": (_model_beside_opacus, trained_with_opacus),
}
"""The code of each mistake, and the same code without it."""
