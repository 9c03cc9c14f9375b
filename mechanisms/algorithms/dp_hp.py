"""DP-HP: noisy mean embeddings in Hermite features, and a generator that matches them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch
from numpy.typing import ArrayLike

from rdpkit import _validate
from rdpkit.mechanisms.algorithms.dp_merf import SPEC as DP_MERF
from rdpkit.mechanisms.parts.labelled_images import labelled_images
from rdpkit.mechanisms.parts.privacy import Privacy
from rdpkit.mechanisms.releases.computation import ON_PROCESSOR, Computation
from rdpkit.mechanisms.releases.mean_embedding import (
    EmbeddingOptions,
    Fit,
    embedding_target,
    release_embedding,
)
from rdpkit.mechanisms.releases.release import Release

_LARGEST_PRODUCT = 10**6  # Features of all product kernels together, at most


def hermite_features(
    values: torch.Tensor,  # Shape (...)
    *,
    order: int,  # Highest degree, >= 0
    rho: float,  # In (0, 1); near 1 the kernel is narrow
) -> torch.Tensor:  # Shape (..., order + 1)
    """First ``order + 1`` features of Mehler's kernel exp(-rho/(1-rho^2) (x-y)^2) of each number.

    phi_k(x) = sqrt(lambda_k / N_k) H_k(x) exp(-rho x^2 / (1 + rho)) with lambda_k = (1-rho) rho^k
    and N_k = 2^k k! sqrt((1-rho)/(1+rho)). Polynomials of degree 100 overflow, so the features are
    computed by a recursion of their own,

        phi_0 = (1 - rho^2)^(1/4) exp(-rho x^2 / (1 + rho)),
        phi_{k+1} = x sqrt(2 rho / (k+1)) phi_k - rho sqrt(k / (k+1)) phi_{k-1}.

    By Mehler's formula the squares of all features add up to the kernel at (x, x), which is 1. So
    the norm of the first features is at most 1, however many are taken.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class HermiteKernel:
    """A sum kernel over all pixels, and product kernels over a few pixels each.

    The kernels must be chosen without looking at the data.
    """

    # Of the sum kernel's features; see :func:`hermite_features`.
    order: int = 20
    rho: float = 0.7
    # Of the product kernels' features.
    product_order: int = 5
    product_rho: float = 0.7
    product_pixels: int = 2
    """Pixels of one product; it has ``(product_order + 1) ** product_pixels`` features."""
    products: int = 20  # Number of products; 0 for none
    product_weight: float = 0.2
    """Share of the product kernels in the whole, in [0, 1]; 0 without products."""

    def __post_init__(self) -> None:
        for name in ("order", "product_order", "products"):
            _validate.integer(name, getattr(self, name), minimum=0)
        for name in ("rho", "product_rho"):
            _validate.open_probability(name, getattr(self, name))
        _validate.integer("product_pixels", self.product_pixels)
        weight = _validate.probability("product_weight", self.product_weight)
        if (self.products == 0) != (weight == 0.0):
            raise _validate.fail("product_weight", "to be 0 if and only if products is", weight)
        # Two options of ordinary size can make a power that does not fit in memory.
        size = self.products * (self.product_order + 1) ** min(self.product_pixels, 64)
        if size > _LARGEST_PRODUCT:
            raise _validate.fail(
                "product_pixels",
                f"with products * (product_order + 1) ** product_pixels <= {_LARGEST_PRODUCT}",
                self.product_pixels,
            )


class HermiteFeatures:
    """Features of a sum kernel over pixels, joined with those of product kernels on a few pixels.

    The sum kernel averages Mehler's kernel over the pixels; a product kernel multiplies it over
    ``product_pixels`` pixels chosen at random, once for each of ``products`` choices, and these are
    averaged. The features of both are joined with weights whose squares are 1 - product_weight and
    product_weight, so that the joint vector has norm at most 1. The paper releases the two parts
    separately, each with its own noise. The joint vector costs one release instead of two.
    """

    def __init__(
        self,
        kernel: HermiteKernel,
        *,
        dimension: int,  # Number of pixels of an image, in all channels
        generator: torch.Generator,  # Public randomness for the choice of pixels
        device: str = "cpu",  # Where features are computed
    ) -> None:
        self._kernel = kernel
        count = _validate.integer("product_pixels", kernel.product_pixels, maximum=dimension)
        self._pixels = [
            torch.randperm(dimension, generator=generator)[:count].to(device)
            for _ in range(kernel.products)
        ]
        weight = kernel.product_weight
        self._sum_scale = math.sqrt((1.0 - weight) / dimension)
        self._product_scale = math.sqrt(weight / kernel.products) if kernel.products else 0.0

    def __call__(self, images: torch.Tensor) -> torch.Tensor:
        """Features of shape (n, size), in the precision of the images."""
        flat = images.flatten(1)
        parts = [
            self._sum_scale
            * hermite_features(flat, order=self._kernel.order, rho=self._kernel.rho).flatten(1)
        ]
        for pixels in self._pixels:
            each = hermite_features(
                flat[:, pixels], order=self._kernel.product_order, rho=self._kernel.product_rho
            )
            product = each[:, 0]
            for i in range(1, each.shape[1]):
                product = (product[:, :, None] * each[:, i, None, :]).flatten(1)
            parts.append(self._product_scale * product)
        return torch.cat(parts, dim=1)


_KERNEL = HermiteKernel()
_FIT = Fit(batch_size=200, learning_rate=1e-3, decay_every=300)


@dataclass(frozen=True, slots=True, kw_only=True)
class DPHPOptions(EmbeddingOptions):
    """Options of DP-HP, besides those of every mechanism with mean embeddings."""

    kernel: HermiteKernel = _KERNEL  # The features
    fit: Fit = _FIT  # How the generator is trained


def synthesize(
    features: ArrayLike,
    labels: ArrayLike,
    *,
    classes: int,
    options: DPHPOptions,
    privacy: Privacy,
    seed: int,
    image_shape: tuple[int, int, int] | None = None,
    computation: Computation = ON_PROCESSOR,
) -> Release:  # ``classes * samples_per_class`` records in [-1, 1], sorted by class
    """Release noisy sums of Hermite features once, and sample from a generator fitted to them.

    Arguments: see :class:`rdpkit.mechanisms.algorithms.specification.Mechanism`. The seed decides
    the products' pixels and the generator's weights and codes.

    Guarantee
    ---------
    That of :func:`rdpkit.mechanisms.algorithms.dp_merf.synthesize`. It needs features of norm at
    most 1, as Hermite features are.

    Assumes
    -------
    The number of classes, the features and, if given, ``public_counts`` do not depend on the data.

    Source
    ------
    Vinaroz, Charusaie, Harder, Adamczewski and Park, Hermite Polynomial Features for Private Data
    Generation (ICML 2022), Sections 3 and 4. The release of both kernels' features in one vector,
    and the sensitivities, are derived here.
    """
    data = labelled_images(features, labels, classes=classes, image_shape=image_shape)
    return release_embedding(
        data,
        lambda generator: HermiteFeatures(
            options.kernel,
            dimension=math.prod(data.shape),
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
    lambda: HermiteFeatures(
        HermiteKernel(
            order=3,
            rho=0.6,
            product_order=0,
            product_rho=0.5,
            product_pixels=1,
            products=0,
            product_weight=0.0,
        ),
        dimension=4,
        generator=torch.Generator().manual_seed(0),
    )
)

SPEC = replace(
    DP_MERF, name="dp-hp", synthesize=synthesize, options=DPHPOptions, verify=verify_target
)
