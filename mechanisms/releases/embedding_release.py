"""Releases of noisy mean embeddings, which DP-MERF and DP-HP make with different features."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from rdpkit import Adjacency, Event, Gaussian, _validate
from rdpkit.mechanisms.parts.counts import NUMBER_BY_CLASS, Sizes
from rdpkit.mechanisms.parts.labelled_images import (
    LabelledImages,
    balanced_labels,
    labelled_images,
)
from rdpkit.mechanisms.parts.mean_embedding import (
    Counts,
    FeatureMap,
    Fit,
    match_means,
    noisy_sums,
)
from rdpkit.mechanisms.parts.noise import NoiseSource
from rdpkit.mechanisms.parts.privacy import Privacy
from rdpkit.mechanisms.parts.records import Batch
from rdpkit.mechanisms.parts.verify_target import (
    LabelledRecords,
    VerifyTarget,
    on_one_thread,
    one_more_record,
)
from rdpkit.mechanisms.releases.computation import Computation
from rdpkit.mechanisms.releases.parameters import as_parameters
from rdpkit.mechanisms.releases.release import Release, release

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

    def counts(self, classes: int) -> Counts:
        """How class counts become known."""
        return Counts.of(self.public_counts, self.count_noise_std, classes=classes)


def embedding_event(options: EmbeddingOptions, class_sizes: Sizes, dimension: int) -> Event:
    """The event of the noisy sums, and of the noisy counts where the options ask for some."""
    return options.counts(len(class_sizes)).event(noise_std=options.noise_std)


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
    counts = options.counts(data.classes)
    known = None
    if counts.public is None and counts.noise_std is None:
        known = privacy.known_counts(data.class_sizes(), NUMBER_BY_CLASS)
    event = counts.event(noise_std=options.noise_std)
    _validate.integer("seed", seed, minimum=0)
    generator = torch.Generator().manual_seed(seed)
    feature_map = draw_features(generator)
    device = computation.torch_device
    noisy = noisy_sums(
        data, feature_map, noise_std=options.noise_std, noise=privacy.noise, device=device
    )
    sizes = counts.draw(data, privacy.noise) if known is None else np.array(known.sizes)
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
            "public_counts": None if counts.public is None else list(counts.public),
            "image_shape": list(data.shape),
            "seed": seed,
        },
        notes=counts.notes(),
        checks=counts.checks(),
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
