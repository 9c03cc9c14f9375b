"""DP-Sinkhorn: a generator that follows noisy, clipped gradients of a Sinkhorn divergence."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from rdpkit import Adjacency, PoissonSampledGaussian, Repeated, _validate
from rdpkit.mechanisms.algorithms.specification import Mechanism
from rdpkit.mechanisms.parts.counts import NUMBER_OF_ALL, Sizes
from rdpkit.mechanisms.parts.labelled_images import (
    Floats,
    LabelledImages,
    Labels,
    balanced_labels,
    labelled_images,
)
from rdpkit.mechanisms.parts.networks import (
    ConditionalGenerator,
    draw_codes,
    draw_network,
    draw_seed,
    generate,
)
from rdpkit.mechanisms.parts.noise import NoiseSource
from rdpkit.mechanisms.parts.privacy import Privacy
from rdpkit.mechanisms.parts.records import Batch
from rdpkit.mechanisms.parts.sampling import poisson_sample
from rdpkit.mechanisms.parts.threads import training_threads
from rdpkit.mechanisms.parts.verify_target import DataPair, VerifyTarget, on_one_thread
from rdpkit.mechanisms.releases.computation import ON_PROCESSOR, Computation
from rdpkit.mechanisms.releases.release import Release, release
from rdpkit.mechanisms.releases.streaming import as_parameters

# Share of the clip norm that is kept free for rounding. Everything is in double precision.
_MARGIN = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Transport:
    """The transport between generated images and records, and how its plan is found."""

    regularisation: float = 0.05  # Weight of the entropy, as a share of the mean cost
    sinkhorn_steps: int = 50  # Steps towards the transport plan
    # Weights in :func:`transport_cost`. The public code appends one-hot labels times 15 to the
    # pixels. Half the squared distance of two such labels is 225.
    l1_weight: float = 0.0
    label_weight: float = 225.0

    def __post_init__(self) -> None:
        _validate.positive("regularisation", self.regularisation)
        _validate.integer("sinkhorn_steps", self.sinkhorn_steps)
        _validate.non_negative("l1_weight", self.l1_weight)
        _validate.non_negative("label_weight", self.label_weight)


_TRANSPORT = Transport()


@dataclass(frozen=True, slots=True, kw_only=True)
class DPSinkhornOptions:
    """Options of DP-Sinkhorn."""

    batch_size: float  # Expected size of a Poisson sample
    iterations: int  # Number of noisy gradients
    noise_std: float  # Standard deviation of the noise on each pixel of the gradient
    clip_norm: float  # Largest L2 norm of the gradient over all generated images (0.5)
    samples_per_class: int = 50  # Synthetic records per class
    generated: int = 50  # Generated images a step, at least 2
    learning_rate: float = 1e-5  # Learning rate of Adam
    debiasing: float = 0.4  # Weight of the self term, in [0, 1]; see :func:`synthesize`
    code_size: int = 12  # Length of the generator's code
    transport: Transport = _TRANSPORT  # Cost of the transport, and how its plan is found

    def __post_init__(self) -> None:
        for name in ("batch_size", "clip_norm", "learning_rate"):
            _validate.positive(name, getattr(self, name))
        for name in ("iterations", "samples_per_class", "code_size"):
            _validate.integer(name, getattr(self, name))
        _validate.integer("generated", self.generated, minimum=2)
        _validate.probability("debiasing", self.debiasing)


def sinkhorn_event(options: DPSinkhornOptions, class_sizes: Sizes, dimension: int = 0) -> Repeated:
    """The account of :func:`synthesize` for as many records as the classes have together."""
    reach = 2.0 * float(options.clip_norm)
    return Repeated(
        event=PoissonSampledGaussian(
            noise_std=options.noise_std,
            record_norm=reach,
            record_diameter=reach,
            sampling_probability=float(options.batch_size) / sum(class_sizes),
        ),
        count=options.iterations,
    )


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


def sinkhorn_plan(
    cost: torch.Tensor,  # Shape (n, m)
    *,
    regularisation: float,  # Weight of the entropy, as a share of the mean cost
    steps: int,  # Number of steps; the last one makes the columns sum to 1 / m exactly
) -> torch.Tensor:  # Shape (n, m): non-negative, summing to 1
    """Entropic transport plan between uniform distributions, by Sinkhorn's steps in logarithms."""
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
    transport: Transport,
) -> torch.Tensor:
    """Gradient of the transport cost with respect to ``images``, the plan held fixed.

    If Sinkhorn's steps have converged, this is the gradient of the entropic transport cost, by the
    envelope theorem; otherwise it is an approximation. The guarantee holds in both cases.
    """
    leaf = images.detach().double().requires_grad_()
    cost = transport_cost(
        leaf,
        labels,
        others.double(),
        other_labels,
        l1_weight=transport.l1_weight,
        label_weight=transport.label_weight,
    )
    plan = sinkhorn_plan(
        cost.detach(),
        regularisation=transport.regularisation,
        steps=transport.sinkhorn_steps,
    )
    (gradient,) = torch.autograd.grad((plan * cost).sum(), leaf)
    return gradient


