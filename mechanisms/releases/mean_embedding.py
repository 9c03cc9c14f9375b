"""Noisy class-wise mean embeddings, released once, and a generator that is trained to match them.

DP-MERF and DP-HP have this in common; they differ in the features.

Sensitivity
-----------
Let phi be a feature map that depends on no private record, with ||phi(x)|| <= 1. The released
vector is the sum over records of e_y (x) phi(x): one row of features per class, and a record
touches the row of its label only.

* Add or remove one record: the sum moves by ||phi(x)|| <= 1.
* Replace (x, y) by (x', y') with y = y': one row moves by ||phi(x) - phi(x')|| <= 2.
* Replace with y != y': two rows move, by at most sqrt(||phi(x)||^2 + ||phi(x')||^2) <= sqrt(2).

So the sensitivity is 1 under add-or-remove-one and 2 under replace-one. Class counts, where they
are released too, move by ||e_y|| = 1 under add-or-remove-one and by at most
||e_y - e_y'|| = sqrt(2) under replace-one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from rdpkit import Adjacency, Composed, Event, Gaussian, _validate
from rdpkit.mechanisms.parts.checks import source_checks
from rdpkit.mechanisms.parts.counts import NUMBER_BY_CLASS
from rdpkit.mechanisms.parts.labelled_images import (
    Floats,
    LabelledImages,
    balanced_labels,
    labelled_images,
)
from rdpkit.mechanisms.parts.networks import draw_codes, draw_network, draw_seed, generate
from rdpkit.mechanisms.parts.noise import NoiseSource
from rdpkit.mechanisms.parts.privacy import Privacy
from rdpkit.mechanisms.parts.records import Batch
from rdpkit.mechanisms.parts.threads import training_threads
from rdpkit.mechanisms.parts.verify_target import (
    LabelledRecords,
    VerifyTarget,
    on_one_thread,
    one_more_record,
)
from rdpkit.mechanisms.releases.computation import Computation
from rdpkit.mechanisms.releases.release import Release, release
from rdpkit.mechanisms.releases.streaming import as_parameters

Embedding = NDArray[np.float64]
FeatureMap = Callable[[torch.Tensor], torch.Tensor]
"""Images (n, channels, height, width) to features (n, size) with rows of norm at most 1."""

# Norms are kept this far below 1. The rounding error of a sum of 10^6 records in double precision
# is at most 10^-9, which is much less than this margin.
_MARGIN = 1e-6
_ROWS = 500  # Records whose features are computed at once


def class_sums(
    data: LabelledImages,
    feature_map: FeatureMap,  # Chosen without looking at the data
    *,
    device: str,  # Where the features are computed
) -> Embedding:  # Shape (classes, size)
    """Sum the features of each class in double precision, with norm at most 1 for each record.

    Raises ArithmeticError if a feature is not finite.
    """
    total: torch.Tensor | None = None
    with torch.no_grad():
        # Without any record, one empty batch gives zeros.
        for start in range(0, max(1, len(data.images)), _ROWS):
            images = torch.from_numpy(data.images[start : start + _ROWS]).double().to(device)
            labels = torch.from_numpy(data.labels[start : start + _ROWS]).to(device)
            features = feature_map(images)
            norms = features.norm(dim=1, keepdim=True)
            if not bool(torch.isfinite(norms).all()):
                raise ArithmeticError("A feature is not a finite number; its norm has no bound.")
            # Norms are at most 1 by construction. This keeps them below 1 in spite of rounding.
            features = features * ((1.0 - _MARGIN) / norms.clamp(min=1.0 - _MARGIN))
            if total is None:
                total = torch.zeros(
                    data.classes, features.shape[1], dtype=torch.float64, device=device
                )
            total.index_add_(0, labels, features)
    assert total is not None  # there is at least one batch
    found: Embedding = total.cpu().numpy()
    return found


def noisy_sums(
    data: LabelledImages,
    feature_map: FeatureMap,
    *,
    noise_std: float,
    noise: NoiseSource,
    device: str,
) -> Embedding:  # Shape (classes, size)
    """:func:`class_sums` plus N(0, noise_std^2 I), which may be released."""
    sums = class_sums(data, feature_map, device=device)
    return sums + noise.normal(sums.shape, std=noise_std)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """Settings of the generator's training, which does not touch the data."""

    iterations: int = 3000  # Steps of Adam
    batch_size: int = 100  # Generated images a step, divided evenly among the classes (rounded up)
    learning_rate: float = 0.01  # Learning rate of the first steps
    # The learning rate is multiplied by ``decay`` every so many steps.
    decay: float = 0.9
    decay_every: int = 600
    code_size: int = 5  # Length of the generator's code

    def __post_init__(self) -> None:
        for name in ("iterations", "batch_size", "decay_every", "code_size"):
            _validate.integer(name, getattr(self, name))
        for name in ("learning_rate", "decay"):
            _validate.positive(name, getattr(self, name))


