"""NDPDC: synthetic records whose representations match noisy sums of private ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from rdpkit import Adjacency, _validate
from rdpkit.events import NDPDC
from rdpkit.formats.tables import event_to_table
from rdpkit.mechanisms.algorithms.specification import Mechanism
from rdpkit.mechanisms.models.classifiers import ConvNet
from rdpkit.mechanisms.parts.augmentation import Augmentation, draw_augmentation
from rdpkit.mechanisms.parts.counts import NUMBER_BY_CLASS, Sizes
from rdpkit.mechanisms.parts.labelled_images import (
    Floats,
    LabelledImages,
    balanced_labels,
    labelled_images,
)
from rdpkit.mechanisms.parts.networks import CondensationOptions, random_convnet
from rdpkit.mechanisms.parts.noise import NoiseSource
from rdpkit.mechanisms.parts.privacy import Privacy
from rdpkit.mechanisms.parts.records import Batch
from rdpkit.mechanisms.parts.sampling import poisson_sample
from rdpkit.mechanisms.parts.threads import training_threads
from rdpkit.mechanisms.parts.verify_target import (
    LabelledRecords,
    VerifyTarget,
    on_one_thread,
    one_more_record,
)
from rdpkit.mechanisms.releases.computation import (
    ON_PROCESSOR,
    Checkpoint,
    Computation,
    counts_of_run,
)
from rdpkit.mechanisms.releases.release import Release, release

_MARGIN = 1e-4
"""Share of the clip norm that is kept free for rounding.

Representations are computed in single precision, and the order of summation inside of a convolution
may depend on the size of the batch. So one additional record may change the last digits of the
representations of all other records. The change is about 1e-7 of the norm for each record, and a
sample has some hundreds of them.
"""


def clip_representations(
    representations: torch.Tensor,  # Shape (n, k)
    *,
    clip_norm: float,  # Largest norm (G of the paper)
) -> torch.Tensor:  # Shape (n, k), float64
    """Scale each row down to an L2 norm of at most ``clip_norm``, less a margin for rounding.

    Raises ArithmeticError if a representation is not finite: no clipping bounds its norm.
    """
    rows = representations.double()
    if not bool(torch.isfinite(rows).all()):
        raise ArithmeticError("A representation is not a finite number; its norm has no bound.")
    bound = clip_norm * (1.0 - _MARGIN)
    # The gradient passes through the scale. The clamp makes the scale differentiable at a row of
    # zeros, too.
    scale = bound / rows.square().sum(dim=1, keepdim=True).clamp(min=bound**2).sqrt()
    return rows * scale


def clipped_sum(
    images: Floats,  # A sample of one class; shape (n, channels, height, width)
    *,
    extractor: ConvNet,  # Frozen, with no layer that mixes records
    augmentation: Augmentation | None,  # Applied to each record first
    clip_norm: float,  # Largest norm of one record's part
    device: str | torch.device = "cpu",  # Where the representations are computed
) -> NDArray[np.float64]:  # Shape (extractor.embedding_size,)
    """Sum of the clipped representations of some records: what the noise is added to.

    One record more or less moves it by at most ``clip_norm``; no record at all gives zeros.
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
) -> NDArray[np.float64]:  # Shape (extractor.embedding_size,)
    """:func:`clipped_sum` plus N(0, noise_std^2 I): all that is seen of the data."""
    total = clipped_sum(
        images,
        extractor=extractor,
        augmentation=augmentation,
        clip_norm=clip_norm,
        device=device,
    )
    return total + noise.normal(total.shape, std=noise_std)


@dataclass(frozen=True, slots=True, kw_only=True)
class NDPDCOptions(CondensationOptions):
    """Options of NDPDC, besides those of every such method, with the letters of the paper.

    In the paper, ``iterations`` is I (10000), ``samples_per_class`` is M, and ``learning_rate`` is
    eta. The paper's algorithm has no momentum.
    """

    group_size: float  # Expected size of a Poisson sample (L; 50 in the paper)
    noise_std: float
    """Standard deviation of the noise on each coordinate of the sum (sigma; 1 in the paper)."""
    clip_norm: float  # Largest L2 norm of a representation (G; 1 in the paper)


