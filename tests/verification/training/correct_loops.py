"""Correct trainings with schedules, warm-up, accumulation, several loaders, and loops by hand."""

import dataclasses
import itertools
import warnings

import numpy as np
import torch
from opacus.schedulers import ExponentialGradClip, ExponentialNoise, StepNoise
from opacus.utils.batch_memory_manager import BatchMemoryManager
from torch import nn
from torch.utils.data import ConcatDataset, DataLoader, SubsetRandomSampler, TensorDataset

from rdpkit import DPSGD, Composed, Gaussian, PoissonSampledGaussian, Repeated
from rdpkit.verification.training.trainer import functional_training
from rdpkit.verification.training.zoo.parts import (
    DrawnBatches,
    NumpyTraining,
    accounted,
    clipped_sums,
    gradients_of_records,
    loader_of,
    mean_of,
    noise_like,
    norms,
    perceptron,
    poisson_loader,
    poisson_sample,
    records,
    torch_training,
)
from tests.verification.training.correct_trainings import (
    CORRECT,
    correct,
    correct_by,
    private,
    stepped,
    with_engine,
)

FEATURES, LABELS = records().tensors


def sampled(*, noise=1.0, rate=1 / 8, count=16):
    """An event without a number of records, as an accountant's history is."""
    step = PoissonSampledGaussian(
        noise_std=noise, record_norm=1.0, record_diameter=2.0, sampling_probability=rate
    )
    return Repeated(event=step, count=count)


def followed(made, after):
    """The same training, with a function that is called after each step."""

    def step(batch):
        made.step(batch)
        after()

    return stepped(made, step)


def opacus_schedule(schedule, least):
    made = with_engine(event=accounted(noise_multiplier=least))
    return followed(made, schedule(made.optimizer).step)


@correct
def opacus_memory_manager():
    made = with_engine()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        manager = BatchMemoryManager(
            data_loader=made.loader, max_physical_batch_size=16, optimizer=made.optimizer
        )
        loader = manager.__enter__()
    return dataclasses.replace(made, loader=loader)


def samples(features=FEATURES, rate=1 / 8, generator=None):
    """Eight Poisson samples of all records."""
    for _ in range(8):
        joins = torch.rand(512, generator=generator) < rate
        yield features[joins], LABELS[joins]


class Loop:
    """A plain loop with nothing but a step; each attribute is what one training changes."""

    event = accounted()
    adjacency, delta = "add_or_remove_one", 1e-5
    sigma, clip, rate = 1.0, 1.0, 0.1

    def __init__(self):
        self.model = perceptron()
        self.steps = 0

    @property
    def loader(self):
        yield from samples()

    def noisy(self, batch):
        found = gradients_of_records(self.model, batch)
        return private(found, self.clip, self.sigma * self.clip)

    def step(self, batch):
        self.update(self.noisy(batch))

    def update(self, gradients):
        self.steps += 1
        with torch.no_grad():
            for name, parameter in self.model.named_parameters():
                parameter.sub_(self.rate * gradients[name])


def loop(**changed):
    return type("Changed", (Loop,), changed)()


@correct
class LoopNoiseDecays(Loop):
    event = accounted(noise_multiplier=0.9**16)

    def step(self, batch):
        super().step(batch)
        self.sigma *= 0.9


@correct
class LoopNoiseInTwoStages(Loop):
    event = Composed(events=(sampled(noise=1.0, count=8), sampled(noise=2.0, count=8)))

    def step(self, batch):
        self.sigma = 1.0 if self.steps < 8 else 2.0
        super().step(batch)


@correct
class LoopClipDecays(Loop):
    def step(self, batch):
        super().step(batch)
        self.clip *= 0.8


@correct
class LoopLearningRateDecays(Loop):
    def step(self, batch):
        self.rate = 0.5 / (1 + 3 * self.steps)
        super().step(batch)


@correct
class LoopWarmUpFromZero(Loop):
    def step(self, batch):
        self.rate = 0.1 * min(1.0, self.steps / 4)
        super().step(batch)


def said_by(made, *more):
    """What a loop says of itself, as a dictionary."""
    return {name: getattr(made, name) for name in ("event", "adjacency", "delta", *more)}


@correct
def loop_cosine_in_a_closure():
    made = Loop()
    count = 0

    def step(batch):
        nonlocal count
        made.rate = 0.05 * (1.0 + np.cos(np.pi * count / 20))
        count += 1
        made.step(batch)

    return {"step": step, "loader": poisson_loader(), **said_by(made, "model")}


class Parts(Loop):
    """Each Poisson sample comes in four parts, and noise is added after the fourth."""

    std = 1.0

    def __init__(self):
        super().__init__()
        self.sums, self.waiting = None, 0

    @property
    def loader(self):
        for features, labels in Loop.loader.fget(self):
            yield from zip(features.tensor_split(4), labels.tensor_split(4), strict=True)

    def step(self, batch):
        found = clipped_sums(gradients_of_records(self.model, batch))
        held = self.sums or {name: torch.zeros_like(value) for name, value in found.items()}
        self.sums = {name: held[name] + value for name, value in found.items()}
        self.waiting += 1
        if self.waiting == 4:
            self.update(mean_of(self.sums, noise_like(self.sums, self.std)))
            self.sums, self.waiting = None, 0


