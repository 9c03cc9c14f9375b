"""Correct trainings whose batches have other shapes, and whose steps make other updates as well."""

import math
import random

import numpy as np
import torch

from rdpkit import Gaussian, Repeated
from rdpkit.verification.training.zoo.parts import gradients_of_records
from tests.verification.training.correct_loops import FEATURES, LABELS, Loop, said_by
from tests.verification.training.correct_trainings import CORRECT, correct, private

ROWS = 104


def joined():
    """The positions of a Poisson sample."""
    return (torch.rand(512) < 1 / 8).nonzero().flatten()


class Weighted(Loop):
    """Rows have weights, which are 0 for those that fill a batch up to one shape."""

    def noisy(self, batch):
        features, labels, weights = batch
        found = gradients_of_records(self.model, (features, labels))
        shapes = {name: (-1, *[1] * (value.ndim - 1)) for name, value in found.items()}
        found = {name: value * weights.view(shapes[name]) for name, value in found.items()}
        return private(found)


class Filled(Weighted):
    """Batches of one shape: the positions of a sample, and then others to fill it up."""

    filling = 0

    @property
    def loader(self):
        for _ in range(8):
            places = joined()
            rest = torch.full((ROWS - len(places),), self.filling)
            yield self.batch(torch.cat([places, rest]), len(places))

    def batch(self, places, drawn):
        return FEATURES[places], LABELS[places], (torch.arange(ROWS) < drawn).float()


@correct
class BatchesFilledUpWithZeros(Filled):
    def batch(self, places, drawn):
        features, labels, weights = super().batch(places, drawn)
        return features * weights[:, None], labels * weights.long(), weights


@correct
class BatchesOfPositionsFilledUp(Filled):
    filling = -1

    def batch(self, places, drawn):
        return places

    def noisy(self, places):
        return super().noisy((FEATURES[places], LABELS[places], (places >= 0).float()))


@correct
class BatchesAreListsOfRecords(Loop):
    @property
    def loader(self):
        for batch in super().loader:
            yield [{"label": int(y), "features": x} for x, y in zip(*batch, strict=True)]

    def noisy(self, batch):
        features = [one["features"] for one in batch] or [torch.zeros(0, 20)]
        stacked = torch.stack(features) if batch else features[0]
        return super().noisy((stacked, torch.tensor([one["label"] for one in batch]).long()))


@correct
class BatchesOfPlainNumbers:
    event, adjacency, delta = Loop.event, "add_or_remove_one", 1e-5

    def __init__(self):
        self.weights = [0.0] * 20

    def parameters(self):
        return {"weights": np.array(self.weights)}

    @property
    def loader(self):
        features, targets = FEATURES.tolist(), LABELS.tolist()
        for _ in range(8):
            places = [place for place in range(512) if random.random() < 1 / 8]
            yield [features[place] for place in places], [targets[place] for place in places]

    def step(self, batch):
        total = [random.gauss(0.0, 1.0) for _ in range(20)]
        for row, target in zip(*batch, strict=True):
            wrong = sum(x * w for x, w in zip(row, self.weights, strict=True)) - target
            length = max(1.0, abs(wrong) * math.sqrt(sum(x * x for x in row)))
            total = [t + wrong * x / length for t, x in zip(total, row, strict=True)]
        self.weights = [w - 0.1 * t / 64 for w, t in zip(self.weights, total, strict=True)]


@correct
class ModelInBfloat16(Loop):
    def __init__(self):
        super().__init__()
        self.model = self.model.bfloat16()

    @property
    def loader(self):
        for features, labels in super().loader:
            yield features.bfloat16(), labels

    def noisy(self, batch):
        found = gradients_of_records(self.model, batch)
        return private({name: value.float() for name, value in found.items()})


class Optimised(Loop):
    """Private updates of an optimiser, beside those from public records."""

    before = True

    def __init__(self):
        super().__init__()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)

    def private(self, batch):
        made = self.noisy(batch)
        for name, parameter in self.model.named_parameters():
            parameter.grad = made[name]
        self.optimizer.step()

    def public(self):
        self.optimizer.zero_grad()
        rows = torch.linspace(-1.0, 1.0, 320).view(16, 20)
        self.model(rows).square().mean().backward()
        self.optimizer.step()

    def step(self, batch):
        if self.before:
            self.public()
        self.private(batch)
        if not self.before:
            self.public()


@correct
def public_updates_in_a_training_function():
    made = Optimised()

    class Loader:
        def __iter__(self):
            return Loop.loader.fget(made)

    loader = Loader()

    def train():
        for _ in range(2):
            for batch in loader:
                made.step(batch)

    own = said_by(made, "model", "optimizer")
    return {"step": made.step, "loader": loader, "train": train, **own}


@correct
class CentresOfClusters:
    """Noisy sums over noisy counts, of all records."""

    event = Repeated(event=Gaussian(noise_std=6.0, record_norm=2**0.5), count=5)
    adjacency, delta = "add_or_remove_one", 1e-5

    def __init__(self):
        self.centres = np.random.default_rng(0).normal(size=(3, 20))
        self.rng = np.random.default_rng()

    def parameters(self):
        return {"centres": self.centres}

    @property
    def loader(self):
        yield FEATURES.numpy().astype(float)

    def step(self, rows):
        rows = rows / np.maximum(1.0, np.linalg.norm(rows, axis=1))[:, None]
        apart = ((rows[:, None] - self.centres[None]) ** 2).sum(axis=2)
        nearest = np.eye(3)[apart.argmin(axis=1)]
        counts = nearest.sum(axis=0) + self.rng.normal(0.0, 6.0, 3)
        sums = nearest.T @ rows + self.rng.normal(0.0, 6.0, (3, 20))
        self.centres = sums / np.maximum(counts, 20.0)[:, None]


@correct
class MeanOfThisUpdateAndTheLast(Loop):
    last = None

    def noisy(self, batch):
        made, last = super().noisy(batch), self.last
        self.last = made
        return made if last is None else {n: 0.5 * (made[n] + last[n]) for n in made}


@correct
class SlowAverageOfUpdates(Loop):
    rate = 10.0
    kept = None

    def noisy(self, batch):
        made = super().noisy(batch)
        kept = self.kept or {name: torch.zeros_like(value) for name, value in made.items()}
        self.kept = {name: 0.99 * kept[name] + 0.01 * made[name] for name in made}
        return self.kept


CORRECT.update(
    {
        "batches-filled-up-with-a-record": Filled,
        "public-updates-before": Optimised,
        "public-updates-after": type("After", (Optimised,), {"before": False}),
        # One for the ascent and one for the descent, each with the square root of two as noise.
        "two-updates-of-a-batch-that-are-paid": type(
            "Ascending",
            (Optimised,),
            {
                "sigma": 2**0.5,
                "step": lambda self, batch: (self.private(batch), self.private(batch)),
            },
        ),
    }
)
