"""DP-HP: noisy mean embeddings in Hermite features, and a generator that matches them."""

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

_LARGEST_PRODUCT = 10**6


def hermite_features(values: torch.Tensor, *, order: int, rho: float) -> torch.Tensor:
    """First ``order + 1`` features of Mehler's kernel exp(-rho/(1-rho^2) (x-y)^2) of each number.

    phi_k(x) = sqrt(lambda_k / N_k) H_k(x) exp(-rho x^2 / (1 + rho)) with lambda_k = (1-rho) rho^k
    and N_k = 2^k k! sqrt((1-rho)/(1+rho)). Polynomials of degree 100 overflow, so these are made by
    their own three-term recursion,

        phi_0 = (1 - rho^2)^(1/4) exp(-rho x^2 / (1 + rho)),
        phi_{k+1} = x sqrt(2 rho / (k+1)) phi_k - rho sqrt(k / (k+1)) phi_{k-1}.

    By Mehler's formula the squares of all of them add up to the kernel at (x, x), which is 1: any
    number of them has norm at most 1.

    Parameters
    ----------
    values : tensor of shape (...)
    order : int
        Highest degree, >= 0.
    rho : float
        In (0, 1); near 1 the kernel is narrow.

    Returns
    -------
    tensor of shape (..., order + 1)
    """
    previous = torch.zeros_like(values)
    current = (1.0 - rho * rho) ** 0.25 * torch.exp(-rho / (1.0 + rho) * values * values)
    found = [current]
    for k in range(order):
        following = (
            values * math.sqrt(2.0 * rho / (k + 1)) * current
            - rho * math.sqrt(k / (k + 1)) * previous
        )
        previous, current = current, following
        found.append(current)
    return torch.stack(found, dim=-1)


