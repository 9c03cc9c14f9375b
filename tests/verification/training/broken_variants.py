"""Broken trainings in other styles than those of the zoo, each with its right names."""

import numpy as np
import torch
from opacus.optimizers import DPOptimizer
from torch import nn
from torch.utils.data import DataLoader, RandomSampler, TensorDataset

from rdpkit import DPSGD
from rdpkit.verification.training.mistakes import TrainingMistakeKind as Kind
from rdpkit.verification.training.trainer import PrivateTraining
from rdpkit.verification.training.zoo.parts import (
    accounted,
    clipped_sums,
    gradients_of_records,
    loader_of,
    mean_of,
    noise_like,
    poisson_loader,
    records,
    torch_training,
)
from rdpkit.verification.training.zoo.with_numpy import NumpyTraining
from tests.verification.training.correct_trainings import Handmade, network, with_engine

BROKEN = {}


def broken(check, *kinds):
    """Add a maker to the table, with the check that finds it and its right names."""

    def decorate(make):
        BROKEN[make.__name__.replace("_", "-")] = (make, check, kinds)
        return make

    return decorate


def with_gradients(privatise, **more):
    """A training whose noisy gradients are made from the gradients of the records."""
    return torch_training(
        lambda model, batch: privatise(gradients_of_records(model, batch)),
        model=network(nn.ReLU()),
        **more,
    )


@broken("step", Kind.NO_CLIPPING)
def summed_without_clipping():
    def privatise(found):
        sums = {name: value.sum(0) for name, value in found.items()}
        return mean_of(sums, noise_like(sums, 1.0))

    return with_gradients(privatise)


@broken("step", Kind.NOISE_TOO_SMALL, Kind.NO_CLIPPING)
def clipped_by_value():
    def privatise(found):
        sums = {name: value.clamp(-1.0, 1.0).sum(0) for name, value in found.items()}
        return mean_of(sums, noise_like(sums, 1.0))

    return with_gradients(privatise)


@broken("step", Kind.NOISE_TOO_SMALL)
def noise_without_the_norm():
    def privatise(found):
        sums = clipped_sums(found, 4.0)
        return mean_of(sums, noise_like(sums, 1.0))

    return with_gradients(privatise)


@broken("step", Kind.NOISE_NOT_GAUSSIAN)
def laplace_noise():
    def privatise(found):
        sums = clipped_sums(found)
        law = torch.distributions.Laplace(0.0, 0.5**0.5)
        return mean_of(sums, {name: law.sample(value.shape) for name, value in sums.items()})

    return with_gradients(privatise)


@broken("step", Kind.NOISE_SHARED)
def noise_of_one_row():
    def privatise(found):
        sums = clipped_sums(found)
        noise = {
            name: torch.randn(value.shape[-1:]).expand_as(value) for name, value in sums.items()
        }
        return mean_of(sums, noise)

    return with_gradients(privatise)


@broken("step", Kind.NOISE_REPEATED, Kind.NOISE_FIXED_SEED)
def noise_drawn_before_the_loop():
    kept = {}

    def privatise(found):
        sums = clipped_sums(found)
        if not kept:
            kept.update(noise_like(sums, 1.0, torch.Generator().manual_seed(0)))
        return mean_of(sums, kept)

    return with_gradients(privatise)


@broken("step", Kind.NO_NOISE_ON_PARAMETERS)
def last_layer_alone():
    def privatise(found):
        sums = clipped_sums(found)
        noise = noise_like(sums, 1.0)
        return {
            name: (value + noise[name] if name.startswith("2.") else value) / 64
            for name, value in sums.items()
        }

    return with_gradients(privatise)


@broken("step", Kind.UNCLIPPED_PARAMETERS)
def norm_of_the_last_layer():
    def privatise(found):
        last = {name: value for name, value in found.items() if name.startswith("2.")}
        first = {name: v.sum(0) for name, v in found.items() if name not in last}
        sums = {**first, **clipped_sums(last)}
        return mean_of(sums, noise_like(sums, 1.0))

    return with_gradients(privatise)


@broken("step", Kind.BATCH_STATISTICS)
def features_centred_in_the_batch():
    def gradients(model, batch):
        features = batch[0] - batch[0].mean(0) if len(batch[0]) else batch[0]
        sums = clipped_sums(gradients_of_records(model, (features, batch[1])))
        return mean_of(sums, noise_like(sums, 1.0))

    return torch_training(gradients)


@broken("step", Kind.BATCH_DEPENDENT_SCALE)
def divided_by_the_batch_by_hand():
    class Divided(Handmade):
        def step(self, batch):
            self.rate = 0.2 * 32 / max(1, len(batch[1]))
            super().step(batch)

    return Divided()


class QuietBiases(DPOptimizer):
    def add_noise(self):
        for parameter in self.params:
            std = 0.0 if parameter.ndim == 1 else self.noise_multiplier * self.max_grad_norm
            noise = torch.normal(0.0, std, parameter.shape) if std else 0.0
            parameter.grad = parameter.summed_grad + noise


@broken("step", Kind.NO_NOISE_ON_PARAMETERS)
def opacus_without_noise_on_biases():
    made = with_engine()
    made.optimizer.__class__ = QuietBiases
    return made


