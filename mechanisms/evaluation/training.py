"""Training a classifier on released records, and its accuracy on real ones.

Everything here is post-processing of a release. The only real records in use are the test records
on which an accuracy is measured.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from rdpkit import _validate
from rdpkit.mechanisms.parts.threads import training_threads
from rdpkit.mechanisms.releases.computation import Progress

Augment = Callable[[torch.Tensor, torch.Generator], torch.Tensor]
"""Changes a batch of images at random, drawing from the generator."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """How a classifier is trained."""

    # Passes over the records; records in one step.
    epochs: int
    batch_size: int
    optimizer: Literal["adam", "sgd"] = "adam"
    """Adam with its usual moments, or stochastic gradient descent with ``momentum``."""
    learning_rate: float = 1e-3  # Learning rate at the start
    # Momentum of "sgd"; weight decay of either optimizer.
    momentum: float = 0.9
    weight_decay: float = 0.0
    schedule: Literal["constant", "step", "cosine"] = "constant"
    """"step" multiplies the learning rate by ``step_factor`` after every ``step_epochs`` epochs;
    "cosine" lets it fall to zero.
    """
    # Parameters of the schedule "step".
    step_epochs: int = 10
    step_factor: float = 0.5
    loss: Literal["cross-entropy", "kl"] = "cross-entropy"
    """"kl" takes soft labels: negative ones count as 0, and rows are divided by their sum."""
    validation_fraction: float = 0.0
    """Share of the *released* records that is held back to choose the best epoch; 0 for none."""
    patience: int | None = None
    """Training stops after this many epochs without a better validation accuracy."""
    keep: Literal["best", "last"] = "best"
    """Whether the model has the weights of the epoch with the best validation accuracy, where
    records are held back, or of the last one.
    """
    augmentation: Literal["none", "dsa"] = "none"  # "dsa": differentiable siamese augmentation

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_size", "step_epochs"):
            _validate.integer(name, getattr(self, name))
        _validate.choice("optimizer", self.optimizer, ("adam", "sgd"))
        _validate.choice("schedule", self.schedule, ("constant", "step", "cosine"))
        _validate.choice("loss", self.loss, ("cross-entropy", "kl"))
        _validate.choice("keep", self.keep, ("best", "last"))
        _validate.choice("augmentation", self.augmentation, ("none", "dsa"))
        _validate.positive("learning_rate", self.learning_rate)
        _validate.positive("step_factor", self.step_factor)
        _validate.non_negative("weight_decay", self.weight_decay)
        if not 0.0 <= _validate.non_negative("momentum", self.momentum) < 1.0:
            raise _validate.fail("momentum", "in [0, 1)", self.momentum)
        if _validate.non_negative("validation_fraction", self.validation_fraction) >= 1.0:
            raise _validate.fail("validation_fraction", "in [0, 1)", self.validation_fraction)
        if self.patience is not None:
            _validate.integer("patience", self.patience)
            if self.validation_fraction == 0.0:
                raise _validate.fail(
                    "patience", "only where validation_fraction is above 0", self.patience
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class Trained:
    """The outcome of training."""

    epochs: int  # Epochs run; fewer than asked for if training stopped early
    best_epoch: int  # The epoch, counted from 1, whose weights the model has
    losses: tuple[float, ...]  # Mean training loss of each epoch


@contextmanager
def seeded(seed: int, device: str = "cpu") -> Iterator[None]:
    """Let a seed decide torch's own randomness (initial weights, dropout) inside of the block."""
    devices = [torch.device(device)] if device.startswith("cuda") else []
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(seed)
        yield


def best_device() -> str:
    """The name of the device to train on: "cuda" where torch finds a GPU, otherwise "cpu"."""
    return "cuda" if torch.cuda.is_available() else "cpu"


