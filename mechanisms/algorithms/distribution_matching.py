"""Distribution matching: NDPDC's non-private ancestor, to compare with."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike
from rdpkit.mechanisms.parts.augmentation import OPERATIONS, check_operations, draw_augmentation
from rdpkit.mechanisms.parts.labelled_images import (
    Progress,
    balanced_labels,
    labelled_images,
    nothing,
)
from rdpkit.mechanisms.parts.noise import NoiseSource
from rdpkit.mechanisms.parts.random_extractor import draw_seed, random_convnet
from rdpkit.mechanisms.releases.release import Release, release

from rdpkit import _validate


def synthesize(
    features: ArrayLike,
    labels: ArrayLike,
    *,
    classes: int,
    iterations: int,
    noise: NoiseSource,
    seed: int,
    initial: ArrayLike | None = None,
    samples_per_class: int = 50,
    batch_size: int = 256,
    learning_rate: float = 1.0,
    momentum: float = 0.5,
    operations: Sequence[str] = OPERATIONS,
    extractor_width: int = 128,
    extractor_depth: int = 3,
    image_shape: tuple[int, int, int] | None = None,
    device: str = "cpu",
    progress: Progress | None = None,
) -> Release:
    """Learn synthetic records whose mean representations are those of real batches.

    Guarantee
    ---------
    None. No noise is added, and means of representations are matched exactly.

    Parameters
    ----------
    features : array of shape (n, channels, height, width), or (n, d) with ``image_shape``
        Pixels in [-1, 1].
    labels : integer array of shape (n,)
        Each class at least once.
    classes : int
        Number of classes.
    iterations : int
        Steps, each with a fresh ConvNet and one batch per class (20000 in the public code).
    noise : NoiseSource
        For the manifest, which every release has; no noise is drawn.
    seed : int
        Decides initial records, extractors, augmentations and batches.
    initial : array of shape (classes, samples_per_class, d), optional
        Where the synthetic records start; otherwise at standard normal numbers.
    samples_per_class : int
        Synthetic records per class.
    batch_size : int
        Real records per class and step, drawn without replacement; the whole class if it is less.
    learning_rate, momentum : float
        Of the step on the synthetic records.
    operations : sequence of str
        Augmentations to draw from; leave out "flip" for digits.
    extractor_width, extractor_depth : int
        Of the ConvNets.
    image_shape : (int, int, int), optional
        Channels, height and width of flat records.
    device : str
        Where torch computes.
    progress : callable, optional
        Called with (done, iterations) after each step.

    Returns
    -------
    Release
        ``classes * samples_per_class`` records, sorted by class; its manifest says that it is not
        private.

    Raises
    ------
    ValueError
        If an argument is out of range or the arrays do not fit together.
    ArithmeticError
        If a synthetic pixel is not finite.

    Source
    ------
    Zhao and Bilen, Dataset Condensation with Distribution Matching (2021), Algorithm 1, from
    random noise as initial records.
    """
    data = labelled_images(features, labels, classes=classes, image_shape=image_shape)
    data.class_sizes()
    _validate.integer("iterations", iterations)
    per_class = _validate.integer("samples_per_class", samples_per_class)
    _validate.integer("batch_size", batch_size)
    rate = _validate.positive("learning_rate", learning_rate)
    _validate.non_negative("momentum", momentum)
    names = check_operations(operations)
    parameters: dict[str, Any] = {
        "iterations": iterations,
        "initial": "drawn" if initial is None else "given",
        "samples_per_class": per_class,
        "batch_size": batch_size,
        "learning_rate": rate,
        "momentum": float(momentum),
        "operations": list(names),
        "extractor_width": extractor_width,
        "extractor_depth": extractor_depth,
        "image_shape": list(data.shape),
        "seed": _validate.integer("seed", seed, minimum=0),
    }
    report = progress or nothing
    generator = torch.Generator().manual_seed(seed)
    start = torch.randn(classes, per_class, *data.shape, generator=generator)
    if initial is not None:
        given = np.asarray(initial, dtype=np.float32)
        wanted = (classes, per_class, math.prod(data.shape))
        if given.shape != wanted or not np.isfinite(given).all():
            raise _validate.fail("initial", f"to be finite numbers of shape {wanted}", given.shape)
        start = torch.from_numpy(given.copy()).reshape(start.shape)
    synthetic = [records.to(device).requires_grad_() for records in start]
    optimizer = torch.optim.SGD(synthetic, lr=rate, momentum=momentum)
    by_class = [data.of_class(label) for label in range(classes)]
    for iteration in range(iterations):
        extractor = random_convnet(
            draw_seed(generator),
            shape=data.shape,
            width=extractor_width,
            depth=extractor_depth,
            device=device,
        )
        optimizer.zero_grad()
        for images, records in zip(by_class, synthetic, strict=True):
            augmentation = draw_augmentation(generator, operations=names)
            chosen = torch.randperm(len(images), generator=generator)[:batch_size].numpy()
            batch = torch.from_numpy(images[chosen]).to(device)
            changed = records
            if augmentation is not None:
                batch, changed = augmentation(batch), augmentation(records)
            with torch.no_grad():
                target = extractor.embed(batch).mean(dim=0)
            loss = (extractor.embed(changed).mean(dim=0) - target).square().sum()
            loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        report(iteration + 1, iterations)
    pixels = torch.cat([records.detach() for records in synthetic]).cpu().numpy()
    return release(
        data.as_given(pixels),
        balanced_labels(classes, per_class),
        event=None,
        delta=None,
        adjacency=None,
        mechanism="distribution_matching",
        parameters=parameters,
        noise=noise,
        notes=("not private: the mean representations of real batches are matched without noise",),
    )


__all__ = ["synthesize"]
