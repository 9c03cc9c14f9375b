"""DP-MERF: noisy mean embeddings in random Fourier features, and a generator that matches them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from numpy.typing import ArrayLike

from rdpkit import _validate
from rdpkit.mechanisms.algorithms.specification import Mechanism
from rdpkit.mechanisms.parts.counts import NUMBER_BY_CLASS
from rdpkit.mechanisms.parts.labelled_images import labelled_images
from rdpkit.mechanisms.parts.privacy import Privacy
from rdpkit.mechanisms.releases.computation import ON_PROCESSOR, Computation
from rdpkit.mechanisms.releases.mean_embedding import (
    EmbeddingOptions,
    embedding_target,
    release_embedding,
)
from rdpkit.mechanisms.releases.release import Release


class RandomFourierFeatures:
    """Cosines and sines of random projections, whose inner products are near a Gaussian kernel.

    phi(x) = (cos(w_j . p), sin(w_j . p)) / sqrt(size / 2), with p the pixels moved to [0, 1] and
    w_j ~ N(0, I / squared_length_scale). So phi(x) . phi(x') is near
    exp(-|p - p'|^2 / (2 squared_length_scale)), and the norm |phi(x)| is exactly 1.
    """

    def __init__(
        self,
        *,
        size: int,  # Number of features, even
        dimension: int,  # Number of pixels of an image, in all channels
        # Squared length scale of the kernel, for pixels in [0, 1]. It must be a constant, because a
        # scale that is computed from the data (such as a median of distances) is a private
        # statistic.
        squared_length_scale: float,
        generator: torch.Generator,  # Public randomness for the projections
        device: str = "cpu",  # Where features are computed
    ) -> None:
        if _validate.integer("features_size", size, minimum=2) % 2:
            raise _validate.fail("features_size", "to be even", size)
        scale = _validate.positive("squared_length_scale", squared_length_scale)
        draws = torch.randn(dimension, size // 2, generator=generator, dtype=torch.float64)
        self._projections = (draws / math.sqrt(scale)).to(device)
        self._single = self._projections.float()
        self._norm = math.sqrt(2.0 / size)

    def __call__(self, images: torch.Tensor) -> torch.Tensor:
        """Features of shape (n, size), in the precision of the images."""
        pixels = (images.flatten(1) + 1.0) / 2.0
        double = images.dtype == torch.float64
        angles = pixels @ (self._projections if double else self._single)
        return torch.cat((angles.cos(), angles.sin()), dim=1) * self._norm


@dataclass(frozen=True, slots=True, kw_only=True)
class DPMerfOptions(EmbeddingOptions):
    """Options of DP-MERF, besides those of every mechanism with mean embeddings."""

    features_size: int = 10000  # Number of random features
    squared_length_scale: float = 105.0
    """Squared length scale of the kernel, for pixels in [0, 1]. The public code takes 105 for
    digits and 127 for fashion.
    """


def synthesize(
    features: ArrayLike,
    labels: ArrayLike,
    *,
    classes: int,
    options: DPMerfOptions,
    privacy: Privacy,
    seed: int,
    image_shape: tuple[int, int, int] | None = None,
    computation: Computation = ON_PROCESSOR,
) -> Release:  # ``classes * samples_per_class`` records in [-1, 1], sorted by class
    """Release noisy sums of random Fourier features once, and sample from a generator fitted to it.

    Arguments: see :class:`rdpkit.mechanisms.algorithms.specification.Mechanism`. The seed decides
    the features and the generator's weights and codes.

    Guarantee
    ---------
    One Gaussian mechanism with noise ``noise_std`` on the class-wise sums of features, of
    sensitivity 1 under add-or-remove-one and 2 under replace-one, as derived in
    :mod:`rdpkit.mechanisms.releases.mean_embedding`; composed with one on the counts, of
    sensitivity 1 or sqrt(2), where ``count_noise_std`` is given. Without it and without
    ``public_counts``, the guarantee includes what ``privacy.counts`` costs. The generator is
    post-processing.

    The paper states noise relative to the mean embedding's sensitivity 2 / n under replace-one: its
    noise 5, for epsilon 1, is ``noise_std=10`` here.

    Assumes
    -------
    The number of classes, the kernel and, if given, ``public_counts`` do not depend on the data.

    Source
    ------
    Harder, Adamczewski and Park, DP-MERF (AISTATS 2021), Algorithm 1, in its class-conditional
    form. The sensitivities are derived here.
    """
    data = labelled_images(features, labels, classes=classes, image_shape=image_shape)
    return release_embedding(
        data,
        lambda generator: RandomFourierFeatures(
            size=options.features_size,
            dimension=math.prod(data.shape),
            squared_length_scale=options.squared_length_scale,
            generator=generator,
            device=computation.torch_device,
        ),
        options=options,
        privacy=privacy,
        seed=seed,
        mechanism=SPEC.name,
        computation=computation,
    )


verify_target = embedding_target(
    lambda: RandomFourierFeatures(
        size=6,
        dimension=4,
        squared_length_scale=0.5,
        generator=torch.Generator().manual_seed(0),
    )
)

SPEC = Mechanism(
    name="dp-merf",
    synthesize=synthesize,
    options=DPMerfOptions,
    features="signed",
    event=lambda options, class_sizes, dimension: options.event(len(class_sizes)),
    calibrated=("noise_std",),
    counts=NUMBER_BY_CLASS,
    own_counts=("public_counts", "count_noise_std"),
    verify=verify_target,
)
