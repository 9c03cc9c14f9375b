"""DP-MERF: noisy mean embeddings in random Fourier features, and a generator that matches them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from numpy.typing import ArrayLike
from rdpkit.mechanisms.parts.labelled_images import (
    Progress,
    balanced_labels,
    labelled_images,
    nothing,
)
from rdpkit.mechanisms.parts.mean_embedding import Counts, Fit, match_means, noisy_sums
from rdpkit.mechanisms.parts.noise import NoiseSource
from rdpkit.mechanisms.releases.release import Release, release

import rdpkit
from rdpkit import _validate


class RandomFourierFeatures:
    """cos and sin of random projections: inner products near a Gaussian kernel, every norm 1.

    phi(x) = (cos(w_j . p), sin(w_j . p)) / sqrt(size / 2), with p the pixels moved to [0, 1] and
    w_j ~ N(0, I / squared_length_scale); so phi(x) . phi(x') is near
    exp(-|p - p'|^2 / (2 squared_length_scale)), and |phi(x)| = 1 exactly.

    Parameters
    ----------
    size : int
        Number of features, even.
    dimension : int
        Number of pixels of an image, in all channels.
    squared_length_scale : float
        Of the kernel, for pixels in [0, 1]. A constant: a scale that is computed from the data
        (a median of distances) is a private statistic.
    generator : torch.Generator
        Public randomness for the projections.
    device : str
    """

    def __init__(
        self,
        *,
        size: int,
        dimension: int,
        squared_length_scale: float,
        generator: torch.Generator,
        device: str = "cpu",
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


def synthesize(
    features: ArrayLike,
    labels: ArrayLike,
    *,
    classes: int,
    noise_std: float,
    delta: float,
    adjacency: rdpkit.Adjacency,
    noise: NoiseSource,
    seed: int,
    public_counts: Sequence[int] | None = None,
    count_noise_std: float | None = None,
    samples_per_class: int = 50,
    features_size: int = 10000,
    squared_length_scale: float = 105.0,
    iterations: int = 3000,
    batch_size: int = 100,
    learning_rate: float = 0.01,
    decay: float = 0.9,
    decay_every: int = 600,
    code_size: int = 5,
    image_shape: tuple[int, int, int] | None = None,
    device: str = "cpu",
    progress: Progress | None = None,
) -> Release:
    """Release noisy sums of random Fourier features once, and sample from a generator fitted to it.

    Guarantee
    ---------
    One Gaussian mechanism with noise ``noise_std`` on the class-wise sums of features, of
    sensitivity 1 under add-or-remove-one and 2 under replace-one, as derived in
    :mod:`rdpkit.mechanisms.parts.mean_embedding`; composed with one on the counts, of sensitivity 1
    or sqrt(2), where ``count_noise_std`` is given. The generator is post-processing.

    The paper states noise relative to the mean embedding's sensitivity 2 / n under replace-one: its
    noise 5, for epsilon 1, is ``noise_std=10`` here.

    Assumes
    -------
    The number of classes, the kernel and, if given, ``public_counts`` do not depend on the data.

    Parameters
    ----------
    features : array of shape (n, channels, height, width), or (n, d) with ``image_shape``
        Pixels in [-1, 1], scaled by constants.
    labels : integer array of shape (n,)
    classes : int
        Number of classes.
    noise_std : float
        Standard deviation of the noise on each coordinate of the sums.
    delta : float
        At which the manifest states epsilon.
    adjacency : Adjacency
        Neighbouring relation of the manifest's guarantee.
    noise : NoiseSource
        Source of the noise.
    seed : int
        Decides the features, the generator's weights and codes; public.
    public_counts : sequence of int, optional
        Class counts, where they are known anyway; the manifest says so.
    count_noise_std : float, optional
        Noise on each class count; this or ``public_counts``.
    samples_per_class : int
        Synthetic records per class.
    features_size : int
        Number of random features.
    squared_length_scale : float
        Squared length scale of the kernel, for pixels in [0, 1]: 105 for digits, 127 for fashion
        in the public code, which divides frequencies by its root.
    iterations, batch_size, learning_rate, decay, decay_every, code_size
        Of the generator; see :class:`rdpkit.mechanisms.parts.mean_embedding.Fit`. The defaults are
        five epochs of 60000 records in batches of 100.
    image_shape : (int, int, int), optional
        Channels, height and width of flat records.
    device : str
        Where torch computes.
    progress : callable, optional
        Called with (done, iterations) after each step of the generator.

    Returns
    -------
    Release
        ``classes * samples_per_class`` records in [-1, 1], sorted by class.

    Raises
    ------
    ValueError
        If an argument is out of range or the arrays do not fit together.
    ArithmeticError
        If a feature or a pixel is not finite.

    Source
    ------
    Harder, Adamczewski and Park, DP-MERF (AISTATS 2021), Algorithm 1, class-conditional form; the
    sensitivities are derived here.
    """
    data = labelled_images(features, labels, classes=classes, image_shape=image_shape)
    counts = Counts.of(public_counts, count_noise_std, classes=classes)
    event = counts.event(noise_std=noise_std)
    fit = Fit(
        iterations=iterations,
        batch_size=batch_size,
        learning_rate=learning_rate,
        decay=decay,
        decay_every=decay_every,
        code_size=code_size,
    )
    per_class = _validate.integer("samples_per_class", samples_per_class)
    parameters: dict[str, Any] = {
        "samples_per_class": per_class,
        "features_size": features_size,
        "squared_length_scale": float(squared_length_scale),
        "public_counts": None if counts.public is None else list(counts.public),
        "image_shape": list(data.shape),
        "seed": _validate.integer("seed", seed, minimum=0),
        **fit.as_dict(),
    }
    generator = torch.Generator().manual_seed(seed)
    feature_map = RandomFourierFeatures(
        size=features_size,
        dimension=math.prod(data.shape),
        squared_length_scale=squared_length_scale,
        generator=generator,
        device=device,
    )
    noisy = noisy_sums(data, feature_map, noise_std=noise_std, noise=noise, device=device)
    images = match_means(
        noisy / counts.draw(data, noise)[:, None],
        feature_map,
        shape=data.shape,
        fit=fit,
        samples_per_class=per_class,
        generator=generator,
        device=device,
        progress=progress or nothing,
    )
    return release(
        data.as_given(images),
        balanced_labels(classes, per_class),
        event=event,
        delta=delta,
        adjacency=adjacency,
        parameters=parameters,
        noise=noise,
        mechanism="dp_merf",
        notes=counts.notes(),
    )


__all__ = ["RandomFourierFeatures", "synthesize"]
