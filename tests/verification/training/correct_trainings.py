"""Correct trainings in the styles in which people write them: none of them may be rejected."""

import functools
import math
import re
import warnings

import numpy as np
import torch
from opacus import PrivacyEngine
from opacus.layers import DPLSTM
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from rdpkit import DPSGD
from rdpkit.verification.training.opacus import opacus_training
from rdpkit.verification.training.trainer import PrivateTraining
from rdpkit.verification.training.zoo.parts import (
    DrawnBatches,
    NumpyTraining,
    accounted,
    clipped_sums,
    gradients_of_records,
    loader_of,
    mean_of,
    noise_like,
    poisson_loader,
    poisson_sample,
    records,
    torch_training,
)
from rdpkit.verification.training.zoo.trainings import BagOfWords, sentences

CORRECT = {}


def entry(make, by=None):
    """The name in the table of a function or a class, and what makes its training."""
    if by is not None:
        made = functools.partial(by, make)
    elif isinstance(make, type) and issubclass(make, NumpyTraining):
        made = lambda: make().training()  # noqa: E731
    else:
        made = make
    return re.sub("_|(?<!^)(?=[A-Z])", "-", make.__name__).lower(), made


def correct(make):
    """Add a maker to the table."""
    CORRECT.update([entry(make)])
    return make


def correct_by(by):
    """Add what is made by a function from another one, such as one that returns gradients."""
    return lambda make: CORRECT.update([entry(make, by)])


def private(found, clip=1.0, noise=1.0, size=64, generator=None):
    """The noisy mean of gradients of records that are clipped to a norm."""
    sums = clipped_sums(found, clip)
    return mean_of(sums, noise_like(sums, noise, generator), size)


def images(count=512):
    made = torch.Generator().manual_seed(5)
    labels = torch.randint(4, (count,), generator=made)
    pictures = torch.randn(count, 1, 8, 8, generator=made) + 0.4 * labels[:, None, None, None]
    return TensorDataset(pictures, labels)


def network(*middle):
    return nn.Sequential(nn.Linear(20, 24), *(middle or (nn.ReLU(),)), nn.Linear(24, 4))


def convolutional():
    return nn.Sequential(
        nn.Conv2d(1, 4, 3),
        nn.GroupNorm(2, 4),
        nn.ReLU(),
        nn.AvgPool2d(2),
        nn.Flatten(),
        nn.Linear(36, 4),
    )


def with_engine(
    model=None,
    data=None,
    *,
    optimizer=torch.optim.SGD,
    accountant="rdp",
    loss=None,
    shuffle=False,
    options=None,
    **more,
):
    """A training with Opacus, with options for ``make_private``."""
    model = network() if model is None else model
    criterion = nn.CrossEntropyLoss() if loss is None else loss
    arguments = {"noise_multiplier": 1.0, "max_grad_norm": 1.0, **(options or {})}
    ghost = arguments.get("grad_sample_mode") == "ghost"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        engine = PrivacyEngine(accountant=accountant)
        made = engine.make_private(
            module=model,
            optimizer=optimizer(model.parameters(), lr=0.05),
            data_loader=DataLoader(
                records() if data is None else data, batch_size=64, shuffle=shuffle
            ),
            **arguments,
            **({"criterion": criterion} if ghost else {}),
        )
    model, inner, loader = made[0], made[1], made[-1]
    return opacus_training(
        model=model,
        optimizer=inner,
        loader=loader,
        loss=made[2] if ghost else criterion,
        engine=engine,
        delta=1e-5,
        **({} if "event" in more else {"epochs": 2}),
        **more,
    )


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(30, 6)
        self.state = DPLSTM(6, 8, batch_first=True)
        self.output = nn.Linear(8, 4)

    def forward(self, words):
        return self.output(self.state(self.words(words))[0][:, -1])


@correct
def opacus_frozen_layer():
    model = network()
    for parameter in model[0].parameters():
        parameter.requires_grad_(False)
    return with_engine(model)