def soft_labels(
    # Noisy rows may have negative values and any sum. A row without a positive value becomes
    # uniform. Shape (n,).
    labels: NDArray[Any],
    classes: int,
) -> NDArray[np.float32]:  # Shape (n, classes)
    """Labels as distributions: integers become one-hot rows, and rows become shares."""
    if labels.ndim == 1:
        rows = np.zeros((len(labels), classes), np.float32)
        rows[np.arange(len(labels)), labels.astype(np.int64)] = 1.0
        return rows
    if labels.ndim != 2 or labels.shape[1] != classes or np.isnan(labels).any():
        raise _validate.fail("labels", f"to be numbers of shape (n, {classes})", labels.shape)
    rows = np.maximum(labels.astype(np.float32), 0.0)
    total = rows.sum(axis=1, keepdims=True)
    uniform = np.float32(1.0 / classes)
    shares: NDArray[np.float32] = np.where(total > 0, rows / np.where(total > 0, total, 1), uniform)
    return shares


@training_threads()
def train(
    model: nn.Module,  # Maps (n, channels, height, width) to logits; moved to ``device``
    images: NDArray[np.float32],  # Released records; shape (n, channels, height, width)
    # With the loss "cross-entropy", a row counts as the label with its largest value; shape (n,)
    labels: NDArray[Any],
    *,
    settings: Training,  # How to train
    classes: int,  # Number of labels
    # Seed of the split, of the order of records and of the augmentation. The block :func:`seeded`
    # decides initial weights and dropout, and should enclose both the model's construction and this
    # call.
    seed: int,
    device: str = "cpu",  # "cpu", "cuda" or "cuda:0" and the like
    augment: Augment | None = None,  # Required where ``settings.augmentation`` is not "none"
    progress: Progress | None = None,  # Called after each epoch, with how many are done and of all
) -> Trained:
    """Train a model in place."""
    if images.ndim != 4 or len(images) != len(labels) or not len(images):
        raise _validate.fail(
            "images", f"to be ({len(labels)}, channels, height, width)", images.shape
        )
    if not np.isfinite(images).all():
        raise _validate.fail("images", "to be finite", "NaN or infinity among them")
    if settings.augmentation != "none" and augment is None:
        raise _validate.fail("augment", f"to do {settings.augmentation!r}", augment)
    generator = torch.Generator().manual_seed(seed)
    x = torch.from_numpy(np.ascontiguousarray(images))
    y = _targets(labels, classes, settings.loss)
    order = torch.randperm(len(x), generator=generator)
    held = round(len(x) * settings.validation_fraction)
    if settings.validation_fraction > 0.0 and not 1 <= held < len(x):
        raise _validate.fail(
            "validation_fraction",
            f"to leave records on both sides of {len(x)}",
            settings.validation_fraction,
        )
    judged = y[order[:held]] if y.ndim == 1 else y[order[:held]].argmax(dim=1)
    x, y = x.to(device), y.to(device)
    validation, training = order[:held].to(device), order[held:]
    model.to(device)
    optimizer = _optimizer(model, settings)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, partial(_rate, settings))
    losses: list[float] = []
    best: tuple[int, int, dict[str, Any] | None] = (-1, 0, None)  # Right answers, epoch, weights
    for epoch in range(1, settings.epochs + 1):
        model.train()
        losses.append(
            _epoch(
                model, x, y, training, optimizer=optimizer, settings=settings, generator=generator,
                augment=augment,
            )
        )  # fmt: skip
        schedule.step()
        if progress is not None:
            progress(epoch, settings.epochs)
        if held:
            right = int((predicted(model, x[validation], settings.batch_size) == judged).sum())
            if right > best[0]:
                kept = copy.deepcopy(model.state_dict()) if settings.keep == "best" else None
                best = (right, epoch, kept)
            elif settings.patience is not None and epoch - best[1] >= settings.patience:
                break
    if best[2] is not None:
        model.load_state_dict(best[2])
    ended = best[1] if best[2] is not None else len(losses)
    return Trained(epochs=len(losses), best_epoch=ended, losses=tuple(losses))