def ndpdc_event(options: NDPDCOptions, class_sizes: Sizes, dimension: int = 0) -> NDPDC:
    """The account of :func:`synthesize` for classes of these sizes."""
    return NDPDC(
        class_sizes=class_sizes,
        group_size=options.group_size,
        iterations=options.iterations,
        noise_std=options.noise_std,
        clip_norm=options.clip_norm,
    )


def synthesize(
    features: ArrayLike,
    labels: ArrayLike,
    *,
    classes: int,
    options: NDPDCOptions,
    privacy: Privacy,
    seed: int,
    image_shape: tuple[int, int, int] | None = None,
    computation: Computation = ON_PROCESSOR,
) -> Release:
    """Learn synthetic records from noisy sums of clipped representations.

    Each iteration draws a ConvNet with random weights and, for each class, an augmentation and a
    Poisson sample of the records. Only the sum of the sample's clipped representations, plus
    Gaussian noise, is ever seen of the data. The synthetic records then take a gradient step that
    brings the sum of their own clipped representations, times ``group_size / samples_per_class``,
    nearer to the noisy sum.

    Arguments: see :class:`rdpkit.mechanisms.algorithms.specification.Mechanism`. Records of a class
    join with probability ``group_size`` over the number that ``privacy.counts`` gives for the
    class. The seed decides the initial records, extractors and augmentations. A checkpoint holds
    the synthetic records of some iteration, which the guarantee covers. With seeded noise an
    interrupted run ends with the same release, bit for bit. With secret noise, the remaining
    iterations draw fresh noise. The file is not removed. Returns ``classes * samples_per_class``
    records in the shape of the given ones, sorted by class. Pixels are not clipped to [-1, 1].

    Guarantee
    ---------
    That of :class:`rdpkit.NDPDC` with these parameters: per class and iteration one Poisson-sampled
    Gaussian with sampling probability ``group_size / class size`` and sensitivity ``clip_norm``
    under add-or-remove-one, ``2 * clip_norm`` under replace-one (where a changed label touches two
    classes). Extractors, augmentations and steps depend on public randomness and on earlier noisy
    sums only, so adaptive composition and post-processing cover them.

    Assumes
    -------
    The class sizes from which the sampling probabilities are computed are public numbers, or noisy
    ones that the guarantee pays for; they need not be right. Rounding inside of the extractor moves
    no sum by more than 1e-4 of ``clip_norm``, the margin that is kept free for it.

    Source
    ------
    Zheng and Li, Differentially Private Dataset Condensation (2023), Algorithm 2 and Theorem 3.2.
    """
    data = labelled_images(features, labels, classes=classes, image_shape=image_shape)
    known = counts_of_run(data.class_sizes(), NUMBER_BY_CLASS, privacy, computation.checkpoint)
    counts = known.for_samples_of(options.group_size)
    event = ndpdc_event(options, counts.sizes)
    parameters = options.as_parameters(shape=data.shape, seed=seed)
    run = _Learning(data, event=event, options=options, noise=privacy.noise, seed=seed)
    run.iterate(computation, {**parameters, "counts": counts.as_dict()})
    return release(
        data.as_given(run.pixels()),
        balanced_labels(classes, options.samples_per_class),
        event=event,
        privacy=privacy,
        mechanism=SPEC.name,
        tested_as=SPEC.name,
        device=computation.device,
        parameters=parameters,
        counts=counts,
    )