def clipped_gradient(gradient: torch.Tensor, *, clip_norm: float) -> NDArray[np.float64]:
    """Scale the *whole* gradient, over all generated images, to a norm of at most ``clip_norm``.

    Raises ArithmeticError if the gradient is not finite.
    """
    values: NDArray[np.float64] = gradient.detach().double().cpu().numpy()
    norm = float(np.linalg.norm(values))
    if not math.isfinite(norm):
        raise ArithmeticError("A gradient is not a finite number; its norm has no bound.")
    bound = clip_norm * (1.0 - _MARGIN)
    return values if norm <= bound else values * (bound / norm)


def noisy_gradient(
    # Generated images and their labels; shape (n, channels, height, width) and (n,)
    images: torch.Tensor,
    wanted: torch.Tensor,
    # The sample; m may be 0; shape (m, channels, height, width) and (m,)
    records: Floats,
    labels: Labels,
    *,
    clip_norm: float,
    noise_std: float,
    noise: NoiseSource,
    transport: Transport,  # The transport whose cost the gradient is of
    # Subtracted from the gradient before it is clipped. Of the records, it may depend only on what
    # was released before.
    self_term: torch.Tensor | None = None,
) -> NDArray[np.float64]:  # Shape of ``images``
    """Clipped gradient of the transport to a sample, plus N(0, noise_std^2 I).

    The generator sees nothing else of the records.
    """
    gradient = _data_gradient(images, wanted, records, labels, transport=transport)
    if self_term is not None:
        gradient = gradient - self_term
    clipped = clipped_gradient(gradient, clip_norm=clip_norm)
    return clipped + noise.normal(clipped.shape, std=noise_std)


def synthesize(
    features: ArrayLike,
    labels: ArrayLike,
    *,
    classes: int,
    options: DPSinkhornOptions,
    privacy: Privacy,
    seed: int,
    image_shape: tuple[int, int, int] | None = None,
    computation: Computation = ON_PROCESSOR,
) -> Release:  # ``classes * samples_per_class`` records in [-1, 1], sorted by class
    """Train a conditional generator on noisy gradients of its transport cost to private records.

    In each iteration a Poisson sample of the records is transported to a batch of generated
    images. The gradient of the semi-debiased divergence with respect to the *generated images* is
    clipped as a whole, noise is added, and only the result is carried back into the generator's
    weights. The divergence is the cost of transport to the records less a share, ``debiasing``, of
    half the cost of transport to other generated images. The gradients of both terms are clipped
    together, because an unclipped self term would outweigh a clipped data term.

    Arguments: see :class:`rdpkit.mechanisms.algorithms.specification.Mechanism`. Records join a
    sample with probability ``batch_size`` over the number that ``privacy.counts`` gives. The seed
    decides the generator's weights, codes and labels.

    Guarantee
    ---------
    That of ``iterations`` Poisson-sampled Gaussians with sampling probability ``batch_size / n``
    and record norm ``2 * clip_norm``.

    The gradient is not a sum over records, because one record changes the transport of all others.
    But the clipped gradient has norm at most ``clip_norm`` both with a record and without it. So
    adding or replacing one record moves it by at most 2 ``clip_norm``. The theorems about the
    sampled Gaussian hold for any function of the sample with such a bound: given the rest of the
    sample, both neighbours are mixtures of two Gaussians, and have the one without the record in
    common.

    The public code multiplies its noise multiplier by twice the clip norm for the same reason: its
    multiplier 1.1 at clip norm 0.5 is ``noise_std=1.1`` here.

    Assumes
    -------
    The number n that decides the sampling probability is a public number, or a noisy one that the
    guarantee pays for; it need not be the right one. Under replace-one the exact number is the same
    for neighbours.

    Source
    ------
    Cao, Bie, Vahdat, Fidler and Kreis, Don't Generate Me (NeurIPS 2021), Algorithm 1; sampled
    Gaussian of any function: Mironov, Talwar and Zhang (arXiv 1908.10530v1), Theorem 4.
    """
    data = labelled_images(features, labels, classes=classes, image_shape=image_shape)
    counts = privacy.known_counts(data.class_sizes(), NUMBER_OF_ALL).for_samples_of(
        options.batch_size
    )
    (n,) = counts.sizes
    if options.batch_size > n:
        condition = f"to be at most {n} (the number of records)"
        raise _validate.fail("batch_size", condition, options.batch_size)
    event = sinkhorn_event(options, (n,))
    _validate.integer("seed", seed, minimum=0)
    generator = torch.Generator().manual_seed(seed)
    network = _trained(
        data,
        options=options,
        probability=options.batch_size / n,
        noise=privacy.noise,
        generator=generator,
        computation=computation,
    )
    pixels = generate(
        network,
        samples_per_class=options.samples_per_class,
        generator=generator,
        device=computation.torch_device,
    )
    stated = as_parameters(options)
    for name in ("batch_size", "iterations", "noise_std"):  # the event states them
        del stated[name]
    stated["steps"] = stated.pop("sinkhorn_steps")
    return release(
        data.as_given(pixels),
        balanced_labels(classes, options.samples_per_class),
        event=event,
        privacy=privacy,
        mechanism=SPEC.name,
        tested_as=SPEC.name,
        device=computation.device,
        parameters={**stated, "image_shape": list(data.shape), "seed": seed},
        counts=counts,
    )