@broken("step", Kind.NO_CLIPPING, Kind.NOISE_TOO_SMALL)
def opacus_norm_raised_for_clipping_alone():
    made = with_engine()
    optimizer = made.optimizer
    add = optimizer.add_noise

    def quiet():
        optimizer.max_grad_norm = 1.0
        add()
        optimizer.max_grad_norm = 1e6

    optimizer.max_grad_norm = 1e6
    optimizer.add_noise = quiet
    return made


@broken("step", Kind.NOISE_FIXED_SEED, Kind.NOISE_REPEATED)
def numpy_seed_in_the_constructor():
    class Seeded(NumpyTraining):
        def __init__(self):
            super().__init__()
            self.quiet = np.random.RandomState(1234)

        def noise(self, shape):
            return self.quiet.normal(0.0, 1.0, shape)

    return Seeded().training()


@broken("step", Kind.NO_NOISE)
def numpy_without_noise():
    class Silent(NumpyTraining):
        def noise(self, shape):
            return np.zeros(shape)

    return Silent().training()


@broken("step", Kind.CLIPPED_AFTER_AVERAGING)
def numpy_mean_is_clipped():
    class Meaned(NumpyTraining):
        def step(self, batch):
            features, labels = batch
            error = 1.0 / (1.0 + np.exp(-(features @ self.weights + self.bias[0]))) - labels
            rows = np.concatenate([error[:, None] * features, error[:, None]], axis=1)
            mean = rows.mean(axis=0)
            mean = mean * min(1.0, 1.0 / np.linalg.norm(mean)) + self.noise(mean.shape) / 64
            self.weights = self.weights - 0.5 * mean[:-1]
            self.bias = self.bias - 0.5 * mean[-1:]

    return Meaned().training()


@broken("sampler", Kind.REPEATED_BATCHES, Kind.FIXED_SIZE, Kind.NOT_POISSON)
def batches_in_the_order_of_the_file():
    return torch_training(loader=DataLoader(records(), batch_size=64))


@broken("sampler", Kind.SHUFFLED, Kind.NOT_POISSON, Kind.FIXED_SIZE)
def plain_loader():
    return torch_training(loader=DataLoader(records(), batch_size=64, shuffle=True))


@broken("sampler", Kind.RECORD_TWICE, Kind.FIXED_SIZE, Kind.NOT_POISSON)
def random_sampler_with_replacement():
    data = records()
    sampler = RandomSampler(data, replacement=True, num_samples=512)
    return torch_training(loader=DataLoader(data, batch_size=64, sampler=sampler))


class Windows:
    def __iter__(self):
        for _ in range(8):
            start = int(torch.randint(512, ()))
            yield [(start + place) % 512 for place in range(64)]

    def __len__(self):
        return 8


@broken("sampler", Kind.NOT_POISSON, Kind.FIXED_SIZE)
def windows_of_the_file():
    return torch_training(loader=loader_of(Windows(), records()))


@broken("sampler", Kind.SAMPLING_RATE)
def half_of_the_rate_is_told():
    return torch_training(loader=poisson_loader(size=96))


@broken("sampler", Kind.HELD_OUT_IN_TRAINING)
def evaluation_overlaps():
    features, labels = records().tensors
    kept = TensorDataset(features[100:110], labels[100:110])
    return torch_training(held_out=kept)


@broken("sampler", Kind.REPEATED_BATCHES)
def numpy_seed_of_an_epoch():
    class Again(NumpyTraining):
        def places(self):
            rng = np.random.default_rng(7)
            for _ in range(8):
                yield np.flatnonzero(rng.random(512) < 1 / 8)

    return Again().training()


@broken("accountant", Kind.CLAIM_TOO_SMALL)
def claim_for_the_other_neighbours():
    return torch_training(adjacency="replace_one", epsilon=4.1)


@broken("accountant", Kind.DELTA_TOO_LARGE)
def delta_of_a_larger_set():
    return torch_training(delta=0.005)


@broken("accountant", Kind.STEPS_MISCOUNTED)
def one_more_epoch():
    made = torch_training()

    def train():
        for _ in range(3):
            for batch in made.loader:
                made.step(batch)

    return PrivateTraining(
        step=made.step,
        loader=made.loader,
        event=made.event,
        adjacency=made.adjacency,
        delta=made.delta,
        model=made.model,
        optimizer=made.optimizer,
        train=train,
    )


@broken("accountant", Kind.ACCOUNTANT_NOT_TOLD, Kind.SAMPLING_RATE)
def event_with_a_smaller_rate():
    told = DPSGD(noise_multiplier=1.0, dataset_size=1024, batch_size=64, steps=16)
    return with_engine(event=told)


@broken("accountant", Kind.STEPS_MISCOUNTED, Kind.ACCOUNTANT_NOT_TOLD)
def event_of_half_the_steps():
    made = torch_training(event=accounted(steps=8))

    def train():
        for _ in range(2):
            for batch in made.loader:
                made.step(batch)

    return {
        "step": made.step,
        "loader": made.loader,
        "event": made.event,
        "adjacency": "add_or_remove_one",
        "delta": 1e-5,
        "model": made.model,
        "optimizer": made.optimizer,
        "train": train,
    }
