"""Correct trainings that change updates after noise, train random parts, or draw users."""

import torch
from torch import nn

from rdpkit import DPSGD
from rdpkit.verification.training.zoo.parts import (
    clipped_sums,
    gradients_of_records,
    mean_of,
    noise_like,
    norms,
    torch_training,
)
from tests.verification.training.correct_loops import FEATURES, LABELS, Loop, samples
from tests.verification.training.correct_trainings import CORRECT, correct, correct_by, private


def noisy(model, batch):
    return private(gradients_of_records(model, batch))


@correct_by(torch_training)
def updates_clipped_after_noise(model, batch):
    """The trainer clips what it is handed once more, at about its usual length."""
    found = noisy(model, batch)
    length = float(torch.cat([value.flatten() for value in found.values()]).norm())
    return {name: value * min(1.0, 0.32 / length) for name, value in found.items()}


@correct_by(torch_training)
def updates_of_random_layers(model, batch):
    """A coin says which layer is trained in a step."""
    layer = "0." if torch.rand(()) < 0.5 else "2."
    found = gradients_of_records(model, batch)
    made = private({n: v for n, v in found.items() if n.startswith(layer)})
    return {n: made.get(n, torch.zeros_like(v[0])) for n, v in found.items()}


@correct_by(torch_training)
def updates_of_random_entries(model, batch):
    found = gradients_of_records(model, batch)
    kept = {n: (torch.rand(v.shape[1:]) < 0.5).float() for n, v in found.items()}
    sums = clipped_sums({n: v * kept[n] for n, v in found.items()})
    noise = {n: kept[n] * v for n, v in noise_like(sums, 1.0).items()}
    return mean_of(sums, noise)


@correct
class UpdatesInASubspace(Loop):
    """Gradients and noise in thirty directions, which are drawn once."""

    def __init__(self):
        super().__init__()
        size = sum(p.numel() for p in self.model.parameters())
        self.basis = torch.linalg.qr(torch.randn(size, 30))[0]

    def noisy(self, batch):
        found = gradients_of_records(self.model, batch)
        flat = torch.cat([value.flatten(1) for value in found.values()], 1) @ self.basis
        total = clipped_sums({"all": flat})["all"] + torch.randn(30)
        made = (self.basis @ total / 64).split([v[0].numel() for v in found.values()])
        shapes = {name: value.shape[1:] for name, value in found.items()}
        return {n: part.view(shapes[n]) for n, part in zip(shapes, made, strict=True)}


@correct
class UpdatesOfAMask(Loop):
    """A network that was pruned: a sixth of all entries are never trained."""

    def __init__(self):
        super().__init__()
        self.kept = {
            n: (torch.rand(p.shape) < 5 / 6).float() for n, p in self.model.named_parameters()
        }

    def noisy(self, batch):
        found = gradients_of_records(self.model, batch)
        sums = clipped_sums({n: v * self.kept[n] for n, v in found.items()})
        noise = {n: self.kept[n] * v for n, v in noise_like(sums, 1.0).items()}
        return mean_of(sums, noise)


class Public(Loop):
    """Each parameter's noisy gradient is a linear function of what it was."""

    def changed(self, gradient):
        raise NotImplementedError

    def update(self, gradients):
        super().update({name: self.changed(value) for name, value in gradients.items()})


@correct
class UpdatesThatAreCentred(Public):
    """As where the sum of each row is kept: noise in fewer directions, by a few percent."""

    def changed(self, gradient):
        return gradient - gradient.mean(0, keepdim=True) if gradient.ndim > 1 else gradient


@correct
class UpdatesTimesRatesOfEntries(Public):
    """Rates that differ by less than draws of the noise show."""

    def changed(self, gradient):
        made = torch.Generator().manual_seed(gradient.numel())
        return gradient * torch.exp(0.3 * torch.randn(gradient.shape, generator=made))


@correct
class UpdatesWithMoreOfTheirMean(Public):
    """The noise is larger along one direction, that of all entries alike."""

    def changed(self, gradient):
        return gradient + 2.0 * gradient.mean()


@correct
class LearningRatesOfLayers(Loop):
    """The last bias, of a few entries, has a rate so large that it is most of an update."""

    def update(self, gradients):
        rates = dict(zip(gradients, (1.0, 5.0, 0.01, 100.0), strict=True))
        super().update({name: rates[name] * value for name, value in gradients.items()})


def bent_after_noise(after):
    """A plain loop in which each noisy gradient is changed by hand, entry by entry or as one."""

    class Bent(Loop):
        def update(self, gradients):
            super().update({name: after(value) for name, value in gradients.items()})

    return Bent()


class AdamByHand(Loop):
    """Adam with a constant that is not small beside the second moment."""

    constant, variance = 1e-2, 0.0

    def __init__(self):
        super().__init__()
        self.first = {n: torch.zeros_like(p) for n, p in self.model.named_parameters()}
        self.second = {n: torch.zeros_like(p) for n, p in self.model.named_parameters()}

    def update(self, gradients):
        t = self.steps + 1
        made = {}
        for name, value in gradients.items():
            first = self.first[name] = 0.9 * self.first[name] + 0.1 * value
            second = self.second[name] = 0.99 * self.second[name] + 0.01 * value**2
            size = second / (1 - 0.99**t) - self.variance
            made[name] = first / (1 - 0.9**t) / (size.clamp(min=1e-4).sqrt() + self.constant)
        super().update(made)


@correct
def updates_of_adam_without_the_variance_of_noise():
    """The second moment less the variance of the noise (Tang, Shpilevskiy, Lecuyer 2024)."""
    made = AdamByHand()
    made.variance = (1 / 64) ** 2
    return made


