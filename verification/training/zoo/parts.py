"""What the zoo is made of: entries, small data and models, trainings in torch, numpy, Opacus."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from opacus import PrivacyEngine
from torch import Tensor, nn
from torch.utils.data import ConcatDataset, DataLoader, Dataset, TensorDataset

from rdpkit import DPSGD
from rdpkit.adjacency import Adjacency
from rdpkit.verification.blackbox.mistakes import MistakeKind
from rdpkit.verification.training.opacus import opacus_training
from rdpkit.verification.training.trainer import PrivateTraining

Gradients = dict[str, Tensor]
"""A tensor for each parameter: its gradient, or with a first axis the gradients of records."""

RECORDS, FEATURES, CLASSES = 512, 20, 4
BATCH, EPOCHS = 64, 2
NORM, NOISE = 1.0, 1.0
DELTA = 1e-5
STD = NORM * NOISE
"""Standard deviation of the noise on a sum of gradients that are clipped to NORM."""


Maker = Callable[[], PrivateTraining]
Trainings = dict[str, tuple[Maker, Maker]]
"""For each mistake, what makes the training with it, and without it."""


def with_and_without(make: Callable[..., PrivateTraining], **values: Any) -> tuple[Maker, Maker]:
    """Two trainings that differ by one argument: its value with the mistake, and without it."""
    ((name, (broken, fixed)),) = values.items()
    return partial(make, **{name: broken}), partial(make, **{name: fixed})


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingZooEntry:
    """A mistake in a training, with the code that makes it and the code that does not."""

    name: str  # Of the broken training; the one without the mistake is called ``NAME-fixed``
    mistake: str  # What is wrong, as a sentence
    correction: str  # What the repaired training does instead
    seen_in: str  # Where the mistake was reported
    check: str  # The check that finds it: "step", "sampler", "accountant" or "run"
    kinds: tuple[MistakeKind, ...]  # What says what is wrong, the most exact name first
    style: str  # How the training is written: "opacus", "torch" or "numpy"
    broken: Maker  # Makes the training with the mistake
    fixed: Maker  # Makes it without


def records(count: int = RECORDS, seed: int = 1) -> TensorDataset:
    """Records of four overlapping classes, always the same ones."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(CLASSES, (count,), generator=generator)
    centres = 1.5 * torch.randn(CLASSES, FEATURES, generator=torch.Generator().manual_seed(0))
    features = centres[labels] + torch.randn(count, FEATURES, generator=generator)
    return TensorDataset(features, labels)


def perceptron() -> nn.Module:
    """A model with one hidden layer."""
    return nn.Sequential(nn.Linear(FEATURES, 16), nn.Tanh(), nn.Linear(16, CLASSES))


def accounted(**changed: Any) -> DPSGD:
    """What the accountant is told of the trainings here, apart from what is given."""
    told = {"noise_multiplier": NOISE, "dataset_size": RECORDS, "batch_size": BATCH}
    duration = {} if "steps" in changed else {"epochs": EPOCHS}
    return DPSGD(**{**told, **duration, **changed})


def gradients_of_records(model: nn.Module, batch: Sequence[Tensor]) -> Gradients:
    """The gradient of each record, one along the first axis."""
    features, labels = batch
    parameters = {name: value.detach() for name, value in model.named_parameters()}
    if len(labels) == 0:
        return {name: value.new_zeros(0, *value.shape) for name, value in parameters.items()}

    def loss(given: Gradients, one: Tensor, label: Tensor) -> Tensor:
        output = torch.func.functional_call(model, given, (one.unsqueeze(0),))
        return nn.functional.cross_entropy(output, label.unsqueeze(0))

    each = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))
    return dict(each(parameters, features, labels))


def norms(gradients: Gradients) -> Tensor:
    """The L2 norm of the gradient of each record, over all parameters."""
    squares = [value.flatten(1).square().sum(1) for value in gradients.values()]
    return torch.stack(squares).sum(0).sqrt()


def clipped_sums(gradients: Gradients, norm: float | Tensor = NORM) -> Gradients:
    """The sum of the gradients of all records, each clipped to an L2 norm."""
    factors = (norm / norms(gradients).clamp(min=1e-12)).clamp(max=1.0)
    return {name: torch.einsum("n,n...->...", factors, value) for name, value in gradients.items()}


def noise_like(
    sums: Gradients, std: float = STD, generator: torch.Generator | None = None
) -> Gradients:
    """Independent normal noise for each parameter."""
    return {
        name: std * torch.randn(value.shape, generator=generator) for name, value in sums.items()
    }