@training_threads()
def match_means(
    means: Embedding,  # Noisy mean features of each class; shape (classes, size)
    feature_map: FeatureMap,  # The map with which the means were made
    *,
    shape: tuple[int, int, int],  # Channels, height and width of an image
    fit: Fit,
    samples_per_class: int,  # How many images of each class to return
    generator: torch.Generator,  # Public randomness for weights and codes
    device: str,
    progress: Callable[[int, int], None],  # Called with (done, iterations)
) -> Floats:  # Shape (classes * samples_per_class, channels, height, width), in [-1, 1]
    """Train a generator until its classes have the released means, and sample from it.

    This is post-processing of ``means``.
    """
    classes = len(means)
    target = torch.from_numpy(means).float().to(device)
    network = draw_network(
        draw_seed(generator), shape=shape, classes=classes, code_size=fit.code_size, device=device
    )
    network.train()
    optimizer = torch.optim.Adam(network.parameters(), lr=fit.learning_rate)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, fit.decay_every, fit.decay)
    each = max(math.ceil(fit.batch_size / classes), 2)
    labels = torch.from_numpy(balanced_labels(classes, each)).to(device)
    for step in range(fit.iterations):
        optimizer.zero_grad()
        images = network(draw_codes(generator, len(labels), network, device), labels)
        generated = feature_map(images).reshape(classes, each, -1).mean(dim=1)
        loss = (generated - target).square().sum()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        schedule.step()
        progress(step + 1, fit.iterations)
    return generate(
        network, samples_per_class=samples_per_class, generator=generator, device=device
    )


# Releases of noisy mean embeddings, which DP-MERF and DP-HP make with different features.

