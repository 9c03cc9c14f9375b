"""Broken trainings in other styles than those of the zoo, each with its right names."""

from functools import partial

import numpy as np
import torch
from opacus.optimizers import DPOptimizer
from torch import nn
from torch.utils.data import DataLoader, RandomSampler, TensorDataset

from rdpkit import DPSGD
from rdpkit.verification.blackbox.mistakes import MistakeKind as Kind
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
    poisson_loader,
    poisson_sample,
    private_gradients,
    records,
    torch_training,
)
from tests.verification.training.correct_loops import FEATURES, LABELS, Loop, Parts, samples
from tests.verification.training.correct_trainings import (
    Handmade,
    entry,
    network,
    private,
    stepped,
    with_engine,
)
from tests.verification.training.correct_updates import SummedAdam, rated

BROKEN = {}


def broken(check, *kinds, by=None):
    """Add a maker to the table, with the check that finds it and its right names."""

    def decorate(make):
        name, made = entry(make, by)
        BROKEN[name] = (made, check, kinds)
        return make

    return decorate


def with_gradients(privatise):
    """A training whose noisy gradients are made from the gradients of the records."""
    return torch_training(
        lambda model, batch: privatise(gradients_of_records(model, batch)),
        model=network(nn.ReLU()),
    )


def of_parts(sums=clipped_sums, noise=noise_like, layers=nn.ReLU):
    """The same, from what adds the gradients of records and from what makes the noise."""
    model = None if layers is None else network(layers())
    return torch_training(private_gradients(sums, noise), model=model)


@broken("step", Kind.NOISE_REPEATED, Kind.NOISE_FIXED_SEED)
def noise_drawn_before_the_loop():
    kept = {}

    def privatise(found):
        sums = clipped_sums(found)
        if not kept:
            kept.update(noise_like(sums, 1.0, torch.Generator().manual_seed(0)))
        return mean_of(sums, kept)

    return with_gradients(privatise)


@broken("step", Kind.NO_NOISE_ON_PARAMETERS, by=with_gradients)
def last_layer_alone(found):
    sums = clipped_sums(found)
    noise = noise_like(sums, 1.0)
    return {
        name: (value + noise[name] if name.startswith("2.") else value) / 64
        for name, value in sums.items()
    }


def with_the_norm_of_the_last_layer(found):
    last = {name: value for name, value in found.items() if name.startswith("2.")}
    first = {name: v.sum(0) for name, v in found.items() if name not in last}
    return {**first, **clipped_sums(last)}


@broken("step", Kind.BATCH_STATISTICS, by=torch_training)
def features_centred_in_the_batch(model, batch):
    features = batch[0] - batch[0].mean(0) if len(batch[0]) else batch[0]
    return private(gradients_of_records(model, (features, batch[1])))


@broken("step", Kind.BATCH_DEPENDENT_SCALE)
class DividedByTheBatchByHand(Handmade):
    def step(self, batch):
        self.rate = 0.2 * 32 / max(1, len(batch[1]))
        super().step(batch)


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
class NumpySeedInTheConstructor(NumpyTraining):
    def __init__(self):
        super().__init__()
        self.quiet = np.random.RandomState(1234)

    def noise(self, shape):
        return self.quiet.normal(0.0, 1.0, shape)


@broken("step", Kind.NO_NOISE)
class NumpyWithoutNoise(NumpyTraining):
    def noise(self, shape):
        return np.zeros(shape)


@broken("step", Kind.NO_NOISE_ON_PARAMETERS)
class NumpyWithoutNoiseOnALayer(NumpyTraining):
    """All parameters are one array, of which a part has no noise."""

    def noise(self, shape):
        noise = super().noise(shape)
        noise[:4] = 0.0
        return noise


@broken("step", Kind.NO_NOISE_ON_PARAMETERS, by=with_gradients)
def noise_on_all_rows_but_one(found):
    sums = clipped_sums(found)
    noise = noise_like(sums, 1.0)
    noise["0.weight"][5] = 0.0
    return mean_of(sums, noise)


@broken("step", Kind.CLIPPED_AFTER_AVERAGING)
class NumpyMeanIsClipped(NumpyTraining):
    def step(self, batch):
        features, labels = batch
        error = 1.0 / (1.0 + np.exp(-(features @ self.weights + self.bias[0]))) - labels
        rows = np.concatenate([error[:, None] * features, error[:, None]], axis=1)
        mean = rows.mean(axis=0)
        mean = mean * min(1.0, 1.0 / np.linalg.norm(mean)) + self.noise(mean.shape) / 64
        self.weights = self.weights - 0.5 * mean[:-1]
        self.bias = self.bias - 0.5 * mean[-1:]