def stepped(made, step, **changed):
    """The same training, that says little of itself, with another step."""
    fields = {
        name: getattr(made, name)
        for name in ("loader", "event", "delta", "model", "optimizer", "accountant", "adjacency")
    }
    return PrivateTraining(**{"step": step, **fields, **changed})


@correct
def opacus_physical_batches():
    made = with_engine()
    model, optimizer = made.model, made.optimizer
    criterion = nn.CrossEntropyLoss()

    def step(batch):
        features, labels = batch
        count = max(1, math.ceil(len(labels) / 16))
        for place in range(count):
            part = slice(16 * place, 16 * (place + 1))
            optimizer.signal_skip_step(place < count - 1)
            optimizer.zero_grad()
            criterion(model(features[part]), labels[part]).backward()
            optimizer.step()

    return stepped(made, step)


@correct
def torch_dropout():
    model = network(nn.ReLU(), nn.Dropout(0.5))

    def gradients(trained, batch):
        names, parameters = zip(*trained.named_parameters(), strict=True)
        losses = nn.functional.cross_entropy(trained(batch[0]), batch[1], reduction="none")
        rows = [torch.autograd.grad(loss, parameters, retain_graph=True) for loss in losses]
        found = {
            name: torch.stack([row[place] for row in rows])
            if rows
            else torch.zeros(0, *parameters[place].shape)
            for place, name in enumerate(names)
        }
        return private(found)

    return torch_training(gradients, model=model)


@correct_by(torch_training)
def torch_noise_of_the_system(model, batch):
    sums = clipped_sums(gradients_of_records(model, batch))
    rng = np.random.default_rng()
    noise = {
        name: torch.as_tensor(rng.normal(0.0, 1.0, value.shape), dtype=value.dtype)
        for name, value in sums.items()
    }
    return mean_of(sums, noise)


@correct_by(torch_training)
def torch_augmented(model, batch):
    seen = [batch[0] + 0.1 * torch.randn_like(batch[0]), batch[1]]
    return private(gradients_of_records(model, seen))


@correct_by(torch_training)
def torch_always_normed(model, batch):
    found = gradients_of_records(model, batch)
    squares = [value.flatten(1).square().sum(1) for value in found.values()]
    factors = 1.0 / (torch.stack(squares).sum(0).sqrt() + 0.01)
    sums = {name: torch.einsum("n,n...->...", factors, v) for name, v in found.items()}
    return mean_of(sums, noise_like(sums, 1.0))


@correct
def torch_large_model():
    model = nn.Sequential(nn.Linear(20, 300), nn.Tanh(), nn.Linear(300, 100), nn.Linear(100, 4))
    return torch_training(model=model)


def _double_loader():
    features, labels = records().tensors
    return poisson_loader(TensorDataset(features.double(), labels))


@correct
def torch_truncated():
    def cut():
        batch = poisson_sample()
        return batch[torch.randperm(len(batch))[:72]]

    return torch_training(
        loader=loader_of(DrawnBatches(cut), records()),
        event=accounted(sampling="truncated-poisson", max_batch_size=72),
    )


def _whole(model, batch):
    return private(gradients_of_records(model, batch), noise=4.0, size=512)


class Handmade:
    """One record after the other, and no optimiser of torch."""

    event = DPSGD(noise_multiplier=1.2, dataset_size=512, batch_size=32, epochs=1)
    adjacency, delta, name = "add_or_remove_one", 1e-5, "handmade"

    def __init__(self):
        self.model = network(nn.Sigmoid())
        self.loader = poisson_loader(size=32)
        self.rate = 0.2

    def step(self, batch):
        total = [torch.zeros_like(p) for p in self.model.parameters()]
        for x, y in zip(*batch, strict=True):
            self.model.zero_grad()
            nn.functional.cross_entropy(self.model(x[None]), y[None]).backward()
            length = torch.cat([p.grad.flatten() for p in self.model.parameters()]).norm()
            for held, p in zip(total, self.model.parameters(), strict=True):
                held.add_(p.grad * min(1.0, 0.7 / (float(length) + 1e-9)))
        with torch.no_grad():
            for held, p in zip(total, self.model.parameters(), strict=True):
                held.add_(torch.normal(0.0, 1.2 * 0.7, held.shape))
                p.sub_(self.rate * held / 32)
        self.rate *= 0.99