_PUBLIC_COUNTS = "class counts were given as public knowledge and are not accounted for"
FIVE_EPOCHS = Fit()
"""Five epochs of 60000 records in batches of 100."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingOptions:
    """Options of every mechanism that releases noisy class-wise sums of features."""

    noise_std: float  # Standard deviation of the noise on each coordinate of the sums
    public_counts: Sequence[int] | None = None
    """Class counts that are public already; the manifest says that they were given."""
    count_noise_std: float | None = None
    """Gaussian noise on each class count, instead of ``public_counts``. Without both options, class
    counts become known as ``privacy.counts`` says.
    """
    samples_per_class: int = 50  # Synthetic records per class
    fit: Fit = FIVE_EPOCHS  # How the generator is trained

    def __post_init__(self) -> None:
        _validate.integer("samples_per_class", self.samples_per_class)
        public, noise_std = self.public_counts, self.count_noise_std
        if public is not None and noise_std is not None:
            raise _validate.fail(
                "public_counts and count_noise_std",
                "to be one of them and not the other, or neither",
                (public, noise_std),
            )
        if public is not None:
            counts = _validate.integers("public_counts", public)
            object.__setattr__(self, "public_counts", counts)
        if noise_std is not None:
            checked = _validate.positive("count_noise_std", noise_std)
            object.__setattr__(self, "count_noise_std", checked)

    def event(self, classes: int) -> Event:
        """What is released: noisy sums, and noisy counts of the classes where there are any."""
        public = self.public_counts
        if public is not None and len(public) != classes:
            raise _validate.fail("public_counts", f"to be {classes} integers", list(public))
        sums = Gaussian(noise_std=self.noise_std, record_norm=1.0)
        if self.count_noise_std is None:
            return sums
        diameter = math.nextafter(math.sqrt(2.0), 2.0)
        counts = Gaussian(noise_std=self.count_noise_std, record_norm=1.0, record_diameter=diameter)
        return Composed(events=(sums, counts))


def class_counts(
    data: LabelledImages, options: EmbeddingOptions, noise: NoiseSource
) -> NDArray[np.float64]:  # Shape (classes,)
    """Numbers to divide by, each at least 1, where the options say how they become known."""
    if options.public_counts is not None:
        return np.array(options.public_counts, dtype=np.float64)
    assert options.count_noise_std is not None
    exact = np.array(data.class_sizes(), dtype=np.float64)
    return np.maximum(exact + noise.normal(exact.shape, std=options.count_noise_std), 1.0)


def release_embedding(
    data: LabelledImages,  # The private records
    # Makes the feature map from public randomness.
    draw_features: Callable[[torch.Generator], FeatureMap],
    *,
    options: EmbeddingOptions,  # Options of the mechanism
    privacy: Privacy,  # Delta and adjacency of the guarantee, and the source of the noise
    seed: int,  # Seed of the public randomness
    mechanism: str,  # Name of the mechanism
    computation: Computation,  # Device and progress
) -> Release:
    """Release noisy sums of features once, and sample from a generator that matches them."""
    event, public = options.event(data.classes), options.public_counts
    known = None
    if public is None and options.count_noise_std is None:
        known = privacy.known_counts(data.class_sizes(), NUMBER_BY_CLASS)
    _validate.integer("seed", seed, minimum=0)
    generator = torch.Generator().manual_seed(seed)
    feature_map = draw_features(generator)
    device = computation.torch_device
    noisy = noisy_sums(
        data, feature_map, noise_std=options.noise_std, noise=privacy.noise, device=device
    )
    sizes = np.array(known.sizes) if known else class_counts(data, options, privacy.noise)
    images = match_means(
        noisy / sizes[:, None],
        feature_map,
        shape=data.shape,
        fit=options.fit,
        samples_per_class=options.samples_per_class,
        generator=generator,
        device=device,
        progress=computation.report,
    )
    parameters = as_parameters(options)
    for name in ("noise_std", "count_noise_std"):  # the event states them
        del parameters[name]
    return release(
        data.as_given(images),
        balanced_labels(data.classes, options.samples_per_class),
        event=event,
        privacy=privacy,
        mechanism=mechanism,
        tested_as=mechanism,
        device=computation.device,
        parameters={
            **parameters,
            "image_shape": list(data.shape),
            "seed": seed,
        },
        notes=() if public is None else (_PUBLIC_COUNTS,),
        checks=() if known else source_checks({"class counts": "stated" if public else "paid"}),
        counts=known,
    )


def embedding_target(make_features: Callable[[], FeatureMap]) -> VerifyTarget:
    """Noisy class-wise sums of the features of images of four pixels, for ``rdpkit verify``."""
    event = Gaussian(noise_std=1.0, record_norm=1.0)

    def prepare(dataset: LabelledRecords) -> tuple[LabelledImages, FeatureMap]:
        images = labelled_images(dataset.features, dataset.labels, classes=2, image_shape=(1, 2, 2))
        return images, make_features()

    def run(prepared: tuple[LabelledImages, FeatureMap], noise: NoiseSource) -> list[Batch]:
        data, feature_map = prepared
        sums = noisy_sums(data, feature_map, noise_std=event.noise_std, noise=noise, device="cpu")
        return [(sums, np.arange(2))]

    return VerifyTarget(
        event=event,
        adjacency=Adjacency.ADD_OR_REMOVE_ONE,
        prepare=prepare,
        run=on_one_thread(run),
        dimension=4,
        pair=one_more_record,
    )