@correct
class LoopAccumulatesAShuffledLoader(Parts):
    event = accounted(sampling="shuffle")
    loader = DataLoader(records(), batch_size=16, shuffle=True)


@correct_by(torch_training)
def loop_micro_batches(model, batch):
    parts = [
        clipped_sums(gradients_of_records(model, (batch[0][rows], batch[1][rows])))
        for rows in torch.arange(len(batch[1])).split(16)
    ] or [clipped_sums(gradients_of_records(model, batch))]
    sums = {name: sum(part[name] for part in parts) for name in parts[0]}
    return mean_of(sums, noise_like(sums, 1.0))


@correct
def loop_average_of_weights():
    made = torch_training()
    average = {name: value.detach().clone() for name, value in made.model.named_parameters()}

    def follow():
        for name, value in made.model.named_parameters():
            average[name].mul_(0.9).add_(0.1 * value.detach())

    return followed(made, follow)


@correct
def loop_logs_losses():
    made = torch_training()
    losses, largest = [], {"norm": 0.0}

    def step(batch):
        found = norms(gradients_of_records(made.model, batch))
        losses.append(float(nn.functional.cross_entropy(made.model(batch[0]), batch[1]).detach()))
        largest["norm"] = max([largest["norm"], *found.tolist()])
        made.step(batch)

    return stepped(made, step)


@correct
class LoopAdamByHand(Loop):
    def __init__(self):
        super().__init__()
        self.first = {n: torch.zeros_like(p) for n, p in self.model.named_parameters()}
        self.second = {n: torch.zeros_like(p) for n, p in self.model.named_parameters()}

    def update(self, gradients):
        t = self.steps + 1
        for name, value in gradients.items():
            self.first[name] = 0.9 * self.first[name] + 0.1 * value
            self.second[name] = 0.999 * self.second[name] + 0.001 * value**2
        super().update(
            {
                n: (self.first[n] / (1 - 0.9**t))
                / ((self.second[n] / (1 - 0.999**t)).sqrt() + 1e-8)
                for n in gradients
            }
        )


@correct
class LoopMomentumByHand(Loop):
    held = None

    def update(self, gradients):
        held = self.held or {n: torch.zeros_like(v) for n, v in gradients.items()}
        self.held = {n: 0.9 * held[n] + v for n, v in gradients.items()}
        super().update(self.held)


@correct
class LoopClipsTheNoisyGradient(Loop):
    def noisy(self, batch):
        found = super().noisy(batch)
        length = torch.cat([value.flatten() for value in found.values()]).norm()
        return {name: value * min(1.0, 0.05 / float(length)) for name, value in found.items()}


def clipped_by_layer(model, batch):
    found = gradients_of_records(model, batch)
    each = 1.0 / len(found) ** 0.5
    sums = {name: clipped_sums({name: value}, each)[name] for name, value in found.items()}
    return mean_of(sums, noise_like(sums, 1.0))


@correct
class LoopAdaptiveClipping(Loop):
    """Half of the records should be below the norm; their number gets noise, and is paid."""

    event = Composed(events=(sampled(), sampled(noise=10.0)))

    def noisy(self, batch):
        found = gradients_of_records(self.model, batch)
        below = float((norms(found) <= self.clip).sum() - 0.5 * len(batch[1]))
        made = private(found, self.clip, self.sigma * self.clip)
        share = (below + 0.5 * 10.0 * float(torch.randn(()))) / 64
        self.clip *= float(np.exp(-0.2 * share))
        return made


def halves_of_the_data():
    """A loader of each half of the records."""
    return [
        poisson_loader(TensorDataset(FEATURES[rows], LABELS[rows]), size=32, count=256)
        for rows in (slice(None, 256), slice(256, None))
    ]


@correct
def loop_two_loaders_one_after_the_other():
    left, right = halves_of_the_data()

    class Both:
        dataset = ConcatDataset([left.dataset, right.dataset])

        def __iter__(self):
            return itertools.chain(left, right)

    return torch_training(loader=Both(), event=accounted(steps=32), with_records=None)


@correct
def loop_two_loaders_together():
    class Both:
        def __iter__(self):
            for one, other in zip(*halves_of_the_data(), strict=True):
                yield [torch.cat(parts) for parts in zip(one, other, strict=True)]

    return torch_training(loader=Both())


def rows_of_users():
    """The records of the users of eight Poisson samples, four of each."""
    for _ in range(8):
        users = (torch.rand(128) < 1 / 8).nonzero().flatten()
        yield (4 * users[:, None] + torch.arange(4)).flatten()


@correct
class LoopUsersWithSeveralRecords(Loop):
    """Four records of each user, clipped together."""

    event = DPSGD(noise_multiplier=1.0, dataset_size=128, batch_size=16, epochs=2)

    @property
    def loader(self):
        for rows in rows_of_users():
            yield FEATURES[rows].view(-1, 4, 20), LABELS[rows].view(-1, 4)

    def noisy(self, batch):
        rows = (batch[0].flatten(0, 1), batch[1].flatten())
        found = gradients_of_records(self.model, rows)
        means = {n: v.view(-1, 4, *v.shape[1:]).mean(1) for n, v in found.items()}
        return private(means, size=16)


