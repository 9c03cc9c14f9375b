"""Mistakes in which records are in a batch."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import DataLoader, TensorDataset

from rdpkit import DPSGD
from rdpkit.verification.training.mistakes import TrainingMistakeKind
from rdpkit.verification.training.trainer import PrivateTraining
from rdpkit.verification.training.zoo.base import TrainingZooEntry
from rdpkit.verification.training.zoo.parts import (
    BATCH,
    EPOCHS,
    RECORDS,
    PoissonBatches,
    accounted,
    loader_of,
    records,
    torch_training,
)
from rdpkit.verification.training.zoo.with_numpy import NumpyTraining
from rdpkit.verification.training.zoo.with_opacus import private_parts, trained_with_opacus

SHUFFLED = TrainingZooEntry(
    name="shuffled-as-poisson",
    mistake="Opacus is asked not to sample (poisson_sampling=False), and its accountant goes on "
    "as if the shuffled batches were Poisson samples.",
    correction="Poisson samples, which are Opacus's default.",
    seen_in="after meta-pytorch/opacus issue 80 and pull request 128, and tensorflow/privacy "
    "issue 483",
    check="sampler",
    kinds=(TrainingMistakeKind.SHUFFLED, TrainingMistakeKind.NOT_POISSON),
    style="opacus",
    broken=lambda: trained_with_opacus(private_parts(shuffle=True, poisson_sampling=False)),
    fixed=lambda: trained_with_opacus(private_parts()),
)


class FixedSizes(NumpyTraining):
    """Each batch is a fresh subset of exactly the batch size."""

    def places(self) -> Iterator[NDArray[np.intp]]:
        """The positions of the records of each batch of an epoch."""
        count = len(self.labels)
        for _ in range(count // self.batch_size):
            yield self.generator.choice(count, self.batch_size, replace=False)


FIXED_SIZE = TrainingZooEntry(
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


_BATCH = 60


def _last_batch(*, drop_last: bool) -> PrivateTraining:
    loader = DataLoader(records(), batch_size=_BATCH, shuffle=True, drop_last=drop_last)

    def train() -> None:
        for _ in range(EPOCHS):
            for batch in loader:
                made.step(batch)

    made = torch_training(
        loader=loader,
        event=accounted(batch_size=_BATCH, steps=EPOCHS * (RECORDS // _BATCH), sampling="shuffle"),
        train=train,
    )
    return made


LAST_BATCH = TrainingZooEntry(
    name="last-partial-batch",
    mistake="512 records in batches of 60: eight batches an epoch are accounted for, and a ninth "
    "of 32 records is trained on.",
    correction="The loader drops the last batch.",
    seen_in="after meta-pytorch/opacus pull request 16 and ftramer/Handcrafted-DP issue 2, where "
    "what becomes of the last batch is asked",
    check="sampler",
    kinds=(TrainingMistakeKind.PARTIAL_BATCH, TrainingMistakeKind.STEPS_MISCOUNTED),
    style="torch",
    broken=lambda: _last_batch(drop_last=False),
    fixed=lambda: _last_batch(drop_last=True),
)


_LARGEST = 68


class CutBatches(PoissonBatches):
    """Poisson samples that fit into the memory: what is beyond the limit is left out."""

    def __iter__(self) -> Iterator[list[int]]:
        for batch in super().__iter__():
            yield batch[:_LARGEST]


def _truncated(kind: type[PoissonBatches]) -> PrivateTraining:
    batches = kind(RECORDS, BATCH / RECORDS, RECORDS // BATCH)
    return torch_training(loader=loader_of(batches, records()))


TRUNCATED = TrainingZooEntry(
    name="cut-batches",
    mistake="Poisson samples of more than 68 records are cut to 68, and accounted for as if they "
    "were not: whether a record is used depends on who else was sampled.",
    correction="Large samples are processed in parts, none of which is left out.",
    seen_in="after google-deepmind/jax_privacy pull request 103 (samples that are padded to a "
    "fixed size) and the comments of lxuechen/private-transformers issue 7 on memory",
    check="sampler",
    kinds=(TrainingMistakeKind.TRUNCATED,),
    style="torch",
    broken=lambda: _truncated(CutBatches),
    fixed=lambda: _truncated(PoissonBatches),
)


class DrawnBatches:
    """Batches of a fixed size, drawn with or without replacement."""

    def __init__(self, *, replacement: bool) -> None:
        self.replacement = replacement

    def __iter__(self) -> Iterator[list[int]]:
        for _ in range(len(self)):
            if self.replacement:
                yield torch.randint(RECORDS, (BATCH,)).tolist()
            else:
                yield torch.randperm(RECORDS)[:BATCH].tolist()

    def __len__(self) -> int:
        return RECORDS // BATCH


def _with_replacement(*, replacement: bool) -> PrivateTraining:
    told: DPSGD = accounted(sampling="fixed-size")
    batches = DrawnBatches(replacement=replacement)
    return torch_training(loader=loader_of(batches, records()), event=told)


WITH_REPLACEMENT = TrainingZooEntry(
    name="drawn-with-replacement",
    mistake="The positions of a batch are drawn independently: a record may be in it twice, and "
    "then counts twice.",
    correction="A subset, in which a record is at most once, as the accountant was told.",
    seen_in="after tensorflow/privacy issue 483, which asks which way of sampling is accounted "
    "for, and orobix/Prototypical-Networks-for-Few-shot-Learning-PyTorch issue 31",
    check="sampler",
    kinds=(TrainingMistakeKind.RECORD_TWICE,),
    style="torch",
    broken=lambda: _with_replacement(replacement=True),
    fixed=lambda: _with_replacement(replacement=False),
)


class SeededBatches:
    """Poisson samples from a generator of its own."""

    def __init__(self, *, anew: bool) -> None:
        self.anew = anew
        self.seed = int(torch.randint(2**40, ()))
        self.generator = torch.Generator().manual_seed(self.seed)

    def __iter__(self) -> Iterator[list[int]]:
        if self.anew:
            self.generator.manual_seed(self.seed)
        for _ in range(len(self)):
            chosen = torch.rand(RECORDS, generator=self.generator) < BATCH / RECORDS
            yield chosen.nonzero().flatten().tolist()

    def __len__(self) -> int:
        return RECORDS // BATCH


def _repeated(*, anew: bool) -> PrivateTraining:
    batches = SeededBatches(anew=anew)
    return torch_training(loader=loader_of(batches, records()), objects=(batches,))


REPEATED = TrainingZooEntry(
    name="same-batches-each-epoch",
    mistake="The generator of the sampler is seeded at the start of each epoch: all epochs have "
    "the same batches, and sampling hides nothing after the first one.",
    correction="The generator moves on from epoch to epoch.",
    seen_in="after huggingface/diffusers issues 175 and 7991",
    check="sampler",
    kinds=(TrainingMistakeKind.REPEATED_BATCHES,),
    style="torch",
    broken=lambda: _repeated(anew=True),
    fixed=lambda: _repeated(anew=False),
)


class WeightedBatches:
    """Every record joins each batch independently, with a probability of its own."""

    def __init__(self, rates: Tensor) -> None:
        self.rates = rates

    def __iter__(self) -> Iterator[list[int]]:
        for _ in range(len(self)):
            yield (torch.rand(RECORDS) < self.rates).nonzero().flatten().tolist()

    def __len__(self) -> int:
        return RECORDS // BATCH


def _weighted(weight: float) -> PrivateTraining:
    data = records()
    weights = torch.where(data.tensors[1] == 0, weight, 1.0)
    rates = weights * (BATCH / float(weights.sum()))
    return torch_training(loader=loader_of(WeightedBatches(rates), data))


WEIGHTED = TrainingZooEntry(
    name="weighted-sampler",
    mistake="Records of one class join batches three times as often as all others, and the "
    "accountant is told the mean rate.",
    correction="All records have the same rate; a weighted loss can do the rest.",
    seen_in="after meta-pytorch/opacus issues 600 and 813",
    check="sampler",
    kinds=(TrainingMistakeKind.UNEQUAL_RATES, TrainingMistakeKind.SAMPLING_RATE),
    style="torch",
    broken=lambda: _weighted(3.0),
    fixed=lambda: _weighted(1.0),
)


_WORKERS = 2


def _rate_of_a_worker(told: int) -> PrivateTraining:
    steps = EPOCHS * RECORDS // (BATCH * _WORKERS)
    batches = PoissonBatches(RECORDS, _WORKERS * BATCH / RECORDS, steps // EPOCHS)
    return torch_training(
        loader=loader_of(batches, records()), event=accounted(batch_size=told, steps=steps)
    )


RATE_OF_A_WORKER = TrainingZooEntry(
    name="batch-of-one-worker",
    mistake="Two workers take 64 records each for an update, and the accountant is told that a "
    "batch has 64.",
    correction="It is told the batch of all workers together, 128.",
    seen_in="after google-deepmind/optax issue 148 (the batch size has to be multiplied by the "
    "number of devices) and meta-pytorch/opacus issue 335",
    check="sampler",
    kinds=(TrainingMistakeKind.SAMPLING_RATE,),
    style="torch",
    broken=lambda: _rate_of_a_worker(BATCH),
    fixed=lambda: _rate_of_a_worker(BATCH * _WORKERS),
)


_KEPT = 64


def _held_out(*, apart: bool) -> PrivateTraining:
    features, labels = records(RECORDS + _KEPT).tensors
    trained = TensorDataset(features[:RECORDS], labels[:RECORDS])
    begin = RECORDS if apart else RECORDS - _KEPT
    kept = TensorDataset(features[begin : begin + _KEPT], labels[begin : begin + _KEPT])
    return trained_with_opacus(private_parts(trained), held_out=kept)


HELD_OUT = TrainingZooEntry(
    name="evaluation-data-in-training",
    mistake="The last 64 training records are also those of the evaluation.",
    correction="Records of the evaluation are kept apart.",
    seen_in="after NVIDIA/NVFlare issue 3233 and openai/parameter-golf issue 2127",
    check="sampler",
    kinds=(TrainingMistakeKind.HELD_OUT_IN_TRAINING,),
    style="opacus",
    broken=lambda: _held_out(apart=False),
    fixed=lambda: _held_out(apart=True),
)


ENTRIES = (
    SHUFFLED,
    FIXED_SIZE,
    LAST_BATCH,
    TRUNCATED,
    WITH_REPLACEMENT,
    REPEATED,
    WEIGHTED,
    RATE_OF_A_WORKER,
    HELD_OUT,
)
"""In the order in which they are listed."""