def mean_of(sums: Gradients, noise: Gradients, size: float = BATCH) -> Gradients:
    """Sums with noise, divided by the size of a batch."""
    return {name: (sums[name] + noise[name]) / size for name in sums}


def private_gradients(
    sums: Callable[[Gradients], Gradients] = clipped_sums,
    noise: Callable[[Gradients], Gradients] = noise_like,
) -> Callable[[nn.Module, Sequence[Tensor]], Gradients]:
    """Noisy means, from what adds the gradients of records and from what makes the noise."""

    def gradients(model: nn.Module, batch: Sequence[Tensor]) -> Gradients:
        total = sums(gradients_of_records(model, batch))
        return mean_of(total, noise(total))

    return gradients


dp_sgd_gradients = private_gradients()
"""The noisy mean gradient of DP-SGD, without a mistake."""


def poisson_sample(
    count: int = RECORDS, rate: float | Tensor = BATCH / RECORDS, **more: Any
) -> Tensor:
    """The positions of a batch, which every record joins independently."""
    return (torch.rand(count, **more) < rate).nonzero().flatten()


class DrawnBatches:
    """Batches of positions that a function draws, as many in each epoch."""

    def __init__(self, draw: Callable[[], Tensor], batches: int = RECORDS // BATCH) -> None:
        self.draw, self.batches = draw, batches

    def __iter__(self) -> Iterator[list[int]]:
        return (self.draw().tolist() for _ in range(self.batches))

    def __len__(self) -> int:
        return self.batches


def collated(rows: Sequence[Any]) -> tuple[Tensor, Tensor]:
    """Records as a batch, which may be empty."""
    if not rows:
        return torch.zeros(0, FEATURES), torch.zeros(0, dtype=torch.long)
    return torch.stack([row[0] for row in rows]), torch.stack([row[1] for row in rows])


def loader_of(batches: Iterable[list[int]], dataset: Dataset[Any]) -> DataLoader[Any]:
    """A loader of given batches."""
    return DataLoader(dataset, batch_sampler=batches, collate_fn=collated)


def poisson_loader(
    dataset: Dataset[Any] | None = None, *, size: int = BATCH, count: int = RECORDS
) -> DataLoader[Any]:
    """A loader of Poisson samples at the rate ``size / count``, whatever the data set holds."""
    data = records() if dataset is None else dataset
    draw = partial(poisson_sample, len(data), size / count)  # type: ignore[arg-type]
    return loader_of(DrawnBatches(draw, count // size), data)


def torch_training(
    # ``gradients(model, batch)`` returns what the optimiser is handed.
    gradients: Callable[[nn.Module, Sequence[Tensor]], Gradients] = dp_sgd_gradients,
    *,
    model: nn.Module | None = None,  # A small perceptron by default
    loader: DataLoader[Any] | None = None,  # Poisson samples by default
    optimizer: Callable[..., torch.optim.Optimizer] = torch.optim.SGD,  # The class of the optimiser
    # Further fields of :class:`rdpkit.verification.training.trainer.PrivateTraining`.
    **fields: Any,
) -> PrivateTraining:
    """A training in plain torch whose noisy gradients come from a function."""
    trained = perceptron() if model is None else model
    inner = optimizer(trained.parameters(), lr=0.1)
    batches = poisson_loader() if loader is None else loader

    def step(batch: Sequence[Tensor]) -> None:
        noisy = gradients(trained, batch)
        for name, parameter in trained.named_parameters():
            parameter.grad = noisy[name]
        inner.step()

    def losses(batch: Sequence[Tensor]) -> Tensor:
        with torch.no_grad():
            output = trained(batch[0])
            return nn.functional.cross_entropy(output, batch[1], reduction="none")

    def with_records(extra: Sequence[Any]) -> PrivateTraining:
        # A list of records, or a batch of them.
        rows: Any = extra if isinstance(extra, list) else list(zip(*extra, strict=True))
        joined: Dataset[Any] = ConcatDataset([batches.dataset, rows])
        return torch_training(
            gradients, loader=poisson_loader(joined), optimizer=optimizer, **fields
        )

    return PrivateTraining(
        **{
            "step": step,
            "loader": batches,
            "event": accounted(),
            "adjacency": Adjacency.ADD_OR_REMOVE_ONE,
            "delta": DELTA,
            "model": trained,
            "optimizer": inner,
            "losses": losses,
            "with_records": with_records if model is None and loader is None else None,
            **fields,
        }
    )


Vector = NDArray[np.float64]


class NumpyTraining:
    """DP-SGD for logistic regression, written out."""

    batch_size, epochs, norm, noise_multiplier = 64, 2, 1.0, 1.0

    def __init__(self) -> None:
        made = np.random.default_rng(3)
        self.labels = made.integers(0, 2, 512).astype(np.float64)
        self.features = made.normal(size=(512, 20)) + 0.5 * self.labels[:, None]
        self.weights = np.zeros(20)
        self.bias = np.zeros(1)
        # A seed of the checks repeats what is drawn.
        self.generator = np.random.default_rng(int(torch.randint(2**40, ())))

    def __iter__(self) -> Iterator[tuple[Vector, Vector]]:
        """The batches of an epoch: Poisson samples."""
        for places in self.places():
            yield self.features[places], self.labels[places]

    def places(self) -> Iterator[NDArray[np.intp]]:
        """The positions of the records of each batch of an epoch."""
        count = len(self.labels)
        for _ in range(count // self.batch_size):
            yield np.flatnonzero(self.generator.random(count) < self.batch_size / count)

    def step(self, batch: tuple[Vector, Vector]) -> None:
        """One noisy update."""
        features, labels = batch
        error = 1.0 / (1.0 + np.exp(-(features @ self.weights + self.bias[0]))) - labels
        rows = np.concatenate([error[:, None] * features, error[:, None]], axis=1)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        total = (rows * np.minimum(1.0, self.norm / np.maximum(lengths, 1e-12))).sum(axis=0)
        mean = (total + self.noise(total.shape)) / self.batch_size
        self.weights = self.weights - 0.5 * mean[:-1]
        self.bias = self.bias - 0.5 * mean[-1:]

    def noise(self, shape: tuple[int, ...]) -> Vector:
        """Noise for the sum of clipped gradients."""
        return np.asarray(self.generator.normal(0.0, self.noise_multiplier * self.norm, shape))

    def parameters(self) -> dict[str, Vector]:
        """What has been learnt."""
        return {"weights": self.weights, "bias": self.bias}

    def losses(self, batch: tuple[Vector, Vector]) -> Vector:
        """The loss of each record."""
        features, labels = batch
        signs = np.where(labels > 0.5, -1.0, 1.0)
        return np.asarray(np.logaddexp(0.0, signs * (features @ self.weights + self.bias[0])))

    def training(self) -> PrivateTraining:
        """The training, with what the accountant is told."""
        return PrivateTraining(
            step=self.step,
            loader=self,
            event=accounted(
                noise_multiplier=self.noise_multiplier,
                batch_size=self.batch_size,
                epochs=self.epochs,
            ),
            adjacency=Adjacency.ADD_OR_REMOVE_ONE,
            delta=DELTA,
            parameters=self.parameters,
            records=(self.features, self.labels),
            indices=self.places,
            losses=self.losses,
            objects=(self,),
            name=type(self).__name__,
        )


def private_parts(
    dataset: Dataset[Any] | None = None, *, shuffle: bool = False, **options: Any
) -> tuple[Any, Any, Any, PrivacyEngine]:
    """Model, optimiser, loader and engine after ``make_private``, with options for it."""
    model = perceptron()
    given: dict[str, Any] = {"noise_multiplier": NOISE, "max_grad_norm": NORM, **options}
    with warnings.catch_warnings():
        # Opacus warns of generators that are not secure, and of what later versions will do.
        warnings.simplefilter("ignore")
        engine = PrivacyEngine()
        made = engine.make_private(
            module=model,
            optimizer=torch.optim.SGD(model.parameters(), lr=0.1),
            data_loader=DataLoader(
                records() if dataset is None else dataset, batch_size=BATCH, shuffle=shuffle
            ),
            **given,
        )
    return (*made, engine)


def trained_with_opacus(
    parts: tuple[Any, Any, Any, PrivacyEngine] | None = None, **more: Any
) -> PrivateTraining:
    """The usual training with what :func:`private_parts` returned, or returns."""
    model, optimizer, loader, engine = parts or private_parts()
    duration = {} if "steps" in more or "event" in more else {"epochs": EPOCHS}
    return opacus_training(
        model=model,
        optimizer=optimizer,
        loader=loader,
        engine=engine,
        loss=nn.CrossEntropyLoss(),
        **{"delta": DELTA, **duration, **more},
    )