@training_threads()
def _trained(
    data: LabelledImages,
    *,
    options: DPSinkhornOptions,
    probability: float,
    noise: NoiseSource,
    generator: torch.Generator,
    computation: Computation,
) -> ConditionalGenerator:
    """A generator trained on noisy gradients, each computed from a fresh Poisson sample."""
    device, count, transport = computation.torch_device, options.generated, options.transport
    network = draw_network(
        draw_seed(generator),
        shape=data.shape,
        classes=data.classes,
        code_size=options.code_size,
        device=device,
    )
    network.train()
    optimizer = torch.optim.Adam(network.parameters(), lr=options.learning_rate)
    for iteration in range(options.iterations):
        wanted = torch.randint(data.classes, (count,), generator=generator).to(device)
        images = network(draw_codes(generator, count, network, device), wanted)
        chosen = poisson_sample(len(data.images), probability, noise=noise)
        self_term = None
        if options.debiasing:
            with torch.no_grad():
                copies = network(draw_codes(generator, count, network, device), wanted)
            others = transport_gradient(images, wanted, copies, wanted, transport=transport)
            self_term = 0.5 * options.debiasing * others
        noisy = noisy_gradient(
            images,
            wanted,
            data.images[chosen],
            data.labels[chosen],
            clip_norm=options.clip_norm,
            noise_std=options.noise_std,
            noise=noise,
            transport=transport,
            self_term=self_term,
        )
        optimizer.zero_grad()
        images.backward(torch.from_numpy(noisy).to(images))
        optimizer.step()
        computation.report(iteration + 1, options.iterations)
    return network


def _data_gradient(
    images: torch.Tensor,
    wanted: torch.Tensor,
    records: Floats,
    labels: Labels,
    *,
    transport: Transport,
) -> torch.Tensor:
    """Gradient of the transport to a sample; zeros if the sample is empty."""
    if len(records) == 0:
        return torch.zeros(images.shape, dtype=torch.float64, device=images.device)
    return transport_gradient(
        images,
        wanted,
        torch.from_numpy(records).to(images.device),
        torch.from_numpy(labels).to(images.device),
        transport=transport,
    )


def _one_gradient(data: LabelledImages, noise: NoiseSource) -> list[Batch]:
    """One noisy gradient on one image at the origin; its norm is at most half the record norm."""
    chosen = poisson_sample(len(data.images), _SMALL.sampling_probability, noise=noise)
    gradient = noisy_gradient(
        torch.zeros(1, 1, 1, 1),
        torch.tensor([0]),
        data.images[chosen],
        data.labels[chosen],
        clip_norm=_SMALL.record_norm / 2.0,
        noise_std=_SMALL.noise_std,
        noise=noise,
        transport=Transport(regularisation=0.1, sinkhorn_steps=5, label_weight=0.0),
    )
    return [(gradient.reshape(1, -1), np.zeros(1, dtype=np.int64))]


def _turning_record() -> DataPair:
    """One record, and the same with a second one that reverses the gradient."""
    rows, labels = np.array([[-0.2], [1.0]]), np.zeros(2, dtype=np.int64)
    return (rows, labels), (rows[:-1], labels[:-1])


_SMALL = PoissonSampledGaussian(
    noise_std=1.0, record_norm=1.0, record_diameter=1.0, sampling_probability=0.9
)
verify_target = VerifyTarget(
    event=_SMALL,
    adjacency=Adjacency.ADD_OR_REMOVE_ONE,
    prepare=lambda dataset: labelled_images(
        dataset.features, dataset.labels, classes=2, image_shape=(1, 1, 1)
    ),
    run=on_one_thread(_one_gradient),
    dimension=1,
    pair=_turning_record,
)

SPEC = Mechanism(
    name="dp-sinkhorn",
    synthesize=synthesize,
    options=DPSinkhornOptions,
    features="signed",
    event=sinkhorn_event,
    calibrated=("noise_std",),
    counts=NUMBER_OF_ALL,
    sample_size="batch_size",
    verify=verify_target,
)
