"""Distribution matching, which NDPDC makes private: a baseline without privacy."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import ArrayLike

from rdpkit import _validate
from rdpkit.mechanisms.algorithms.specification import Mechanism
from rdpkit.mechanisms.parts.augmentation import draw_augmentation
from rdpkit.mechanisms.parts.labelled_images import (
    Floats,
    LabelledImages,
    balanced_labels,
    labelled_images,
)
from rdpkit.mechanisms.parts.networks import CondensationOptions
from rdpkit.mechanisms.parts.noise import NoiseSource
from rdpkit.mechanisms.parts.threads import training_threads
from rdpkit.mechanisms.releases.computation import ON_PROCESSOR, Computation
from rdpkit.mechanisms.releases.release import Release, release_without_guarantee


@dataclass(frozen=True, slots=True, kw_only=True)
class DistributionMatchingOptions(CondensationOptions):
    """Options of distribution matching, besides those of every such method.

    The public code takes 20000 iterations.
    """

    batch_size: int = 256
    """Real records per class and step, drawn without replacement; at most the whole class."""
    momentum: float = 0.5  # Momentum of the step on the synthetic records

    def __post_init__(self) -> None:
        CondensationOptions.__post_init__(self)
        _validate.integer("batch_size", self.batch_size)


def synthesize(
    features: ArrayLike,
    labels: ArrayLike,
    *,
    classes: int,
    options: DistributionMatchingOptions,
    noise: NoiseSource,
    seed: int,
    initial: ArrayLike | None = None,
    image_shape: tuple[int, int, int] | None = None,
    computation: Computation = ON_PROCESSOR,
) -> Release:
    """Learn synthetic records whose mean representations are those of real batches.

    Arguments: see :class:`rdpkit.mechanisms.algorithms.specification.Mechanism`. The seed decides
    the initial records, extractors, augmentations and batches; ``initial``, of shape (classes,
    samples_per_class, d), are other initial records. Returns ``classes * samples_per_class``
    records, sorted by class; its manifest says that it is not private.

    Guarantee
    ---------
    None. No noise is added, and means of representations are matched exactly.

    Source
    ------
    Zhao and Bilen, Dataset Condensation with Distribution Matching (2021), Algorithm 1, from
    random noise as initial records.
    """
    data = labelled_images(features, labels, classes=classes, image_shape=image_shape)
    if min(data.class_sizes()) == 0:
        raise _validate.fail("labels", f"to hold each of 0, ..., {classes - 1}", data.class_sizes())
    parameters = options.as_parameters(shape=data.shape, seed=seed)
    per_class = options.samples_per_class
    generator = torch.Generator().manual_seed(seed)
    start = torch.randn(classes, per_class, *data.shape, generator=generator)
    if initial is not None:
        given = np.asarray(initial, dtype=np.float32)
        wanted = (classes, per_class, math.prod(data.shape))
        if given.shape != wanted or not np.isfinite(given).all():
            raise _validate.fail("initial", f"to be finite numbers of shape {wanted}", given.shape)
        start = torch.from_numpy(given.copy()).reshape(start.shape)
    return release_without_guarantee(
        data.as_given(_learned(start, data, options, generator, computation)),
        balanced_labels(classes, per_class),
        mechanism=SPEC.name,
        parameters={
            **parameters,
            "iterations": options.iterations,
            "initial": "drawn" if initial is None else "given",
            "batch_size": options.batch_size,
        },
        notes=("not private: the mean representations of real batches are matched without noise",),
        noise=noise,
    )


@training_threads()
def _learned(
    start: torch.Tensor,
    data: LabelledImages,
    options: DistributionMatchingOptions,
    generator: torch.Generator,
    computation: Computation,
) -> Floats:
    """The synthetic records after all steps, sorted by class."""
    device = computation.torch_device
    synthetic = [records.to(device).requires_grad_() for records in start]
    optimizer = torch.optim.SGD(synthetic, lr=options.learning_rate, momentum=options.momentum)
    by_class = [data.of_class(label) for label in range(data.classes)]
    for iteration in range(options.iterations):
        extractor = options.draw_extractor(generator, shape=data.shape, device=device)
        optimizer.zero_grad()
        for images, records in zip(by_class, synthetic, strict=True):
            augmentation = draw_augmentation(generator, operations=options.operations)
            order = torch.randperm(len(images), generator=generator)
            chosen = order[: options.batch_size].numpy()
            batch = torch.from_numpy(images[chosen]).to(device)
            changed = records
            if augmentation is not None:
                batch, changed = augmentation(batch), augmentation(records)
            with torch.no_grad():
                target = extractor.embed(batch).mean(dim=0)
            loss = (extractor.embed(changed).mean(dim=0) - target).square().sum()
            loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        computation.report(iteration + 1, options.iterations)
    pixels: Floats = torch.cat([records.detach() for records in synthetic]).cpu().numpy()
    return pixels


SPEC = Mechanism(
    name="distribution-matching",
    synthesize=synthesize,
    options=DistributionMatchingOptions,
    features="signed",
)