def accuracy(
    model: nn.Module,
    # Records, prepared as those that the model was trained on; shape (n, channels, height, width)
    images: NDArray[np.float32],
    labels: NDArray[np.int64],  # Shape (n,)
    *,
    device: str = "cpu",
) -> float:  # In [0, 1]
    """Share of records whose largest logit is at their label."""
    if not len(images) or len(images) != len(labels):
        raise _validate.fail("images", f"to be {len(labels)} records, at least one", images.shape)
    model.to(device)
    said = predicted(model, torch.from_numpy(np.ascontiguousarray(images)), device=device)
    return int((said == torch.from_numpy(labels)).sum()) / len(labels)


def _targets(labels: NDArray[Any], classes: int, loss: str) -> torch.Tensor:
    if loss == "kl":
        return torch.from_numpy(soft_labels(labels, classes))
    hard = labels.argmax(axis=1) if labels.ndim == 2 else labels
    if hard.ndim != 1 or hard.dtype.kind not in "iu" or hard.min() < 0 or hard.max() >= classes:
        raise _validate.fail("labels", f"to be integers in [0, {classes - 1}]", hard)
    return torch.from_numpy(hard.astype(np.int64))


def _optimizer(model: nn.Module, settings: Training) -> torch.optim.Optimizer:
    rate, decay = settings.learning_rate, settings.weight_decay
    if settings.optimizer == "adam":
        return torch.optim.Adam(model.parameters(), lr=rate, weight_decay=decay)
    return torch.optim.SGD(
        model.parameters(), lr=rate, momentum=settings.momentum, weight_decay=decay
    )


def _rate(settings: Training, epoch: int) -> float:
    """The learning rate of an epoch, counted from 0, over that of the first one."""
    if settings.schedule == "step":
        return float(settings.step_factor ** (epoch // settings.step_epochs))
    if settings.schedule == "cosine":
        return 0.5 * (1.0 + math.cos(math.pi * epoch / settings.epochs))
    return 1.0


def _epoch(
    model: nn.Module,
    x: torch.Tensor,
    y: torch.Tensor,
    records: torch.Tensor,
    *,
    optimizer: torch.optim.Optimizer,
    settings: Training,
    generator: torch.Generator,
    augment: Augment | None,
) -> float:
    shuffled = records[torch.randperm(len(records), generator=generator)].to(x.device)
    total, counted = 0.0, 0
    for start in range(0, len(shuffled), settings.batch_size):
        batch = shuffled[start : start + settings.batch_size]
        # Batch normalisation has no variance of a single record, so a last batch of one record is
        # left out.
        if len(batch) == 1 and len(shuffled) > 1:
            continue
        images = x[batch]
        if augment is not None:
            images = augment(images, generator)
        logits = model(images)
        if settings.loss == "kl":
            loss = nn.functional.kl_div(
                nn.functional.log_softmax(logits, dim=1), y[batch], reduction="batchmean"
            )
        else:
            loss = nn.functional.cross_entropy(logits, y[batch])
        optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        total += float(loss.detach()) * len(batch)
        counted += len(batch)
    if not math.isfinite(total):
        raise ValueError(
            "Expected the training loss to stay finite, got NaN or infinity: "
            "lower the learning rate, or scale the records."
        )
    return total / counted


def predicted(
    model: nn.Module,
    x: torch.Tensor,  # Records; shape (n, channels, height, width)
    batch_size: int = 500,
    device: str | None = None,  # Where the model is; None if the records are there, too
) -> torch.Tensor:  # Shape (n,)
    """The number of the largest logit of each record."""
    model.eval()
    found = []
    with torch.no_grad():
        for images in torch.split(x, batch_size):
            logits = model(images if device is None else images.to(device)).cpu()
            if bool(torch.isnan(logits).any()):
                raise ValueError("Expected the model's logits to be numbers, got NaN.")
            found.append(logits.argmax(dim=1))
    return torch.cat(found)