@correct
class LoopUsersDrawnByRecord(Loop):
    """All records of a user are drawn together; the positions are those of records."""

    event = DPSGD(noise_multiplier=4.0, dataset_size=128, batch_size=16, epochs=2)
    sigma = 4.0
    records = TensorDataset(FEATURES, LABELS)

    @property
    def loader(self):
        for rows in rows_of_users():
            yield FEATURES[rows], LABELS[rows]


@correct
class LoopBatchesGrow(Loop):
    """The rate grows over an epoch, and the largest is told."""

    event = accounted(batch_size=128, epochs=4)

    @property
    def loader(self):
        for place in range(8):
            joins = torch.rand(512) < (place + 1) / 32
            yield FEATURES[joins], LABELS[joins]


@correct
def loop_part_of_a_data_set():
    batches = DrawnBatches(lambda: poisson_sample(320) + 40)
    return torch_training(
        loader=loader_of(batches, records()),
        event=accounted(dataset_size=320, batch_size=40),
    )


@correct
def loop_shuffled_subset():
    data = records()
    return torch_training(
        loader=DataLoader(data, batch_size=50, sampler=SubsetRandomSampler(range(100, 400))),
        event=accounted(sampling="shuffle", dataset_size=300, batch_size=50),
    )


@correct
class LoopRecordsWithEqualContent(Loop):
    """Few features with few values, so that many records are the same."""

    @property
    def loader(self):
        coarse = torch.zeros_like(FEATURES)
        coarse[:, :3] = (FEATURES[:, :3] > 0).float()
        yield from samples(coarse)


@correct
class LoopFlippedFeatures(Loop):
    records = TensorDataset(FEATURES, LABELS)

    @property
    def loader(self):
        for features, labels in Loop.loader.fget(self):
            signs = 1.0 - 2.0 * (torch.rand(len(labels), 1) < 0.3).float()
            yield features * signs, labels


@correct
def numpy_noise_decays():
    class Decays(NumpyTraining):
        def step(self, batch):
            super().step(batch)
            self.noise_multiplier *= 0.9

    made = Decays()
    made.noise_multiplier = 0.9**16
    training = made.training()
    made.noise_multiplier = 1.0
    return training


@correct
def pure_functions():
    features, labels = FEATURES.numpy().astype(float), LABELS.numpy() % 2

    def step(params, state, batch):
        x, y = batch
        error = 1.0 / (1.0 + np.exp(-(x @ params["weights"]))) - y
        rows = error[:, None] * x
        rows *= np.minimum(1.0, 1.0 / np.maximum(np.linalg.norm(rows, axis=1), 1e-12))[:, None]
        key = np.random.default_rng(state["key"])
        noise = 1.3 * key.normal(size=params["weights"].shape)
        weights = params["weights"] - state["rate"] * (rows.sum(axis=0) + noise) / 64
        following = {"key": int(key.integers(2**62)), "rate": 0.8 * state["rate"]}
        return {"weights": weights}, following

    class Batches:
        def __iter__(self):
            for _ in range(8):
                joins = np.random.rand(512) < 1 / 8  # noqa: NPY002 - the check seeds it
                yield features[joins], labels[joins]

    return functional_training(
        step,
        params={"weights": np.zeros(20)},
        state={"key": 5, "rate": 0.5},
        reseeded=lambda state, seed: {**state, "key": seed},
        loader=Batches(),
        event=accounted(noise_multiplier=1.3),
        adjacency="add_or_remove_one",
        delta=1e-5,
    )


@correct
class WholeDataInEveryStep(Loop):
    event = Repeated(event=Gaussian(noise_std=4.0, record_norm=1.0), count=10)
    sigma = 4.0
    loader = ((FEATURES, LABELS),) * 4


CORRECT.update(
    {
        "opacus-exponential-noise": lambda: opacus_schedule(
            lambda it: ExponentialNoise(it, gamma=0.95), 0.95**16
        ),
        "opacus-step-noise": lambda: opacus_schedule(
            lambda it: StepNoise(it, step_size=4, gamma=0.8), 0.8**4
        ),
        "opacus-growing-noise": lambda: opacus_schedule(
            lambda it: ExponentialNoise(it, gamma=1.1), 1.0
        ),
        "opacus-clip-schedule": lambda: opacus_schedule(
            lambda it: ExponentialGradClip(it, gamma=0.9), 1.0
        ),
        "loop-with-nothing-but-a-step": Loop,
        "loop-accounted-by-rate": lambda: loop(event=sampled()),
        "loop-accumulates-parts": Parts,
        "loop-clips-by-layer": lambda: torch_training(clipped_by_layer),
        "loop-last-batch-dropped": lambda: torch_training(
            loader=DataLoader(records(), batch_size=60, shuffle=True, drop_last=True),
            event=accounted(sampling="shuffle", batch_size=60),
        ),
    }
)