@broken("sampler", Kind.RECORD_TWICE, Kind.FIXED_SIZE, Kind.NOT_POISSON)
def random_sampler_with_replacement():
    data = records()
    sampler = RandomSampler(data, replacement=True, num_samples=512)
    return torch_training(loader=DataLoader(data, batch_size=64, sampler=sampler))


@broken("sampler", Kind.NOT_POISSON, Kind.FIXED_SIZE)
def windows_of_the_file():
    draw = lambda: (torch.randint(512, ()) + torch.arange(64)) % 512  # noqa: E731
    return torch_training(loader=loader_of(DrawnBatches(draw), records()))


@broken("sampler", Kind.HELD_OUT_IN_TRAINING)
def evaluation_overlaps():
    features, labels = records().tensors
    kept = TensorDataset(features[100:110], labels[100:110])
    return torch_training(held_out=kept)


@broken("sampler", Kind.REPEATED_BATCHES)
class NumpySeedOfAnEpoch(NumpyTraining):
    def places(self):
        rng = np.random.default_rng(7)
        for _ in range(8):
            yield np.flatnonzero(rng.random(512) < 1 / 8)


def trained(made, epochs, seed=None):
    """The same training with a function that makes so many epochs of steps."""

    def train():
        if seed is not None:
            torch.manual_seed(seed)
        for _ in range(epochs):
            for batch in made.loader:
                made.step(batch)

    return stepped(made, made.step, train=train)


class BrokenLoop(Loop):
    """A plain loop, whose gradients one mistake changes."""

    held = None

    def sums(self, batch):
        return clipped_sums(gradients_of_records(self.model, batch))


@broken("step", Kind.NOISE_FIXED_SEED)
def seed_in_the_trainer():
    torch.manual_seed(42)
    return Loop()


@broken("step", Kind.STATE_HOLDS_DATA)
class CleanMomentum(BrokenLoop):
    def noisy(self, batch):
        sums = self.sums(batch)
        held = self.held or {name: torch.zeros_like(value) for name, value in sums.items()}
        self.held = {name: 0.5 * held[name] + 0.5 * sums[name] for name in sums}
        return mean_of(self.held, noise_like(sums, 0.5))


@broken("step", Kind.STATE_HOLDS_DATA)
def clean_average_in_a_closure():
    average = {}

    def gradients(model, batch):
        sums = clipped_sums(gradients_of_records(model, batch))
        for name, value in sums.items():
            average[name] = 0.9 * average.get(name, torch.zeros_like(value)) + value
        return mean_of(average, noise_like(sums, 1.0))

    return torch_training(gradients)


@broken("step", Kind.STATE_HOLDS_DATA)
class CleanSecondMoment(BrokenLoop):
    def noisy(self, batch):
        sums = self.sums(batch)
        found = mean_of(sums, noise_like(sums))
        held = self.held or {name: torch.zeros_like(value) for name, value in sums.items()}
        self.held = {name: 0.9 * held[name] + 0.1 * sums[name] ** 2 for name in sums}
        return {name: found[name] / (self.held[name].sqrt() + 0.1) for name in sums}


@broken("step", Kind.STATE_HOLDS_DATA)
class NormOfTheLastBatch(BrokenLoop):
    def noisy(self, batch):
        found = super().noisy(batch)
        if len(batch[1]):
            self.clip = float(norms(gradients_of_records(self.model, batch)).median())
        return found


@broken("step", Kind.STATE_HOLDS_DATA)
def learning_rate_from_the_loss():
    """Of the optimiser, which is handed the same gradients for any rate."""
    made = torch_training()

    def step(batch):
        with torch.no_grad():
            loss = 1.0
            if len(batch[1]):
                loss = nn.functional.cross_entropy(made.model(batch[0]), batch[1])
        made.optimizer.param_groups[0]["lr"] = 0.1 / (1.0 + float(loss))
        made.step(batch)

    return stepped(made, step)


@broken("step", Kind.NO_CLIPPING, Kind.UNCLIPPED_PARAMETERS)
class ClippingStops(BrokenLoop):
    def noisy(self, batch):
        clip = 1.0 if self.steps < 6 else 1e6
        return private(gradients_of_records(self.model, batch), clip)


@broken("step", Kind.NO_NOISE)
class NoiseStops(BrokenLoop):
    def noisy(self, batch):
        noise = 1.0 if self.steps < 8 else 0.0
        return private(gradients_of_records(self.model, batch), noise=noise)


@broken("step", Kind.NOISE_TOO_SMALL)
class NoiseDecaysAndIsNotTold(BrokenLoop):
    def step(self, batch):
        super().step(batch)
        self.sigma *= 0.8


@broken("step", Kind.CLIPPED_AFTER_NOISE)
class NoiseAndThenClipping(BrokenLoop):
    def noisy(self, batch):
        found = gradients_of_records(self.model, batch)
        made = {n: v.sum(0) + torch.randn(v.shape[1:]) for n, v in found.items()}
        length = torch.cat([value.flatten() for value in made.values()]).norm()
        return {n: v * min(1.0, 1.0 / float(length)) / 64 for n, v in made.items()}


