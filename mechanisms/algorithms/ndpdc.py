"""NDPDC: synthetic records whose representations match noisy sums of private ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from rdpkit.mechanisms.models.convnet import ConvNet
from rdpkit.mechanisms.parts.augmentation import (
    OPERATIONS,
    Augmentation,
    check_operations,
    draw_augmentation,
)
from rdpkit.mechanisms.parts.labelled_images import (
    Floats,
    Progress,
    balanced_labels,
    labelled_images,
    nothing,
)
from rdpkit.mechanisms.parts.noise import NoiseSource
from rdpkit.mechanisms.parts.random_extractor import draw_seed, random_convnet
from rdpkit.mechanisms.parts.sampling import poisson_sample
from rdpkit.mechanisms.releases.checkpoint import Checkpoint
from rdpkit.mechanisms.releases.release import Release, release

import rdpkit
from rdpkit import _validate
from rdpkit.tables import event_to_table

_MARGIN = 1e-4
"""Part of the clip norm that is kept free for rounding.

Representations are single-precision numbers, and the library that convolves may choose another
order of summation for another size of the batch, so one record more may change the last digits of
all the others' representations: about 1e-7 of the norm each, for some hundreds of records.
"""


def clip_representations(representations: torch.Tensor, *, clip_norm: float) -> torch.Tensor:
    """Scale each row down to an L2 norm of at most ``clip_norm``, less a margin for rounding.

    Parameters
    ----------
    representations : tensor of shape (n, k)
    clip_norm : float
        Largest norm (G of the paper).

    Returns
    -------
    tensor of shape (n, k), float64

    Raises
    ------
    ArithmeticError
        If a representation is not finite: no clipping bounds its norm.
    """
    rows = representations.double()
    if not bool(torch.isfinite(rows).all()):
        raise ArithmeticError("A representation is not a finite number; its norm has no bound.")
    bound = clip_norm * (1.0 - _MARGIN)
    # Gradients pass through the scale, and it has one at a row of zeros too.
    scale = bound / rows.square().sum(dim=1, keepdim=True).clamp(min=bound**2).sqrt()
    return rows * scale


def clipped_sum(
    images: Floats,
    *,
    extractor: ConvNet,
    augmentation: Augmentation | None,
    clip_norm: float,
    device: str | torch.device = "cpu",
) -> NDArray[np.float64]:
    """Sum of the clipped representations of some records: what the noise is added to.

    One record more or less moves it by at most ``clip_norm``; no record at all gives zeros.

    Parameters
    ----------
    images : float32 array of shape (n, channels, height, width)
        A sample of one class.
    extractor : ConvNet
        Frozen, with no layer that mixes records.
    augmentation : Augmentation or None
        Applied to each record first.
    clip_norm : float
        Largest norm of one record's part.
    device : str or torch.device
        Where the representations are computed.

    Returns
    -------
    array of shape (extractor.embedding_size,)
    """
    if len(images) == 0:
        return np.zeros(extractor.embedding_size)
    with torch.no_grad():
        batch = torch.from_numpy(images).to(device)
        if augmentation is not None:
            batch = augmentation(batch)
        clipped = clip_representations(extractor.embed(batch), clip_norm=clip_norm)
        total: NDArray[np.float64] = clipped.sum(dim=0).cpu().numpy()
    return total


def noisy_sum(
    images: Floats,
    *,
    extractor: ConvNet,
    augmentation: Augmentation | None,
    clip_norm: float,
    noise_std: float,
    noise: NoiseSource,
    device: str | torch.device = "cpu",
) -> NDArray[np.float64]:
    """:func:`clipped_sum` plus N(0, noise_std^2 I): all that the synthetic records see of the data.

    Parameters
    ----------
    images, extractor, augmentation, clip_norm, device
        As for :func:`clipped_sum`.
    noise_std : float
        Standard deviation on each coordinate.
    noise : NoiseSource
        Source of the noise.

    Returns
    -------
    array of shape (extractor.embedding_size,)
    """
    total = clipped_sum(
        images,
        extractor=extractor,
        augmentation=augmentation,
        clip_norm=clip_norm,
        device=device,
    )
    return total + noise.normal(total.shape, std=noise_std)


def synthesize(
    features: ArrayLike,
    labels: ArrayLike,
    *,
    classes: int,
    group_size: float,
    iterations: int,
    noise_std: float,
    clip_norm: float,
    delta: float,
    adjacency: rdpkit.Adjacency,
    noise: NoiseSource,
    seed: int,
    class_sizes: Sequence[int] | None = None,
    samples_per_class: int = 50,
    learning_rate: float = 1.0,
    momentum: float = 0.0,
    operations: Sequence[str] = OPERATIONS,
    extractor_width: int = 128,
    extractor_depth: int = 3,
    image_shape: tuple[int, int, int] | None = None,
    device: str = "cpu",
    checkpoint: Checkpoint | None = None,
    progress: Progress | None = None,
) -> Release:
    """Learn synthetic records from noisy sums of clipped representations.

    In each iteration a fresh ConvNet with random weights is drawn; per class, an augmentation and
    a Poisson sample of the records. The sum of the sample's clipped representations plus Gaussian
    noise is all that is ever seen of the data. The synthetic records take a gradient step that
    brings their own clipped representations, times ``group_size / samples_per_class``, nearer.

    Guarantee
    ---------
    That of :class:`rdpkit.NDPDC` with these parameters: per class and iteration one Poisson-sampled
    Gaussian with sampling probability ``group_size / class size`` and sensitivity ``clip_norm``
    under add-or-remove-one, ``2 * clip_norm`` under replace-one (where a changed label touches two
    classes). Extractors, augmentations and steps are drawn from public randomness and from earlier
    noisy sums: adaptive composition and post-processing.

    Assumes
    -------
    The class sizes from which the sampling probabilities are made are public, and the manifest
    states them; with ``class_sizes`` the probabilities are truly the same for neighbours.
    Rounding inside of the extractor moves no sum by more than 1e-4 of ``clip_norm``, which is kept
    free for it.

    Parameters
    ----------
    features : array of shape (n, channels, height, width), or (n, d) with ``image_shape``
        Pixels in [-1, 1], scaled by constants.
    labels : integer array of shape (n,)
        Each class at least once, unless ``class_sizes`` is given.
    classes : int
        Number of classes.
    group_size : float
        Expected size of a Poisson sample (L of the paper, where it is 50).
    iterations : int
        Number of iterations (I; 10000).
    noise_std : float
        Standard deviation of the noise on each coordinate of the sum (sigma; 1).
    clip_norm : float
        Largest L2 norm of a representation (G; 1).
    delta : float
        At which the manifest states epsilon.
    adjacency : Adjacency
        Neighbouring relation of the manifest's guarantee.
    noise : NoiseSource
        Source of the noise and of the samples, which must both stay secret.
    seed : int
        Decides the initial records, extractors and augmentations; public.
    class_sizes : sequence of int, optional
        Public numbers: records of class c join with probability ``group_size / class_sizes[c]``. By
        default the data's own counts, which is noted.
    samples_per_class : int
        Synthetic records per class (M).
    learning_rate, momentum : float
        Of the step on the synthetic records (eta); the paper's algorithm has no momentum.
    operations : sequence of str
        Augmentations to draw from; leave out "flip" for digits.
    extractor_width, extractor_depth : int
        Of the ConvNets.
    image_shape : (int, int, int), optional
        Channels, height and width of flat records.
    device : str
        Where torch computes.
    checkpoint : Checkpoint, optional
        Where an unfinished run is kept, and taken up from if it is there. It holds the synthetic
        records of some iteration, which the guarantee covers. With seeded noise the release is
        the same, bit for bit, as without an interruption; with secret noise what is left is
        drawn afresh. The file is not removed.
    progress : callable, optional
        Called with (done, iterations) after each iteration.

    Returns
    -------
    Release
        ``classes * samples_per_class`` records in the shape of the given ones, sorted by class.
        Pixels are not clipped to [-1, 1].

    Raises
    ------
    ValueError
        If an argument is out of range, the arrays do not fit together, or the checkpoint is not
        one of this run.
    ArithmeticError
        If a representation or a synthetic pixel is not finite.

    Source
    ------
    Zheng and Li, Differentially Private Dataset Condensation (2023), Algorithm 2 and Theorem 3.2.
    """
    data = labelled_images(features, labels, classes=classes, image_shape=image_shape)
    sizes, notes = data.public_sizes(class_sizes)
    event = rdpkit.NDPDC(
        class_sizes=sizes,
        group_size=group_size,
        iterations=iterations,
        noise_std=noise_std,
        clip_norm=clip_norm,
    )
    per_class = _validate.integer("samples_per_class", samples_per_class)
    rate = _validate.positive("learning_rate", learning_rate)
    _validate.non_negative("momentum", momentum)
    names = check_operations(operations)
    parameters: dict[str, Any] = {
        "samples_per_class": per_class,
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
    synthetic = [
        torch.randn(per_class, *data.shape, generator=generator).to(device).requires_grad_()
        for _ in range(classes)
    ]
    optimizer = torch.optim.SGD(synthetic, lr=rate, momentum=momentum)
    by_class = [data.of_class(label) for label in range(classes)]
    state = _State(synthetic, optimizer=optimizer, generator=generator, noise=noise)
    first = 0
    if checkpoint is not None:
        first = state.resume(checkpoint, iterations, event=event_to_table(event), **parameters)
    for iteration in range(first, iterations):
        extractor = random_convnet(
            draw_seed(generator),
            shape=data.shape,
            width=extractor_width,
            depth=extractor_depth,
            device=device,
        )
        optimizer.zero_grad()
        for images, size, records in zip(by_class, sizes, synthetic, strict=True):
            augmentation = draw_augmentation(generator, operations=names)
            chosen = poisson_sample(len(images), event.group_size / size, noise=noise)
            target = noisy_sum(
                images[chosen],
                extractor=extractor,
                augmentation=augmentation,
                clip_norm=event.clip_norm,
                noise_std=event.noise_std,
                noise=noise,
                device=device,
            )
            changed = records if augmentation is None else augmentation(records)
            clipped = clip_representations(extractor.embed(changed), clip_norm=event.clip_norm)
            matched = clipped.sum(dim=0) * (event.group_size / per_class)
            loss = (matched - torch.from_numpy(target).to(device)).square().sum()
            loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        if checkpoint is not None and (checkpoint.is_due() or iteration + 1 == iterations):
            state.save(checkpoint, iteration + 1)
        report(iteration + 1, iterations)
    pixels = torch.cat([records.detach() for records in synthetic]).cpu().numpy()
    return release(
        data.as_given(pixels),
        balanced_labels(classes, per_class),
        event=event,
        delta=delta,
        adjacency=adjacency,
        parameters=parameters,
        noise=noise,
        notes=notes,
    )


class _State:
    """All that changes from iteration to iteration, to and from a checkpoint."""

    def __init__(
        self,
        synthetic: list[torch.Tensor],
        *,
        optimizer: torch.optim.SGD,
        generator: torch.Generator,
        noise: NoiseSource,
    ) -> None:
        self._synthetic = synthetic
        self._optimizer = optimizer
        self._generator = generator
        self._noise = noise

    def save(self, checkpoint: Checkpoint, iteration: int) -> None:
        arrays = {
            "iteration": np.array([iteration]),
            "generator": self._generator.get_state().numpy(),
            "synthetic": self._stacked(self._synthetic),
        }
        if self._noise.reproducible:
            arrays["position"] = np.array([self._noise.position])
        moved = [
            self._optimizer.state[records].get("momentum_buffer") for records in self._synthetic
        ]
        if all(buffer is not None for buffer in moved):
            arrays["momentum"] = self._stacked(moved)
        checkpoint.save(arrays)

    @staticmethod
    def _stacked(tensors: list[torch.Tensor]) -> NDArray[np.float32]:
        found: NDArray[np.float32] = torch.stack([t.detach() for t in tensors]).cpu().numpy()
        return found

    def resume(self, checkpoint: Checkpoint, iterations: int, **parameters: Any) -> int:
        """Take up what is saved, if anything: the number of iterations that are done."""
        arrays = checkpoint.resume(reproducible_noise=self._noise.reproducible, **parameters)
        if arrays is None:
            return 0
        try:
            for records, saved in zip(self._synthetic, arrays["synthetic"], strict=True):
                records.detach().copy_(torch.from_numpy(saved))
            if self._optimizer.defaults["momentum"]:
                for records, saved in zip(self._synthetic, arrays["momentum"], strict=True):
                    buffer = torch.from_numpy(saved).to(records.device)
                    self._optimizer.state[records]["momentum_buffer"] = buffer
            self._generator.set_state(torch.from_numpy(arrays["generator"]))
            if self._noise.reproducible:
                self._noise.advance(int(arrays["position"].item()))
            done = arrays["iteration"].item()
            # A number below 0 would have more noisy sums taken than the account knows of.
            return int(_validate.integer("iteration", done, minimum=1, maximum=iterations))
        except (KeyError, ValueError, TypeError, RuntimeError) as error:
            raise checkpoint.wrong(f"is not one of NDPDC ({error})") from None


__all__ = ["clip_representations", "clipped_sum", "noisy_sum", "synthesize"]
