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

from rdpkit.verification.training.mistakes import TrainingMistakeKind
from rdpkit.verification.training.trainer import PrivateTraining
from rdpkit.verification.training.zoo.base import TrainingZooEntry
from rdpkit.verification.training.zoo.parts import (
    BATCH,
    CLASSES,
    RECORDS,
    STD,
    Gradients,
    clipped_sums,
    gradients_of_records,
    mean_of,
    noise_like,
    perceptron,
    poisson_loader,
    torch_training,
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


NOISE_OF_A_PART = TrainingZooEntry(
    name="noise-divided-by-accumulation",
    mistake="Four micro-batches are summed before noise is added once, and that noise is "
    "divided by four.",
    correction="The noise of a whole batch is added to the sum of its micro-batches.",
    seen_in="after meta-pytorch/opacus pull requests 203 and 219 and google-deepmind/optax issue "
    "527, which explain where the noise and the division belong",
    check="step",
    kinds=(TrainingMistakeKind.NOISE_TOO_SMALL,),
    style="torch",
    broken=lambda: _noise_of_a_part(parts_of_noise=_PARTS),
    fixed=lambda: _noise_of_a_part(parts_of_noise=1),
)


Vector = NDArray[np.float64]


class NoiseDivided(NumpyTraining):
    """Noise is divided by the batch size before the sum is."""

    def noise(self, shape: tuple[int, ...]) -> Vector:
        """Noise of the mean."""
        return super().noise(shape) / self.batch_size


def _noise_of_a_mean(kind: type[NumpyTraining]) -> PrivateTraining:
    return kind().training()


NOISE_OF_A_MEAN = TrainingZooEntry(
    name="noise-of-a-mean",
    mistake="Noise of standard deviation sigma C / B is added to the sum, which is then divided "
    "by B: the noise is B times too small.",
    correction="Noise of standard deviation sigma C is added to the sum, and both are divided.",
    seen_in="after meta-pytorch/opacus issues 200 and 753 and tensorflow/privacy issue 88, where "
    "the right place of the division is asked for",
    check="step",
    kinds=(TrainingMistakeKind.NOISE_TOO_SMALL,),
    style="numpy",
    broken=lambda: _noise_of_a_mean(NoiseDivided),
    fixed=lambda: _noise_of_a_mean(NumpyTraining),
)


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


ONE_WORKER = TrainingZooEntry(
    name="noise-on-one-worker",
    mistake="Noise is shared out among four workers, and only the first one adds its share.",
    correction="Each of the W workers adds noise of standard deviation sigma C / sqrt(W).",
    seen_in="after meta-pytorch/opacus pull request 196 (the first worker adds all of the noise "
    "there) and google-deepmind/optax issue 148",
    check="step",
    kinds=(TrainingMistakeKind.NOISE_TOO_SMALL,),
    style="torch",
    broken=lambda: _one_worker(only_first=True),
    fixed=lambda: _one_worker(only_first=False),
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


def _embedding_without_noise(*, noise_on_embedding: bool) -> PrivateTraining:
    def gradients(model: nn.Module, batch: Sequence[Tensor]) -> Gradients:
        sums = clipped_sums(gradients_of_records(model, batch))
        noise = noise_like(sums, STD)
        if not noise_on_embedding:
            noise["embedding.weight"].zero_()
        return mean_of(sums, noise)

    return torch_training(gradients, model=BagOfWords(), loader=poisson_loader(sentences()))


EMBEDDING_WITHOUT_NOISE = TrainingZooEntry(
    name="embedding-without-noise",
    mistake="All gradients are clipped, and the embedding gets no noise: it shows which words "
    "were in the batch.",
    correction="Noise on every parameter, also on rows that no record touched.",
    seen_in="after NVIDIA/NVFlare issue 343 (some parameters are sent clipped, without noise)",
    check="step",
    kinds=(TrainingMistakeKind.NO_NOISE_ON_PARAMETERS,),
    style="torch",
    broken=lambda: _embedding_without_noise(noise_on_embedding=False),
    fixed=lambda: _embedding_without_noise(noise_on_embedding=True),
)


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


SAME_NOISE_FOR_ALL_PARAMETERS = TrainingZooEntry(
    name="one-key-for-all-parameters",
    mistake="The noise of every parameter is drawn from one and the same key, so that "
    "differences between parameters have none.",
    correction="Each parameter has a key of its own.",
    seen_in="after jax-ml/jax pull request 3646",
    check="step",
    kinds=(TrainingMistakeKind.NOISE_SHARED,),
    style="torch",
    broken=lambda: _same_noise_for_all_parameters(keys=1),
    fixed=lambda: _same_noise_for_all_parameters(keys=1_000),
)


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


SEED_OF_WORKERS = TrainingZooEntry(
    name="one-seed-for-all-workers",
    mistake="Two workers hold half of the parameters each and seed their generators alike: both "
    "halves have the same noise.",
    correction="The seed of a worker depends on its rank.",
    seen_in="after mlcommons/training pull request 844 (ranks that share a seed) and "
    "VsonicV/es-at-scale issue 46 (layers that share one)",
    check="step",
    kinds=(TrainingMistakeKind.NOISE_SHARED,),
    style="torch",
    broken=lambda: _seed_of_workers(own_seeds=False),
    fixed=lambda: _seed_of_workers(own_seeds=True),
)


def _seed_of_a_step(*, in_each_step: bool) -> PrivateTraining:
    seed = int(torch.randint(2**40, ()))
    kept = torch.Generator().manual_seed(seed)

    def gradients(model: nn.Module, batch: Sequence[Tensor]) -> Gradients:
        generator = torch.Generator().manual_seed(seed) if in_each_step else kept
        sums = clipped_sums(gradients_of_records(model, batch))
        return mean_of(sums, noise_like(sums, STD, generator))

    return torch_training(gradients, objects=(kept,))


SEED_OF_A_STEP = TrainingZooEntry(
    name="seed-in-each-step",
    mistake="A generator with the seed of the run is made in each step, so that all steps have "
    "the same noise and differences between updates have none.",
    correction="One generator for the whole run, whose state moves on.",
    seen_in="after huggingface/diffusers issues 175 and 7991 (a seed set inside of the loop) and "
    "IBM/differential-privacy-library issue 31, which says why that breaks privacy",
    check="step",
    kinds=(TrainingMistakeKind.NOISE_REPEATED, TrainingMistakeKind.NOISE_FIXED_SEED),
    style="torch",
    broken=lambda: _seed_of_a_step(in_each_step=True),
    fixed=lambda: _seed_of_a_step(in_each_step=False),
)


def _fixed_seed(*, fixed: bool) -> PrivateTraining:
    generator = torch.Generator()
    if fixed:
        generator.manual_seed(42)
    else:
        generator.seed()
    return trained_with_opacus(private_parts(noise_generator=generator))


FIXED_SEED = TrainingZooEntry(
    name="fixed-seed",
    mistake="The generator that Opacus is given for its noise has a seed from the code: whoever "
    "reads the code can subtract the noise.",
    correction="A seed from the operating system, which nobody knows.",
    seen_in="after google-deepmind/optax pull request 1167, where the seed of the noise had to "
    "be written in the call, and fedbiomed/fedbiomed issue 973",
    check="step",
    kinds=(TrainingMistakeKind.NOISE_FIXED_SEED,),
    style="opacus",
    broken=lambda: _fixed_seed(fixed=True),
    fixed=lambda: _fixed_seed(fixed=False),
)


def _model_beside_opacus() -> PrivateTraining:
    plain = perceptron()
    optimizer = torch.optim.SGD(plain.parameters(), lr=0.1)

    def step(batch: Sequence[Tensor]) -> None:
        optimizer.zero_grad()
        torch.autograd.backward(nn.functional.cross_entropy(plain(batch[0]), batch[1]))
        optimizer.step()

    private = trained_with_opacus(private_parts())
    return dataclasses.replace(private, model=plain, optimizer=optimizer, step=step)


MODEL_BESIDE_OPACUS = TrainingZooEntry(
    name="model-beside-opacus",
    mistake="What make_private returned is kept, and the loop trains another model: no "
    "clipping, no noise.",
    correction="The loop uses what make_private returned.",
    seen_in="after meta-pytorch/opacus issue 313",
    check="step",
    kinds=(TrainingMistakeKind.NO_NOISE, TrainingMistakeKind.NO_CLIPPING),
    style="opacus",
    broken=_model_beside_opacus,
    fixed=lambda: trained_with_opacus(private_parts()),
)


ENTRIES = (
    NOISE_OF_A_PART,
    NOISE_OF_A_MEAN,
    ONE_WORKER,
    EMBEDDING_WITHOUT_NOISE,
    SAME_NOISE_FOR_ALL_PARAMETERS,
    SEED_OF_WORKERS,
    SEED_OF_A_STEP,
    FIXED_SEED,
    MODEL_BESIDE_OPACUS,
)
"""In the order in which they are listed."""