class Regression(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(20, 1)

    def forward(self, features):
        return self.inner(features).squeeze(-1)


@correct
def opacus_regression():
    features, labels = records().tensors
    return with_engine(Regression(), TensorDataset(features, labels.float()), loss=nn.MSELoss())


@correct
def dictionary_batches():
    inner = torch_training()
    features, labels = records().tensors
    data = [{"input": x, "target": y} for x, y in zip(features, labels, strict=True)]
    loader = DataLoader(data, batch_sampler=DrawnBatches(poisson_sample))
    step = lambda batch: inner.step((batch["input"], batch["target"]))  # noqa: E731
    return stepped(inner, step, loader=loader, objects=(inner,))


@correct
def scheduler_and_counter():
    made = torch_training(optimizer=torch.optim.Adam)
    schedule = torch.optim.lr_scheduler.StepLR(made.optimizer, 3, 0.5)
    seen = {"steps": 0}

    def step(batch):
        made.step(batch)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            schedule.step()
        seen["steps"] += 1

    return stepped(made, step)


CORRECT.update(
    {
        "opacus-poisson": with_engine,
        "opacus-convolutional-adam": lambda: with_engine(
            convolutional(), images(), optimizer=torch.optim.Adam
        ),
        "opacus-momentum": lambda: with_engine(
            optimizer=lambda parameters, lr: torch.optim.SGD(
                parameters, lr=lr, momentum=0.9, weight_decay=1e-3
            )
        ),
        "opacus-per-layer": lambda: with_engine(
            options={"clipping": "per_layer", "max_grad_norm": [0.5, 0.5, math.sqrt(0.3), 0.4]}
        ),
        "opacus-sum-of-losses": lambda: with_engine(
            loss=nn.CrossEntropyLoss(reduction="sum"), options={"loss_reduction": "sum"}
        ),
        "opacus-large-norm-small-noise": lambda: with_engine(
            options={"max_grad_norm": 10.0, "noise_multiplier": 0.6}
        ),
        "opacus-embedding": lambda: with_engine(BagOfWords(), sentences()),
        "opacus-prv": lambda: with_engine(accountant="prv"),
        "opacus-functorch": lambda: with_engine(options={"grad_sample_mode": "functorch"}),
        "opacus-ghost": lambda: with_engine(options={"grad_sample_mode": "ghost"}),
        "opacus-dropout": lambda: with_engine(network(nn.ReLU(), nn.Dropout(0.3))),
        "opacus-lstm": lambda: with_engine(Reader(), sentences()),
        "opacus-shuffled": lambda: with_engine(
            shuffle=True,
            options={"poisson_sampling": False},
            event=accounted(sampling="shuffle"),
        ),
        "torch-adam": lambda: torch_training(optimizer=torch.optim.Adam),
        "torch-double": lambda: torch_training(
            model=nn.Sequential(nn.Linear(20, 4).double()), loader=_double_loader()
        ),
        "torch-fixed-size": lambda: torch_training(
            loader=loader_of(DrawnBatches(lambda: torch.randperm(512)[:64]), records()),
            event=accounted(sampling="fixed-size"),
            adjacency="replace_one",
        ),
        "torch-shuffled": lambda: torch_training(
            loader=DataLoader(records(), batch_size=64, shuffle=True),
            event=accounted(sampling="shuffle"),
        ),
        "torch-whole-batches": lambda: torch_training(
            _whole,
            loader=DataLoader(records(), batch_size=512),
            event=accounted(batch_size=512, noise_multiplier=4.0, epochs=10),
        ),
        "handmade": Handmade,
        "numpy-logistic": lambda: NumpyTraining().training(),
        "replace-one-claim": lambda: torch_training(adjacency="replace_one"),
    }
)
