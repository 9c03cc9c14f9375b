"""A training with Opacus, as its manual shows it, for the entries of the zoo that use it."""

from __future__ import annotations

import warnings
from typing import Any

import torch
from opacus import PrivacyEngine
from torch import nn
from torch.utils.data import DataLoader, Dataset

from rdpkit.verification.training.opacus import opacus_training
from rdpkit.verification.training.trainer import PrivateTraining
from rdpkit.verification.training.zoo.parts import (
    BATCH,
    DELTA,
    EPOCHS,
    NOISE,
    NORM,
    perceptron,
    records,
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
