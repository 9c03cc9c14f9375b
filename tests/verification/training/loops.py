"""A plain training loop for tests, and ways to break it."""

import torch
from torch import nn

import rdpkit

RECORDS, BATCH, STEPS = 256, 16, 32


class PlainLoop:
    """DP-SGD as one writes it by hand: clip each gradient, add, noise, divide, step."""

    adjacency = "add_or_remove_one"
    delta = 1e-5
    clip_norm = 1.0
    sigma = 1.0

    def __init__(self):
        made = torch.Generator().manual_seed(0)
        self.features = torch.randn(RECORDS, 12, generator=made)
        self.labels = torch.randint(0, 3, (RECORDS,), generator=made)
        self.records = list(zip(self.features, self.labels, strict=True))
        self.model = self.network()
        self.opt = torch.optim.SGD(self.model.parameters(), lr=0.1, momentum=0.9)
        self.loss = nn.CrossEntropyLoss()
        self.event = rdpkit.DPSGD(
            noise_multiplier=self.sigma, dataset_size=RECORDS, batch_size=BATCH, steps=STEPS
        )
        self.t = 0

    def network(self):
        return nn.Sequential(nn.Linear(12, 24), nn.ReLU(), nn.Linear(24, 3))

    @property
    def loader(self):
        for _ in range(RECORDS // BATCH):
            chosen = torch.rand(RECORDS) < BATCH / RECORDS
            yield self.features[chosen], self.labels[chosen]

    def gradients(self, features, labels):
        for place in range(len(features)):
            loss = self.loss(self.model(features[place : place + 1]), labels[place : place + 1])
            yield torch.autograd.grad(loss, list(self.model.parameters()))

    def clipped(self, gradient):
        norm = torch.sqrt(sum((part**2).sum() for part in gradient))
        return [part * min(1.0, self.clip_norm / (float(norm) + 1e-9)) for part in gradient]

    def total(self, gradients):
        parts = [torch.zeros_like(parameter) for parameter in self.model.parameters()]
        for gradient in gradients:
            parts = [one + two for one, two in zip(parts, self.clipped(gradient), strict=True)]
        return parts

    def noise(self, parameter):
        return self.sigma * self.clip_norm * torch.randn_like(parameter)

    def divisor(self, count):
        return BATCH

    def step(self, batch):
        features, labels = batch
        self.t += 1
        total = self.total(self.gradients(features, labels))
        for parameter, part in zip(self.model.parameters(), total, strict=True):
            parameter.grad = (part + self.noise(parameter)) / self.divisor(len(features))
        self.opt.step()


class DoesNotClip(PlainLoop):
    def clipped(self, gradient):
        return list(gradient)


class LeavesBiasesUnclipped(PlainLoop):
    def clipped(self, gradient):
        weights = [part for part in gradient if part.ndim > 1]
        norm = torch.sqrt(sum((part**2).sum() for part in weights))
        share = min(1.0, self.clip_norm / (float(norm) + 1e-9))
        return [part * share if part.ndim > 1 else part for part in gradient]


class AddsNoNoise(PlainLoop):
    def noise(self, parameter):
        return torch.zeros_like(parameter)


class SeedsEveryStepAlike(PlainLoop):
    def step(self, batch):
        torch.manual_seed(7)
        super().step(batch)


class SeedsByTheStep(PlainLoop):
    def noise(self, parameter):
        own = torch.Generator().manual_seed(self.t)
        return self.sigma * self.clip_norm * torch.randn(parameter.shape, generator=own)


class TakesWholeBatchesOnly(PlainLoop):
    """Correct; its four micro-batches have four records each, and no other batch will do."""

    def __init__(self):
        super().__init__()
        self.event = rdpkit.DPSGD(
            noise_multiplier=self.sigma,
            dataset_size=RECORDS,
            batch_size=BATCH,
            steps=STEPS,
            sampling="fixed-size",
        )

    @property
    def loader(self):
        for _ in range(RECORDS // BATCH):
            chosen = torch.randperm(RECORDS)[:BATCH]
            yield self.features[chosen], self.labels[chosen]

    def step(self, batch):
        parts = [part.view(4, 4, *part.shape[1:]) for part in batch]
        gradients = [
            gradient
            for features, labels in zip(*parts, strict=True)
            for gradient in self.gradients(features, labels)
        ]
        total = self.total(gradients)
        for parameter, part in zip(self.model.parameters(), total, strict=True):
            parameter.grad = (part + self.noise(parameter)) / BATCH
        self.opt.step()


class TakesWholeBatchesAndClipsThese(TakesWholeBatchesOnly):
    def total(self, gradients):
        mean = [torch.stack(parts).mean(dim=0) for parts in zip(*gradients, strict=True)]
        return self.clipped(mean)


class TakesWholeBatchesWithHalfTheNoise(TakesWholeBatchesOnly):
    def noise(self, parameter):
        return super().noise(parameter) / 2.0