@broken("step", Kind.NOISE_TOO_SMALL)
class PartsWithAQuarterOfTheNoise(Parts):
    std = 0.25


@broken("sampler", Kind.SHUFFLED, Kind.FIXED_SIZE)
class ShuffledWithoutADataSet(Loop):
    @property
    def loader(self):
        for places in torch.randperm(512).split(64):
            yield FEATURES[places], LABELS[places]


@broken("sampler", Kind.SAMPLING_RATE)
class MoreRecordsAtFourTimesTheRate(Loop):
    event = DPSGD(noise_multiplier=1.0, dataset_size=128, batch_size=16, epochs=2)
    loader = rated(0.5)


@broken("step", Kind.CLIPPED_AFTER_NOISE)
class ClippedAfterNoiseAlone(BrokenLoop):
    def noisy(self, batch):
        sums = {n: v.sum(0) for n, v in gradients_of_records(self.model, batch).items()}
        found = mean_of(sums, noise_like(sums, 1.0))
        length = float(torch.cat([value.flatten() for value in found.values()]).norm())
        return {name: value * min(1.0, 0.32 / length) for name, value in found.items()}


@broken("step", Kind.BATCH_STATISTICS, by=torch_training)
def records_are_mixed_in_the_batch(model, batch):
    mixed = 0.6 * batch[0] + 0.4 * batch[0].roll(1, 0)
    return private(gradients_of_records(model, (mixed, batch[1])))


