"""What the zoo is made of: its entries, small data and models, gradients of each record."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import ConcatDataset, DataLoader, Dataset, TensorDataset

from rdpkit import DPSGD
from rdpkit.adjacency import Adjacency
from rdpkit.verification.blackbox.mistakes import MistakeKind
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
    told: dict[str, Any] = {
        "noise_multiplier": NOISE,
        "dataset_size": RECORDS,
        "batch_size": BATCH,
        "epochs": EPOCHS,
    }
    if "steps" in changed:
        del told["epochs"]
    return DPSGD(**{**told, **changed})


def loss_of_one(model: nn.Module) -> Callable[[Gradients, Tensor, Tensor], Tensor]:
    """The loss of one record, as a function of the parameters."""

    def loss(parameters: Gradients, features: Tensor, label: Tensor) -> Tensor:
        output = torch.func.functional_call(model, parameters, (features.unsqueeze(0),))
        return nn.functional.cross_entropy(output, label.unsqueeze(0))

    return loss


def gradients_of_records(model: nn.Module, batch: Sequence[Tensor]) -> Gradients:
    """The gradient of each record, one along the first axis."""
    features, labels = batch
    parameters = {name: value.detach() for name, value in model.named_parameters()}
    if len(labels) == 0:
        return {name: value.new_zeros(0, *value.shape) for name, value in parameters.items()}
    one = torch.func.grad(loss_of_one(model))
    found = torch.func.vmap(one, in_dims=(None, 0, 0))(parameters, features, labels)
    return dict(found)


def norms(gradients: Gradients) -> Tensor:
    """The L2 norm of the gradient of each record, over all parameters."""
    squares = [value.flatten(1).square().sum(1) for value in gradients.values()]
    return torch.stack(squares).sum(0).sqrt()


def clipped_sums(gradients: Gradients, norm: float | Tensor = NORM) -> Gradients:
    """The sum of the gradients of all records, each clipped to an L2 norm."""
    factors = (norm / norms(gradients).clamp(min=1e-12)).clamp(max=1.0)
    return {name: torch.einsum("n,n...->...", factors, value) for name, value in gradients.items()}


def noise_like(sums: Gradients, std: float, generator: torch.Generator | None = None) -> Gradients:
    """Independent normal noise for each parameter."""
    return {
        name: std * torch.randn(value.shape, generator=generator) for name, value in sums.items()
    }


def mean_of(sums: Gradients, noise: Gradients, size: float = BATCH) -> Gradients:
    """Sums with noise, divided by the size of a batch."""
    return {name: (sums[name] + noise[name]) / size for name in sums}


def dp_sgd_gradients(model: nn.Module, batch: Sequence[Tensor]) -> Gradients:
    """The noisy mean gradient of DP-SGD, without a mistake."""
    sums = clipped_sums(gradients_of_records(model, batch))
    return mean_of(sums, noise_like(sums, STD))


class PoissonBatches:
    """Positions of the records of each batch: every record joins each batch independently."""

    def __init__(
        self,
        records: int,  # How many there are
        rate: float,  # The probability with which a record joins a batch
        batches: int,  # How many batches an epoch has
    ) -> None:
        self.records, self.rate, self.batches = records, rate, batches

    def __iter__(self) -> Iterator[list[int]]:
        for _ in range(self.batches):
            yield (torch.rand(self.records) < self.rate).nonzero().flatten().tolist()

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
    batches = PoissonBatches(len(data), size / count, count // size)  # type: ignore[arg-type]
    return loader_of(batches, data)


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
            "max_grad_norm": NORM,
            **fields,
        }
    )