class _Learning:
    """The synthetic records and everything else that changes from iteration to iteration."""

    def __init__(
        self,
        data: LabelledImages,
        *,
        event: NDPDC,
        options: NDPDCOptions,
        noise: NoiseSource,
        seed: int,
    ) -> None:
        self._data, self._event, self._options, self._noise = data, event, options, noise
        self._generator = torch.Generator().manual_seed(seed)
        self._by_class = [data.of_class(label) for label in range(data.classes)]
        count = options.samples_per_class
        self._synthetic = [
            torch.randn(count, *data.shape, generator=self._generator) for _ in self._by_class
        ]
        self._optimizer: torch.optim.SGD

    @training_threads()
    def iterate(self, computation: Computation, parameters: dict[str, Any]) -> None:
        """Take all steps, or those that a checkpoint of these parameters lacks."""
        device, checkpoint = computation.torch_device, computation.checkpoint
        options = self._options
        self._synthetic = [start.to(device).requires_grad_() for start in self._synthetic]
        self._optimizer = torch.optim.SGD(
            self._synthetic, lr=options.learning_rate, momentum=options.momentum
        )
        first = 0
        if checkpoint is not None:
            first = self._resume(checkpoint, event=event_to_table(self._event), **parameters)
        for done in range(first + 1, options.iterations + 1):
            self._step(device)
            if checkpoint is not None and (checkpoint.is_due() or done == options.iterations):
                self._save(checkpoint, done)
            computation.report(done, options.iterations)

    def _step(self, device: str) -> None:
        event, options = self._event, self._options
        extractor = options.draw_extractor(self._generator, shape=self._data.shape, device=device)
        self._optimizer.zero_grad()
        for images, size, records in zip(
            self._by_class, event.class_sizes, self._synthetic, strict=True
        ):
            augmentation = draw_augmentation(self._generator, operations=options.operations)
            chosen = poisson_sample(len(images), event.group_size / size, noise=self._noise)
            target = noisy_sum(
                images[chosen],
                extractor=extractor,
                augmentation=augmentation,
                clip_norm=event.clip_norm,
                noise_std=event.noise_std,
                noise=self._noise,
                device=device,
            )
            changed = records if augmentation is None else augmentation(records)
            clipped = clip_representations(extractor.embed(changed), clip_norm=event.clip_norm)
            matched = clipped.sum(dim=0) * (event.group_size / options.samples_per_class)
            loss = (matched - torch.from_numpy(target).to(device)).square().sum()
            loss.backward()  # type: ignore[no-untyped-call]
        self._optimizer.step()

    def pixels(self) -> NDArray[np.float32]:
        """The synthetic records, sorted by class."""
        found: NDArray[np.float32] = (
            torch.cat([records.detach() for records in self._synthetic]).cpu().numpy()
        )
        return found

    def _save(self, checkpoint: Checkpoint, iteration: int) -> None:
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

    def _resume(self, checkpoint: Checkpoint, **parameters: Any) -> int:
        """Take up what is saved, if anything, and return the number of iterations that are done."""
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
            # A negative number would let the run take more noisy sums than it accounts for.
            last = self._options.iterations
            return int(_validate.integer("iteration", done, minimum=1, maximum=last))
        except (KeyError, ValueError, TypeError, RuntimeError) as error:
            raise checkpoint.wrong(f"is not one of NDPDC ({error})") from None


def _prepare(dataset: LabelledRecords) -> tuple[list[Floats], ConvNet]:
    data = labelled_images(dataset.features, dataset.labels, classes=2, image_shape=(1, 2, 2))
    extractor = random_convnet(1, shape=(1, 2, 2), width=2, depth=1)
    return [data.of_class(label) for label in range(2)], extractor


def _one_iteration(prepared: tuple[list[Floats], ConvNet], noise: NoiseSource) -> list[Batch]:
    """One iteration: a noisy sum of clipped representations for each class."""
    by_class, extractor = prepared
    sums = []
    for images, size in zip(by_class, _SMALL.class_sizes, strict=True):
        chosen = poisson_sample(len(images), _SMALL.group_size / size, noise=noise)
        sums.append(
            noisy_sum(
                images[chosen],
                extractor=extractor,
                augmentation=None,
                clip_norm=_SMALL.clip_norm,
                noise_std=_SMALL.noise_std,
                noise=noise,
            )
        )
    return [(np.stack(sums), np.arange(2))]


_SMALL = NDPDC(class_sizes=(4, 4), group_size=3.0, iterations=1, noise_std=1.0, clip_norm=1.0)
verify_target = VerifyTarget(
    event=_SMALL,
    adjacency=Adjacency.ADD_OR_REMOVE_ONE,
    prepare=_prepare,
    run=on_one_thread(_one_iteration),
    dimension=4,
    pair=one_more_record,
)

SPEC = Mechanism(
    name="ndpdc",
    synthesize=synthesize,
    options=NDPDCOptions,
    features="signed",
    event=ndpdc_event,
    calibrated=("noise_std",),
    planned="group_size",
    counts=NUMBER_BY_CLASS,
    verify=verify_target,
)