@broken("step", Kind.BATCH_STATISTICS, by=torch_training)
def hardest_half_of_the_batch(model, batch):
    losses = nn.functional.cross_entropy(model(batch[0]), batch[1], reduction="none")
    hardest = losses.topk((len(batch[1]) + 1) // 2).indices
    return private(gradients_of_records(model, [part[hardest] for part in batch]))


@broken("step", Kind.STATE_HOLDS_DATA)
class WhatClippingCutOffIsAddedLater(BrokenLoop):
    def noisy(self, batch):
        found = gradients_of_records(self.model, batch)
        sums = clipped_sums(found)
        held = self.held or {name: torch.zeros_like(value) for name, value in sums.items()}
        self.held = {name: found[name].sum(0) - sums[name] for name in sums}
        added = {name: sums[name] + 0.1 * held[name] for name in sums}
        return mean_of(added, noise_like(sums, 1.0))


@broken("step", Kind.NOISE_FIXED_SEED)
class GeneratorThatNobodySeeds(BrokenLoop):
    def __init__(self):
        super().__init__()
        self.generator = torch.Generator()

    def noisy(self, batch):
        return private(gradients_of_records(self.model, batch), generator=self.generator)


@broken("step", Kind.UNCLIPPED_PARAMETERS)
def mean_of_features_is_penalised():
    def gradients(model, batch):
        found = private(gradients_of_records(model, batch))
        if len(batch[1]):
            penalty = model[0](batch[0]).mean(0).square().sum()
            own = torch.autograd.grad(penalty, list(model[0].parameters()))
            for name, more in zip(("0.weight", "0.bias"), own, strict=True):
                found[name] = found[name] + more
        return found

    return torch_training(gradients, model=network(nn.ReLU()))


@broken("step", Kind.NOISE_REPEATED)
class NoiseDrawnInEveryFourthStep(BrokenLoop):
    kept = None

    def noisy(self, batch):
        sums = self.sums(batch)
        if self.steps % 4 == 0:
            self.kept = noise_like(sums, 1.0)
        return mean_of(sums, self.kept)


@broken("step", Kind.NOISE_REPEATED)
class NoiseThatEverySecondStepTakesAway(BrokenLoop):
    """Antithetic draws: the sum of two updates has no noise."""

    kept = None

    def noisy(self, batch):
        sums = self.sums(batch)
        if self.steps % 2 == 0:
            self.kept = noise_like(sums, 1.0)
            return mean_of(sums, self.kept)
        return mean_of(sums, {name: -value for name, value in self.kept.items()})


@broken("sampler", Kind.REPEATED_BATCHES)
class BatchesOfAGeneratorThatEachEpochSeeds(BrokenLoop):
    @property
    def loader(self):
        yield from samples(generator=torch.Generator().manual_seed(3))


@broken("sampler", Kind.FIXED_SIZE)
class BatchesFilledUpWithTheirLastRecord(BrokenLoop):
    @property
    def loader(self):
        for _ in range(8):
            places = (torch.rand(512) < 1 / 8).nonzero().flatten()
            places = torch.cat([places, places[-1:].repeat(110 - len(places))])
            yield FEATURES[places], LABELS[places]


BROKEN.update(
    {
        "seed-before-the-loop": (
            lambda: trained(torch_training(), 1, seed=42),
            "accountant",
            (Kind.NOISE_FIXED_SEED,),
        ),
        "one-more-epoch": (
            lambda: trained(torch_training(), 3),
            "accountant",
            (Kind.STEPS_MISCOUNTED,),
        ),
        "event-of-half-the-steps": (
            lambda: trained(torch_training(event=accounted(steps=8)), 2),
            "accountant",
            (Kind.STEPS_MISCOUNTED, Kind.ACCOUNTANT_NOT_TOLD),
        ),
        "event-with-a-smaller-rate": (
            lambda: with_engine(event=accounted(dataset_size=1024, steps=16)),
            "accountant",
            (Kind.ACCOUNTANT_NOT_TOLD, Kind.SAMPLING_RATE),
        ),
        "batches-in-the-order-of-the-file": (
            lambda: torch_training(loader=DataLoader(records(), batch_size=64)),
            "sampler",
            (Kind.REPEATED_BATCHES, Kind.FIXED_SIZE, Kind.NOT_POISSON),
        ),
        "plain-loader": (
            lambda: torch_training(loader=DataLoader(records(), batch_size=64, shuffle=True)),
            "sampler",
            (Kind.SHUFFLED, Kind.NOT_POISSON, Kind.FIXED_SIZE),
        ),
        "half-of-the-rate-is-told": (
            lambda: torch_training(loader=poisson_loader(size=96)),
            "sampler",
            (Kind.SAMPLING_RATE,),
        ),
        "claim-for-the-other-neighbours": (
            lambda: torch_training(adjacency="replace_one", epsilon=4.1),
            "accountant",
            (Kind.CLAIM_TOO_SMALL,),
        ),
        "delta-of-a-larger-set": (
            lambda: torch_training(delta=0.005),
            "accountant",
            (Kind.DELTA_TOO_LARGE,),
        ),
        "fewer-records-than-told": (
            lambda: torch_training(
                loader=loader_of(DrawnBatches(lambda: poisson_sample(128, 1 / 2)), records())
            ),
            "sampler",
            (Kind.SAMPLING_RATE, Kind.UNEQUAL_RATES),
        ),
        "sums-of-adam-by-hand-are-not-clipped": (
            lambda: SummedAdam(clip=1e9),
            "step",
            (Kind.NO_CLIPPING, Kind.NOISE_TOO_SMALL),
        ),
        "sums-of-adam-by-hand-have-half-the-noise": (
            lambda: SummedAdam(sigma=0.5),
            "step",
            (Kind.NOISE_TOO_SMALL,),
        ),
    }
)

# What adds the gradients of records, or what makes the noise, has one mistake.
STUDENT, LAPLACE = torch.distributions.StudentT(8.0), torch.distributions.Laplace(0.0, 0.5**0.5)
NOISES = {
    "laplace-noise": (Kind.NOISE_NOT_GAUSSIAN, lambda v: LAPLACE.sample(v.shape), nn.ReLU),
    "noise-of-one-row": (
        Kind.NOISE_SHARED, lambda v: torch.randn(v.shape[-1:]).expand_as(v), nn.ReLU
    ),
    "one-number-for-each-parameter": (
        Kind.NOISE_SHARED, lambda v: torch.randn(1).expand_as(v), nn.ReLU
    ),
    "students-noise": (
        Kind.NOISE_NOT_GAUSSIAN, lambda v: 0.75**0.5 * STUDENT.sample(v.shape), None
    ),
    "noise-without-large-draws": (
        Kind.NOISE_NOT_GAUSSIAN, lambda v: (1.03 * torch.randn(v.shape)).clamp(-2.06, 2.06), None
    ),
}  # fmt: skip
SUMS = {
    "summed-without-clipping": (
        (Kind.NO_CLIPPING,), lambda found: {n: v.sum(0) for n, v in found.items()}
    ),
    "clipped-by-value": (
        (Kind.NOISE_TOO_SMALL, Kind.NO_CLIPPING),
        lambda found: {n: v.clamp(-1.0, 1.0).sum(0) for n, v in found.items()},
    ),
    "noise-without-the-norm": ((Kind.NOISE_TOO_SMALL,), lambda found: clipped_sums(found, 4.0)),
    "norm-of-the-last-layer": ((Kind.UNCLIPPED_PARAMETERS,), with_the_norm_of_the_last_layer),
}  # fmt: skip
for name, (kind, draw, layers) in NOISES.items():
    noise = lambda sums, draw=draw: {n: draw(v) for n, v in sums.items()}  # noqa: E731
    BROKEN[name] = (partial(of_parts, noise=noise, layers=layers), "step", (kind,))
for name, (kinds, sums) in SUMS.items():
    BROKEN[name] = (partial(of_parts, sums=sums), "step", kinds)
