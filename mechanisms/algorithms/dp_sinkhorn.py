"""DP-Sinkhorn: a generator that follows noisy, clipped gradients of a Sinkhorn divergence."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from rdpkit.mechanisms.parts.conditional_generator import draw_codes, draw_network, generate
from rdpkit.mechanisms.parts.labelled_images import (
    Floats,
    Labels,
    Progress,
    balanced_labels,
    labelled_images,
    nothing,
)
from rdpkit.mechanisms.parts.noise import NoiseSource
from rdpkit.mechanisms.parts.random_extractor import draw_seed
from rdpkit.mechanisms.parts.sampling import poisson_sample
from rdpkit.mechanisms.releases.release import Release, release

import rdpkit
from rdpkit import _validate

_EXACT_SIZE = (
    "the number of records is the data's exact one, taken as public: the guarantee does not cover "
    "the number itself, which the manifest shows"
)
_MARGIN = 1e-9  # of the clip norm, for rounding; everything is in double precision


def transport_cost(
    images: torch.Tensor,
    labels: torch.Tensor,
    others: torch.Tensor,
    other_labels: torch.Tensor,
    *,
    l1_weight: float,
    label_weight: float,
) -> torch.Tensor:
    """Cost of moving each image to each other one, of shape (n, m).

    Half the squared distance, plus ``l1_weight`` times the sum of absolute differences, plus
    ``label_weight`` where the labels differ.
    """
    x, y = images.flatten(1), others.flatten(1)
    exact = "donot_use_mm_for_euclid_dist"
    squared = torch.cdist(x, y, compute_mode=exact).square() / 2.0
    absolute = torch.cdist(x, y, p=1.0) if l1_weight else 0.0
    differ = (labels[:, None] != other_labels[None, :]).to(x.dtype)
    cost: torch.Tensor = squared + l1_weight * absolute + label_weight * differ
    return cost


def sinkhorn_plan(cost: torch.Tensor, *, regularisation: float, steps: int) -> torch.Tensor:
    """Entropic transport plan between two uniform distributions, by Sinkhorn's steps in logarithms.

    Parameters
    ----------
    cost : tensor of shape (n, m)
    regularisation : float
        Weight of the entropy, as a share of the mean cost.
    steps : int
        Number of steps; the last one makes the columns sum to 1 / m exactly.

    Returns
    -------
    tensor of shape (n, m)
        Non-negative, summing to 1.
    """
    n, m = cost.shape
    scores = -cost / (regularisation * cost.mean()).clamp(min=1e-12)
    row = torch.zeros(n, dtype=cost.dtype, device=cost.device)
    column = torch.zeros(m, dtype=cost.dtype, device=cost.device)
    for _ in range(steps):
        row = -math.log(n) - torch.logsumexp(scores + column, dim=1)
        column = -math.log(m) - torch.logsumexp(scores + row[:, None], dim=0)
    return (scores + row[:, None] + column).exp()


def transport_gradient(
    images: torch.Tensor,
    labels: torch.Tensor,
    others: torch.Tensor,
    other_labels: torch.Tensor,
    *,
    regularisation: float,
    steps: int,
    l1_weight: float,
    label_weight: float,
) -> torch.Tensor:
    """Gradient of the transport cost with respect to ``images``, the plan held fixed.

    Where Sinkhorn's steps have converged that is the gradient of the entropic transport cost (the
    envelope theorem); elsewhere it is near it. Privacy does not rest on it being either.
    """
    leaf = images.detach().double().requires_grad_()
    cost = transport_cost(
        leaf,
        labels,
        others.double(),
        other_labels,
        l1_weight=l1_weight,
        label_weight=label_weight,
    )
    plan = sinkhorn_plan(cost.detach(), regularisation=regularisation, steps=steps)
    (gradient,) = torch.autograd.grad((plan * cost).sum(), leaf)
    return gradient


def clipped_gradient(gradient: torch.Tensor, *, clip_norm: float) -> NDArray[np.float64]:
    """Scale the *whole* gradient, over all generated images, to an L2 norm of at most a number.

    Raises
    ------
    ArithmeticError
        If it is not finite.
    """
    values: NDArray[np.float64] = gradient.detach().double().cpu().numpy()
    norm = float(np.linalg.norm(values))
    if not math.isfinite(norm):
        raise ArithmeticError("A gradient is not a finite number; its norm has no bound.")
    bound = clip_norm * (1.0 - _MARGIN)
    return values if norm <= bound else values * (bound / norm)


def noisy_gradient(
    images: torch.Tensor,
    wanted: torch.Tensor,
    records: Floats,
    labels: Labels,
    *,
    clip_norm: float,
    noise_std: float,
    noise: NoiseSource,
    cost: dict[str, Any],
    self_term: torch.Tensor | None = None,
) -> NDArray[np.float64]:
    """Clipped gradient of the transport to a sample, plus N(0, noise_std^2 I).

    All that the generator sees of the records.

    Parameters
    ----------
    images, wanted : tensors of shape (n, channels, height, width) and (n,)
        Generated images and their labels.
    records, labels : arrays of shape (m, channels, height, width) and (m,)
        The sample; m may be 0.
    clip_norm, noise_std : float
    noise : NoiseSource
        Source of the noise.
    cost : dict
        Keyword arguments of :func:`transport_gradient`.
    self_term : tensor of the shape of ``images``, optional
        Taken from the gradient before it is clipped. It may depend on what was released before,
        and on nothing else about the records.

    Returns
    -------
    array of the shape of ``images``
    """
    gradient = _data_gradient(images, wanted, records, labels, cost=cost)
    if self_term is not None:
        gradient = gradient - self_term
    clipped = clipped_gradient(gradient, clip_norm=clip_norm)
    return clipped + noise.normal(clipped.shape, std=noise_std)


def synthesize(
    features: ArrayLike,
    labels: ArrayLike,
    *,
    classes: int,
    batch_size: float,
    iterations: int,
    noise_std: float,
    clip_norm: float,
    delta: float,
    adjacency: rdpkit.Adjacency,
    noise: NoiseSource,
    seed: int,
    population_size: int | None = None,
    samples_per_class: int = 50,
    generated: int = 50,
    learning_rate: float = 1e-5,
    regularisation: float = 0.05,
    sinkhorn_steps: int = 50,
    l1_weight: float = 0.0,
    label_weight: float = 225.0,
    debiasing: float = 0.4,
    code_size: int = 12,
    image_shape: tuple[int, int, int] | None = None,
    device: str = "cpu",
    progress: Progress | None = None,
) -> Release:
    """Train a conditional generator on noisy gradients of its transport cost to private records.

    In each iteration a Poisson sample of the records is transported to a batch of generated
    images. The gradient of the semi-debiased divergence with respect to the *generated images* is
    clipped as a whole, noise is added, and only the result is carried back into the generator's
    weights. The divergence is the cost of transport to the records less a share, ``debiasing``, of
    half the cost of transport to other generated images. Its two terms are clipped together:
    a self term that is not clipped outweighs a clipped other one.

    Guarantee
    ---------
    That of ``iterations`` Poisson-sampled Gaussians with sampling probability ``batch_size / n``
    and record norm ``2 * clip_norm``.

    The gradient is no sum over records: one record changes the transport of all others. All that
    is known is that it has norm at most ``clip_norm`` with the record and without it, whatever it
    is the gradient of. So adding one record may move it by 2 ``clip_norm``, and replacing one by
    2 ``clip_norm`` too. The sampled Gaussian's theorems hold for any function of the sample with
    such a bound: conditional on the rest of the sample, both neighbours are mixtures of two
    Gaussians around the same point.

    The public code multiplies its noise multiplier by twice the clip norm for the same reason: its
    multiplier 1.1 at clip norm 0.5 is ``noise_std=1.1`` here.

    Assumes
    -------
    The number of records n that decides the sampling probability is public, and the manifest states
    the probability; with ``population_size`` it is truly the same for neighbours.

    Parameters
    ----------
    features : array of shape (n, channels, height, width), or (n, d) with ``image_shape``
        Pixels in [-1, 1], scaled by constants.
    labels : integer array of shape (n,)
    classes : int
        Number of classes.
    batch_size : float
        Expected size of a Poisson sample, at most n (the paper's 50).
    iterations : int
        Number of noisy gradients.
    noise_std : float
        Standard deviation of the noise on each pixel of the gradient.
    clip_norm : float
        Largest L2 norm of the gradient over all generated images (0.5).
    delta : float
        At which the manifest states epsilon.
    adjacency : Adjacency
        Neighbouring relation of the manifest's guarantee.
    noise : NoiseSource
        Source of the noise and of the samples, which must both stay secret.
    seed : int
        Decides the generator's weights, codes and labels; public.
    population_size : int, optional
        A public number: records join with probability ``batch_size / population_size``. By default
        the data's own count, which is noted.
    samples_per_class : int
        Synthetic records per class.
    generated : int
        Generated images a step, at least 2.
    learning_rate : float
        Of Adam.
    regularisation : float
        Of the transport, as a share of the mean cost.
    sinkhorn_steps : int
        Steps towards the transport plan.
    l1_weight, label_weight : float
        Of the cost; see :func:`transport_cost`. The public code appends one-hot labels times 15
        to the pixels and squares the distance: 225 in the units of half the squared distance.
    debiasing : float
        Weight of the self term, in [0, 1].
    code_size : int
        Of the generator.
    image_shape : (int, int, int), optional
        Channels, height and width of flat records.
    device : str
        Where torch computes.
    progress : callable, optional
        Called with (done, iterations) after each iteration.

    Returns
    -------
    Release
        ``classes * samples_per_class`` records in [-1, 1], sorted by class.

    Raises
    ------
    ValueError
        If an argument is out of range or the arrays do not fit together.
    ArithmeticError
        If a gradient or a pixel is not finite.

    Source
    ------
    Cao, Bie, Vahdat, Fidler and Kreis, Don't Generate Me (NeurIPS 2021), Algorithm 1; sampled
    Gaussian of any function: Mironov, Talwar and Zhang (arXiv 1908.10530v1), Theorem 4.
    """
    data = labelled_images(features, labels, classes=classes, image_shape=image_shape)
    n = len(data.images)
    if population_size is not None:
        n = _validate.integer("population_size", population_size)
    size = _validate.positive("batch_size", batch_size)
    if size > n:
        raise _validate.fail("batch_size", f"to be at most {n} (the number of records)", batch_size)
    clip = _validate.positive("clip_norm", clip_norm)
    event = rdpkit.Repeated(
        event=rdpkit.PoissonSampledGaussian(
            noise_std=noise_std,
            record_norm=2.0 * clip,
            record_diameter=2.0 * clip,
            sampling_probability=size / n,
        ),
        count=_validate.integer("iterations", iterations),
    )
    per_class = _validate.integer("samples_per_class", samples_per_class)
    _validate.integer("generated", generated, minimum=2)
    cost: dict[str, Any] = {
        "regularisation": _validate.positive("regularisation", regularisation),
        "steps": _validate.integer("sinkhorn_steps", sinkhorn_steps),
        "l1_weight": _validate.non_negative("l1_weight", l1_weight),
        "label_weight": _validate.non_negative("label_weight", label_weight),
    }
    parameters: dict[str, Any] = {
        "clip_norm": clip,
        "samples_per_class": per_class,
        "generated": generated,
        "learning_rate": _validate.positive("learning_rate", learning_rate),
        "debiasing": _validate.probability("debiasing", debiasing),
        "code_size": code_size,
        "image_shape": list(data.shape),
        "seed": _validate.integer("seed", seed, minimum=0),
        **cost,
    }
    report = progress or nothing
    generator = torch.Generator().manual_seed(seed)
    network = draw_network(
        draw_seed(generator), shape=data.shape, classes=classes, code_size=code_size, device=device
    )
    network.train()
    optimizer = torch.optim.Adam(network.parameters(), lr=learning_rate)
    for iteration in range(iterations):
        wanted = torch.randint(classes, (generated,), generator=generator).to(device)
        images = network(draw_codes(generator, generated, network, device), wanted)
        chosen = poisson_sample(len(data.images), size / n, noise=noise)
        self_term = None
        if debiasing:
            with torch.no_grad():
                copies = network(draw_codes(generator, generated, network, device), wanted)
            others = transport_gradient(images, wanted, copies, wanted, **cost)
            self_term = 0.5 * debiasing * others
        noisy = noisy_gradient(
            images,
            wanted,
            data.images[chosen],
            data.labels[chosen],
            clip_norm=clip,
            noise_std=noise_std,
            noise=noise,
            cost=cost,
            self_term=self_term,
        )
        optimizer.zero_grad()
        images.backward(torch.from_numpy(noisy).to(images))
        optimizer.step()
        report(iteration + 1, iterations)
    pixels = generate(network, samples_per_class=per_class, generator=generator, device=device)
    return release(
        data.as_given(pixels),
        balanced_labels(classes, per_class),
        event=event,
        delta=delta,
        adjacency=adjacency,
        parameters=parameters,
        noise=noise,
        mechanism="dp_sinkhorn",
        notes=() if population_size is not None else (_EXACT_SIZE,),
    )


def _data_gradient(
    images: torch.Tensor,
    wanted: torch.Tensor,
    records: Floats,
    labels: Labels,
    *,
    cost: dict[str, Any],
) -> torch.Tensor:
    """Gradient of the transport to a sample; zeros if nobody was sampled."""
    if len(records) == 0:
        return torch.zeros(images.shape, dtype=torch.float64, device=images.device)
    return transport_gradient(
        images,
        wanted,
        torch.from_numpy(records).to(images.device),
        torch.from_numpy(labels).to(images.device),
        **cost,
    )


__all__ = [
    "clipped_gradient",
    "noisy_gradient",
    "sinkhorn_plan",
    "synthesize",
    "transport_cost",
    "transport_gradient",
]