@correct
class UpdatesScaledByASecondMomentFromBefore(Loop):
    def __init__(self):
        super().__init__()
        self.second = {n: torch.full_like(p, 1e-3) for n, p in self.model.named_parameters()}

    def update(self, gradients):
        for name, value in gradients.items():
            self.second[name] = 0.9 * self.second[name] + 0.1 * value**2
        super().update({n: v / self.second[n].sqrt() for n, v in gradients.items()})


@correct
class NoiseThatIsDrawnBeforeTheFirstStep(Loop):
    def __init__(self):
        super().__init__()
        size = sum(p.numel() for p in self.model.parameters())
        self.noise = [torch.randn(size) for _ in range(40)]
        self.taken = 0

    def noisy(self, batch):
        sums = clipped_sums(gradients_of_records(self.model, batch))
        noise = self.noise[self.taken % 40].split([v.numel() for v in sums.values()])
        self.taken += 1
        return mean_of(sums, {n: z.view_as(sums[n]) for n, z in zip(sums, noise, strict=True)})


class Users(Loop):
    """A hundred users with four records each; a user's gradients are averaged, then clipped."""

    event = DPSGD(noise_multiplier=1.0, dataset_size=100, batch_size=10, epochs=2)
    of_each = 4

    @property
    def loader(self):
        for _ in range(10):
            users = (torch.rand(100) < 0.1).nonzero().flatten()
            places = [4 * user + torch.randperm(4)[: self.of_each] for user in users]
            rows = torch.cat([*places, torch.zeros(0, dtype=torch.long)])
            yield self.changed(FEATURES[rows]), LABELS[rows], rows // 4

    def changed(self, features):
        return features

    def noisy(self, batch):
        found = gradients_of_records(self.model, batch[:2])
        users, whose = torch.unique(batch[2], return_inverse=True)
        weights = nn.functional.one_hot(whose, len(users)).float()
        weights = weights / weights.sum(0)
        means = {n: torch.einsum("nu,n...->u...", weights, v) for n, v in found.items()}
        return private(means, size=10)


@correct
class UsersHandInTwoRecords(Users):
    of_each = 2


@correct
class UsersWithChangedRecords(Users):
    def changed(self, features):
        return features + 0.05 * torch.randn_like(features)


def rated(rate):
    """Poisson samples of all records."""
    return property(lambda _: samples(rate=rate))


@correct
def weights_from_a_seed():
    """The weights are always the same; the noise is not."""
    torch.manual_seed(7)
    made = Loop()
    torch.seed()
    return made


@correct
class NoiseFromAGeneratorOfTheSystem(Loop):
    def __init__(self):
        torch.manual_seed(7)
        super().__init__()
        self.generator = torch.Generator()
        self.generator.seed()

    def noisy(self, batch):
        return private(gradients_of_records(self.model, batch), generator=self.generator)


@correct_by(torch_training)
def public_gradient_added(model, batch):
    found = noisy(model, batch)
    loss = nn.functional.cross_entropy(model(FEATURES[:32]), LABELS[:32].roll(3))
    own = torch.autograd.grad(loss, list(model.parameters()))
    return {n: v + 0.1 * one for (n, v), one in zip(found.items(), own, strict=True)}


@correct
def norms_logged_beside():
    held = {"norm": 0.0}

    def gradients(model, batch):
        held["norm"] = max([0.0, *norms(gradients_of_records(model, batch)).tolist()])
        return noisy(model, batch)

    return torch_training(gradients)


class SummedAdam(Loop):
    """Adam by hand, over what the training's own function returns."""

    def __init__(self, *, clip=1.0, sigma=1.0):
        super().__init__()
        self.norm, self.sigma = clip, sigma
        size = sum(parameter.numel() for parameter in self.model.parameters())
        self.first, self.second = torch.zeros(size), torch.zeros(size)

    def noisy_sum(self, gradients):
        lengths = gradients.norm(dim=1, keepdim=True)
        clipped = gradients * (self.norm / lengths.clamp(min=self.norm))
        return clipped.sum(dim=0) + self.sigma * torch.randn(gradients.shape[1])

    def step(self, batch):
        found = gradients_of_records(self.model, batch)
        made = self.noisy_sum(torch.cat([value.flatten(1) for value in found.values()], 1)) / 64
        self.first = 0.9 * self.first + 0.1 * made
        self.second = 0.99 * self.second + 0.01 * made**2
        moved = self.first / (self.second.sqrt() + 1e-8)
        self.update(
            {
                name: part.view(found[name].shape[1:])
                for name, part in zip(
                    found, moved.split([v[0].numel() for v in found.values()]), strict=True
                )
            }
        )


CORRECT.update(
    {
        "updates-clamped-after-noise": lambda: torch_training(
            lambda model, batch: {n: v.clamp(-0.03, 0.03) for n, v in noisy(model, batch).items()}
        ),
        "updates-clamped-seldom": lambda: torch_training(
            lambda model, batch: {n: v.clamp(-0.045, 0.045) for n, v in noisy(model, batch).items()}
        ),
        "updates-in-bfloat16": lambda: torch_training(
            lambda model, batch: {n: v.bfloat16().float() for n, v in noisy(model, batch).items()}
        ),
        "updates-by-hyperbolic-tangents": lambda: bent_after_noise(
            lambda value: torch.tanh(10.0 * value)
        ),
        "updates-scaled-by-layer": lambda: bent_after_noise(
            lambda value: value / (value.norm() + 0.1)
        ),
        "updates-of-adam-with-a-large-constant": AdamByHand,
        "more-records-than-told-at-the-told-rate": type(
            "More", (Loop,), {"event": Users.event, "loader": rated(0.1)}
        ),
        "adam-by-hand-over-noisy-sums": SummedAdam,
    }
)
