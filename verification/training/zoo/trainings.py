"""Mistakes in a step, in how batches are drawn, in what is told and in what is claimed."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, chain, repeat
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from rdpkit import DPSGD
from rdpkit.verification.training.trainer import PrivateTraining, as_training
from rdpkit.verification.training.zoo.parts import (
    BATCH,
    CLASSES,
    DELTA,
    EPOCHS,
    FEATURES,
    NOISE,
    NORM,
    RECORDS,
    STD,
    DrawnBatches,
    Gradients,
    NumpyTraining,
    Trainings,
    Vector,
    accounted,
    clipped_sums,
    dp_sgd_gradients,
    gradients_of_records,
    loader_of,
    mean_of,
    noise_like,
    norms,
    perceptron,
    poisson_loader,
    poisson_sample,
    private_gradients,
    private_parts,
    records,
    torch_training,
    trained_with_opacus,
    with_and_without,
)


def _of_the_batch(model: nn.Module, batch: Sequence[Tensor]) -> Gradients:
    model.zero_grad()
    torch.autograd.backward(nn.functional.cross_entropy(model(batch[0]), batch[1]))
    nn.utils.clip_grad_norm_(model.parameters(), NORM)
    return {
        name: parameter.grad + torch.randn_like(parameter) * STD / BATCH
        for name, parameter in model.named_parameters()
        if parameter.grad is not None
    }


def _parts(rows: Tensor, together: int) -> Sequence[Tensor]:
    return rows.tensor_split(list(range(together, len(rows), together)))


def _microbatch_averages(together: int) -> PrivateTraining:
    def sums(found: Gradients) -> Gradients:
        averages = {
            name: torch.stack([part.mean(0) for part in _parts(value, together)])
            if len(value)
            else value
            for name, value in found.items()
        }
        return clipped_sums(averages)

    return torch_training(private_gradients(sums))


def _added(model: nn.Module, batch: Sequence[Tensor]) -> Gradients:
    model.zero_grad()
    if len(batch[1]):
        torch.autograd.backward(nn.functional.cross_entropy(model(batch[0]), batch[1]))
    private = dp_sgd_gradients(model, batch)
    return {
        name: private[name] if parameter.grad is None else parameter.grad + private[name]
        for name, parameter in model.named_parameters()
    }


def _weights_alone(found: Gradients) -> Gradients:
    weights = {name: value for name, value in found.items() if name.endswith("weight")}
    biases = {name: value.sum(0) for name, value in found.items() if name not in weights}
    return {**clipped_sums(weights), **biases}


def _layer_thresholds(*, all_together: bool) -> PrivateTraining:
    def sums(found: Gradients) -> Gradients:
        each = NORM / math.sqrt(len(found)) if all_together else NORM
        return {name: clipped_sums({name: one}, each)[name] for name, one in found.items()}

    return torch_training(private_gradients(sums))


def _by_median(model: nn.Module, batch: Sequence[Tensor]) -> Gradients:
    found = gradients_of_records(model, batch)
    norm = float(norms(found).median()) if len(batch[1]) else 1.0
    sums = clipped_sums(found, norm)
    return mean_of(sums, noise_like(sums, NOISE * norm))


def _by_actual_size(model: nn.Module, batch: Sequence[Tensor]) -> Gradients:
    sums = clipped_sums(gradients_of_records(model, batch))
    return mean_of(sums, noise_like(sums, STD), max(1, len(batch[1])))


def _one_by_one(model: nn.Module, batch: Sequence[Tensor]) -> Gradients:
    """One forward pass for the batch, and a backward pass for the loss of each record."""
    names, parameters = zip(*model.named_parameters(), strict=True)
    losses: Iterable[Tensor] = (
        nn.functional.cross_entropy(model(batch[0]), batch[1], reduction="none")
        if len(batch[1]) > 1
        else []
    )
    rows = [torch.autograd.grad(loss, parameters, retain_graph=True) for loss in losses]
    found = {
        name: torch.stack([row[place] for row in rows])
        if rows
        else torch.zeros(0, *parameters[place].shape)
        for place, name in enumerate(names)
    }
    sums = clipped_sums(found)
    return mean_of(sums, noise_like(sums, STD))


def _batch_normalisation(normalisation: nn.Module) -> PrivateTraining:
    model = nn.Sequential(nn.Linear(FEATURES, 16), normalisation, nn.Tanh(), nn.Linear(16, CLASSES))
    return torch_training(_one_by_one, model=model)


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
    def noise(sums: Gradients) -> Gradients:
        made = noise_like(sums, STD)
        if not noise_on_embedding:
            made["embedding.weight"].zero_()
        return made

    gradients = private_gradients(noise=noise)
    return torch_training(gradients, model=BagOfWords(), loader=poisson_loader(sentences()))


def _same_noise_for_all_parameters(*, keys: int) -> PrivateTraining:
    def noise(sums: Gradients) -> Gradients:
        key = int(torch.randint(2**40, ()))
        made: Gradients = {}
        for place, (name, value) in enumerate(sums.items()):
            generator = torch.Generator().manual_seed(key + place % keys)
            made |= noise_like({name: value}, STD, generator)
        return made

    return torch_training(private_gradients(noise=noise))


_SHARDS = 2


def _seed_of_workers(*, own_seeds: bool) -> PrivateTraining:
    def noise(sums: Gradients) -> Gradients:
        flat = torch.cat([value.flatten() for value in sums.values()])
        seed = int(torch.randint(2**40, ()))
        shards = []
        for rank, shard in enumerate(flat.chunk(_SHARDS)):
            generator = torch.Generator().manual_seed(seed + rank if own_seeds else seed)
            shards.append(STD * torch.randn(shard.shape, generator=generator))
        ends = list(accumulate(value.numel() for value in sums.values()))
        parts = torch.cat(shards).tensor_split(ends[:-1])
        return {n: part.view_as(sums[n]) for n, part in zip(sums, parts, strict=True)}

    return torch_training(private_gradients(noise=noise))


def _seed_of_a_step(*, in_each_step: bool) -> PrivateTraining:
    seed = int(torch.randint(2**40, ()))
    kept = torch.Generator().manual_seed(seed)

    def noise(sums: Gradients) -> Gradients:
        generator = torch.Generator().manual_seed(seed) if in_each_step else kept
        return noise_like(sums, STD, generator)

    return torch_training(private_gradients(noise=noise), objects=(kept,))


def _fixed_seed(*, fixed: bool) -> PrivateTraining:
    generator = torch.Generator().manual_seed(42 if fixed else int(torch.randint(2**40, ())))
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


class FixedSizes(NumpyTraining):
    """Each batch is a fresh subset of exactly the batch size."""

    def places(self) -> Iterator[NDArray[np.intp]]:
        """The positions of the records of each batch of an epoch."""
        count = len(self.labels)
        for _ in range(count // self.batch_size):
            yield self.generator.choice(count, self.batch_size, replace=False)


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


def _drawn(draw: Callable[[], Tensor], **fields: Any) -> PrivateTraining:
    return torch_training(loader=loader_of(DrawnBatches(draw), records()), **fields)


def _subset(draw: Callable[[], Tensor]) -> PrivateTraining:
    return _drawn(draw, event=accounted(sampling="fixed-size"))


def _repeated(*, anew: bool) -> PrivateTraining:
    seed = int(torch.randint(2**40, ()))
    generator = torch.Generator().manual_seed(seed)

    class Seeded(DrawnBatches):
        """Poisson samples from a generator of their own."""

        def __iter__(self) -> Iterator[list[int]]:
            if anew:
                generator.manual_seed(seed)
            return super().__iter__()

    batches = Seeded(lambda: poisson_sample(generator=generator))
    return torch_training(loader=loader_of(batches, records()), objects=(generator,))


def _weighted(weight: float) -> PrivateTraining:
    weights = torch.where(records().tensors[1] == 0, weight, 1.0)
    rates = weights * (BATCH / float(weights.sum()))
    return _drawn(lambda: poisson_sample(rate=rates))


_WORKERS = 2


def _rate_of_a_worker(told: int) -> PrivateTraining:
    steps = EPOCHS * RECORDS // (BATCH * _WORKERS)
    draw = lambda: poisson_sample(rate=_WORKERS * BATCH / RECORDS)  # noqa: E731
    batches = DrawnBatches(draw, steps // EPOCHS)
    return torch_training(
        loader=loader_of(batches, records()), event=accounted(batch_size=told, steps=steps)
    )


_KEPT = 64


def _held_out(*, apart: bool) -> PrivateTraining:
    features, labels = records(RECORDS + _KEPT).tensors
    trained = TensorDataset(features[:RECORDS], labels[:RECORDS])
    begin = RECORDS if apart else RECORDS - _KEPT
    kept = TensorDataset(features[begin : begin + _KEPT], labels[begin : begin + _KEPT])
    return trained_with_opacus(private_parts(trained), held_out=kept)


class CountingTrainer:
    """A trainer that keeps the history of its accountant itself."""

    adjacency, delta = "add_or_remove_one", DELTA

    def __init__(self, virtual: int) -> None:
        # How many updates it takes for one that is accounted for, and how many were made.
        self.virtual, self.made = virtual, 0
        self.history: list[tuple[float, float, int]] = []
        self.model: nn.Module = perceptron()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=0.01)
        self.loader = poisson_loader()
        self.event: DPSGD = accounted(steps=EPOCHS * len(self.loader) // virtual)

    @property
    def accountant(self) -> Any:
        """Who has the history."""
        return self

    def step(self, batch: Sequence[Tensor]) -> None:
        """One noisy update."""
        noisy = dp_sgd_gradients(self.model, batch)
        for name, parameter in self.model.named_parameters():
            parameter.grad = noisy[name]
        self.optimizer.step()
        self.made += 1
        if self.made % self.virtual == 0:
            done = self.history.pop()[2] if self.history else 0
            self.history.append((NOISE, BATCH / RECORDS, done + 1))

    def train(self) -> None:
        """All epochs."""
        for _ in range(EPOCHS):
            for batch in self.loader:
                self.step(batch)


def _updates_of_a_batch(updates: int) -> PrivateTraining:
    parts = private_parts()
    model, optimizer = parts[0], parts[1]
    optimizer.attach_step_hook(None)

    def step(batch: Sequence[Any]) -> None:
        for _ in range(updates):
            optimizer.zero_grad()
            torch.autograd.backward(nn.functional.cross_entropy(model(batch[0]), batch[1]))
            optimizer.step()
        parts[3].accountant.step(
            noise_multiplier=optimizer.noise_multiplier, sample_rate=1.0 / len(parts[2])
        )

    return trained_with_opacus(parts, step=step)


_ALLOWED = 12


def _one_step_too_many(*, looks_before: bool) -> PrivateTraining:
    def train() -> None:
        for done, batch in enumerate(chain.from_iterable(repeat(made.loader))):
            if looks_before and done == _ALLOWED:
                return
            made.step(batch)
            if done == _ALLOWED:
                return

    made = torch_training(event=accounted(steps=_ALLOWED), train=train)
    return made


def _not_told(used: float) -> PrivateTraining:
    parts = private_parts()
    optimizer, rate = parts[1], 1.0 / len(parts[2])
    configured = optimizer.noise_multiplier
    optimizer.attach_step_hook(
        lambda _: parts[3].accountant.step(noise_multiplier=configured, sample_rate=rate)
    )
    training = trained_with_opacus(parts)
    optimizer.noise_multiplier = used
    return training


TRAININGS: Trainings = {
    "batch-clipping": (lambda: torch_training(_of_the_batch), torch_training),
    "microbatch-averages": with_and_without(_microbatch_averages, together=(8, 1)),
    "gradient-left-over": (lambda: torch_training(_added), torch_training),
    "unclipped-biases": (lambda: torch_training(private_gradients(_weights_alone)), torch_training),
    "layer-thresholds": with_and_without(_layer_thresholds, all_together=(False, True)),
    "norm-from-the-batch": (lambda: torch_training(_by_median), torch_training),
    "actual-batch-size": (lambda: torch_training(_by_actual_size), torch_training),
    "batch-normalisation": (
        lambda: _batch_normalisation(nn.BatchNorm1d(16)),
        lambda: _batch_normalisation(nn.GroupNorm(4, 16)),
    ),
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
    "shuffled-as-poisson": (
        lambda: trained_with_opacus(private_parts(shuffle=True, poisson_sampling=False)),
        trained_with_opacus,
    ),
    "fixed-size-as-poisson": (lambda: FixedSizes().training(), lambda: NumpyTraining().training()),
    "last-partial-batch": with_and_without(_last_batch, drop_last=(False, True)),
    "cut-batches": with_and_without(_drawn, draw=(lambda: poisson_sample()[:68], poisson_sample)),
    "drawn-with-replacement": with_and_without(
        _subset,
        draw=(lambda: torch.randint(RECORDS, (BATCH,)), lambda: torch.randperm(RECORDS)[:BATCH]),
    ),
    "same-batches-each-epoch": with_and_without(_repeated, anew=(True, False)),
    "weighted-sampler": with_and_without(_weighted, weight=(3.0, 1.0)),
    "batch-of-one-worker": with_and_without(_rate_of_a_worker, told=(BATCH, BATCH * _WORKERS)),
    "evaluation-data-in-training": with_and_without(_held_out, apart=(False, True)),
    "virtual-steps": (
        lambda: as_training(CountingTrainer(virtual=4)),
        lambda: as_training(CountingTrainer(virtual=1)),
    ),
    "two-updates-of-a-batch": with_and_without(_updates_of_a_batch, updates=(2, 1)),
    "one-step-too-many": with_and_without(_one_step_too_many, looks_before=(False, True)),
    "noise-of-the-configuration": with_and_without(_not_told, used=(0.5, 1.0)),
    "delta-above-one-in-n": with_and_without(trained_with_opacus, delta=(0.01, 1e-5)),
    "claim-of-another-training": with_and_without(trained_with_opacus, epsilon=(1.0, 5.0)),
}
"""The code of each mistake, and the same code without it."""