class HermiteFeatures:
    """Features of a sum kernel over pixels, joined with those of product kernels on a few pixels.

    The sum kernel averages Mehler's kernel over the pixels; a product kernel multiplies it over
    ``product_pixels`` pixels chosen at random, once for each of ``products`` choices, and these are
    averaged. The features of both are joined with weights whose squares are 1 - product_weight and
    product_weight, so that their norm is at most 1 together. (The paper releases the two
    separately, each with noise of its own; one vector of norm 1 costs one release.)

    Parameters
    ----------
    dimension : int
        Number of pixels of an image, in all channels.
    order, rho : int, float
        Of the sum kernel's features; see :func:`hermite_features`.
    product_order, product_rho : int, float
        Of the product kernels'.
    product_pixels : int
        Pixels of one product; it has ``(product_order + 1) ** product_pixels`` features.
    products : int
        Number of products; 0 for none.
    product_weight : float
        In [0, 1]; 0 without products.
    generator : torch.Generator
        Public randomness for the choice of pixels.
    device : str
    """

    def __init__(
        self,
        *,
        dimension: int,
        order: int,
        rho: float,
        product_order: int,
        product_rho: float,
        product_pixels: int,
        products: int,
        product_weight: float,
        generator: torch.Generator,
        device: str = "cpu",
    ) -> None:
        self._order = _validate.integer("order", order, minimum=0)
        self._rho = _validate.open_probability("rho", rho)
        self._product_order = _validate.integer("product_order", product_order, minimum=0)
        self._product_rho = _validate.open_probability("product_rho", product_rho)
        self._products = _validate.integer("products", products, minimum=0)
        pixels = _validate.integer("product_pixels", product_pixels, maximum=dimension)
        weight = _validate.probability("product_weight", product_weight)
        if (products == 0) != (weight == 0.0):
            raise _validate.fail(
                "product_weight", "to be 0 where products is, and only there", product_weight
            )
        # Exponents are small numbers here, but a user's choice of two of them is a huge power.
        if products * (product_order + 1) ** min(pixels, 64) > _LARGEST_PRODUCT:
            raise _validate.fail(
                "product_pixels",
                f"with products * (product_order + 1) ** product_pixels <= {_LARGEST_PRODUCT}",
                product_pixels,
            )
        self._pixels = [
            torch.randperm(dimension, generator=generator)[:pixels].to(device)
            for _ in range(products)
        ]
        self._sum_scale = math.sqrt((1.0 - weight) / dimension)
        self._product_scale = math.sqrt(weight / products) if products else 0.0

    def __call__(self, images: torch.Tensor) -> torch.Tensor:
        """Features of shape (n, size), in the precision of the images."""
        flat = images.flatten(1)
        parts = [
            self._sum_scale * hermite_features(flat, order=self._order, rho=self._rho).flatten(1)
        ]
        for pixels in self._pixels:
            each = hermite_features(
                flat[:, pixels], order=self._product_order, rho=self._product_rho
            )
            product = each[:, 0]
            for i in range(1, each.shape[1]):
                product = (product[:, :, None] * each[:, i, None, :]).flatten(1)
            parts.append(self._product_scale * product)
        return torch.cat(parts, dim=1)


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
    order: int = 20,
    rho: float = 0.7,
    product_order: int = 5,
    product_rho: float = 0.7,
    product_pixels: int = 2,
    products: int = 20,
    product_weight: float = 0.2,
    iterations: int = 3000,
    batch_size: int = 200,
    learning_rate: float = 1e-3,
    decay: float = 0.9,
    decay_every: int = 300,
    code_size: int = 5,
    image_shape: tuple[int, int, int] | None = None,
    device: str = "cpu",
    progress: Progress | None = None,
) -> Release:
    """Release noisy sums of Hermite features once, and sample from a generator fitted to them.

    Guarantee
    ---------
    One Gaussian mechanism with noise ``noise_std`` on the class-wise sums of features, of
    sensitivity 1 under add-or-remove-one and 2 under replace-one, as derived in
    :mod:`rdpkit.mechanisms.parts.mean_embedding`; composed with one on the counts, of sensitivity 1
    or sqrt(2), where ``count_noise_std`` is given. The generator is post-processing.

    Assumes
    -------
    The number of classes, the features and, if given, ``public_counts`` do not depend on the data.

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
        Decides the products' pixels, the generator's weights and codes; public.
    public_counts : sequence of int, optional
        Class counts, where they are known anyway; the manifest says so.
    count_noise_std : float, optional
        Noise on each class count; this or ``public_counts``.
    samples_per_class : int
        Synthetic records per class.
    order, rho, product_order, product_rho, product_pixels, products, product_weight
        Of the features; see :class:`HermiteFeatures`. Choose them without looking at the data.
    iterations, batch_size, learning_rate, decay, decay_every, code_size
        Of the generator; see :class:`rdpkit.mechanisms.parts.mean_embedding.Fit`.
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
    Vinaroz, Charusaie, Harder, Adamczewski and Park, Hermite Polynomial Features for Private Data
    Generation (ICML 2022), Sections 3 and 4; features of both kernels in one release, and the
    sensitivities derived here.
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
    chosen: dict[str, Any] = {
        "order": order,
        "rho": rho,
        "product_order": product_order,
        "product_rho": product_rho,
        "product_pixels": product_pixels,
        "products": products,
        "product_weight": product_weight,
    }
    parameters: dict[str, Any] = {
        "samples_per_class": per_class,
        "public_counts": None if counts.public is None else list(counts.public),
        "image_shape": list(data.shape),
        "seed": _validate.integer("seed", seed, minimum=0),
        **chosen,
        **fit.as_dict(),
    }
    generator = torch.Generator().manual_seed(seed)
    feature_map = HermiteFeatures(
        dimension=math.prod(data.shape), generator=generator, device=device, **chosen
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
        mechanism="dp_hp",
        notes=counts.notes(),
    )


__all__ = ["HermiteFeatures", "hermite_features", "synthesize"]
