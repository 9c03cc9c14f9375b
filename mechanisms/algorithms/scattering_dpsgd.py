"""DP-SGD of a linear classifier on scattering features: what private training gives.

Nothing synthetic is made. The release is the classifier, and its accuracy is a ceiling to compare
synthetic records with: they can be used for more than one task, and pay for that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from rdpkit import DPSGD, Adjacency, _validate
from rdpkit.mechanisms.algorithms.specification import Mechanism
from rdpkit.mechanisms.parts.checks import PrivacyCheck
from rdpkit.mechanisms.parts.counts import NUMBER_OF_ALL
from rdpkit.mechanisms.parts.labelled_images import Floats, labelled_images
from rdpkit.mechanisms.parts.noise import NoiseSource
from rdpkit.mechanisms.parts.privacy import Privacy
from rdpkit.mechanisms.parts.records import Batch
from rdpkit.mechanisms.parts.sampling import poisson_sample
from rdpkit.mechanisms.parts.scattering import KeptFeatures, scattering, scattering_channels
from rdpkit.mechanisms.parts.verify_target import (
    DataPair,
    LabelledRecords,
    VerifyTarget,
    on_one_thread,
)
from rdpkit.mechanisms.releases.computation import ON_PROCESSOR, Computation
from rdpkit.mechanisms.releases.release import Release, release
from rdpkit.mechanisms.releases.streaming import as_parameters

_MARGIN = 1e-6
"""Share of the clip norm that is kept free for rounding.

Gradients are computed in double precision, and one record more may change the last digits of all
others: by 1e-12 of the norm together, for a million records.
"""

# Records that are multiplied at once: their doubles fit into the cache of a core.
_BLOCK = 128
# Records whose features are normalised at once.
_PIECE = 1024
# What is added to a standard deviation before features are divided by it.
_LEAST_DEVIATION = 1e-5


@dataclass(frozen=True, slots=True, kw_only=True)
class ScatteringDPSGDOptions:
    """Options of DP-SGD on scattering features."""

    steps: int  # Noisy gradients, and steps of the classifier
    batch_size: int  # Expected number of records in a batch
    noise_multiplier: float
    """Standard deviation of the noise on the sum of clipped gradients, over the clipping norm."""
    clip_norm: float = 0.1  # Largest L2 norm of one record's gradient
    # Of gradient descent.
    learning_rate: float = 8.0
    momentum: float = 0.9
    step_noise: float = 0.005
    """The learning rate is lowered where learning_rate * noise_multiplier / batch_size, the noise
    of a step in clipping norms, would be more than this. It depends on public numbers alone.
    """
    # Widths and directions of the wavelets.
    scales: int = 2
    angles: int = 8
    group_channels: int = 3
    """A record's features are centred and divided by their standard deviation in groups of so many
    channels; it divides the number of channels, which is 81 for 2 scales and 8 angles.
    """

    def __post_init__(self) -> None:
        for name in ("steps", "batch_size", "scales", "angles", "group_channels"):
            _validate.integer(name, getattr(self, name))
        for name in ("clip_norm", "learning_rate", "step_noise"):
            _validate.positive(name, getattr(self, name))
        if not 0.0 <= _validate.non_negative("momentum", self.momentum) < 1.0:
            raise _validate.fail("momentum", "in [0, 1)", self.momentum)
        channels = scattering_channels(scales=self.scales, angles=self.angles)
        if channels % self.group_channels:
            raise _validate.fail(
                "group_channels", f"to divide the number of channels, {channels}",
                self.group_channels,
            )  # fmt: skip

    def rate(self) -> float:
        """The learning rate for this noise."""
        return min(self.learning_rate, self.step_noise * self.batch_size / self.noise_multiplier)

    def event(self, records: int) -> DPSGD:
        """What is released of a data set of ``records`` records."""
        return DPSGD(
            noise_multiplier=self.noise_multiplier,
            dataset_size=records,
            batch_size=self.batch_size,
            steps=self.steps,
        )


def scattering_rows(
    images: Floats,  # Each colour is scattered on its own; shape (n, channels, height, width)
    # Wavelets, and the groups of channels that are normalised together.
    options: ScatteringDPSGDOptions,
) -> Floats:  # Shape (n, d): 3969 features of a grey image of 28 x 28 pixels
    """Scattering features of each image, normalised within the image: nothing else is looked at."""
    n, colours, height, width = images.shape
    found = scattering(
        images.reshape(n * colours, height, width), scales=options.scales, angles=options.angles
    )
    groups = colours * found.shape[1] // options.group_channels
    rows = found.reshape(n, groups, options.group_channels * found.shape[2] * found.shape[3])
    for start in range(0, n, _PIECE):
        part = rows[start : start + _PIECE]
        part -= part.mean(axis=2, keepdims=True)
        part /= np.sqrt(np.square(part).mean(axis=2, keepdims=True)) + _LEAST_DEVIATION
    return rows.reshape(n, groups * rows.shape[2])


_KEPT = KeptFeatures()


def kept_rows(images: Floats, options: ScatteringDPSGDOptions) -> Floats:
    """:func:`scattering_rows`, computed once for the last images; not to be changed in place."""
    settings = (options.scales, options.angles, options.group_channels)
    return _KEPT.rows(images, settings, lambda: scattering_rows(images, options))


class Gradients:
    """Sums of clipped gradients of a linear classifier: of the cross-entropy, by its weights.

    The gradient of a record x with label y is (p - e_y) (x, 1)', where p are the probabilities that
    the classifier gives to the classes. So its norm is |p - e_y| times |(x, 1)|, and no gradient
    of a single record has to be written down.
    """

    def __init__(
        self,
        rows: Floats,  # Features; shape (n, d)
        labels: NDArray[np.int64],  # Classes; shape (n,)
        *,
        clip_norm: float,  # Largest L2 norm of one record's gradient
    ) -> None:
        self._rows = torch.from_numpy(rows)
        self._labels = torch.from_numpy(labels)
        self._bound = clip_norm * (1.0 - _MARGIN)
        self._norms = torch.empty(len(rows), dtype=torch.float64)
        for start in range(0, len(rows), _PIECE):
            part = self._rows[start : start + _PIECE].double()
            self._norms[start : start + _PIECE] = (part.square().sum(dim=1) + 1.0).sqrt()

    def clipped_sum(
        self,
        chosen: NDArray[np.int64],  # Numbers of the records
        # The classifier; the last column is what is added to a class's score; shape (classes, d +
        # 1)
        weights: torch.Tensor,
    ) -> torch.Tensor:
        """The sum over some records: one record more or less moves it by the clip norm at most."""
        total = torch.zeros_like(weights)
        for start in range(0, len(chosen), _BLOCK):
            some = torch.from_numpy(chosen[start : start + _BLOCK])
            rows = self._rows.index_select(0, some).double()
            scores = weights[:, :-1] @ rows.T + weights[:, -1:]
            wrong = torch.softmax(scores, dim=0)
            wrong[self._labels[some], torch.arange(len(some))] -= 1.0
            # Scores that overflow give no numbers, and no gradient.
            wrong.nan_to_num_(nan=0.0)
            norms = wrong.square().sum(dim=0).sqrt() * self._norms[some]
            wrong *= self._bound / norms.clamp(min=self._bound)
            total[:, :-1].addmm_(wrong, rows)
            total[:, -1] += wrong.sum(dim=1)
        return total


def noisy_gradient(
    gradients: Gradients,  # Of all private records
    weights: torch.Tensor,  # The classifier before the step; shape (classes, d + 1)
    *,
    event: DPSGD,  # Its sampling probability and noise multiplier are used
    # How many private records there are, each of which joins with the event's probability.
    records: int,
    clip_norm: float,  # As for ``gradients``
    noise: NoiseSource,  # Of the sample and of the noise
) -> torch.Tensor:
    """One step's release: a noisy sum of clipped gradients over a Poisson sample."""
    chosen = poisson_sample(records, event.sampling_probability, noise=noise)
    total = gradients.clipped_sum(chosen, weights).numpy()
    noise.add_normal(total, std=event.noise_multiplier * clip_norm)
    return torch.from_numpy(total)


def synthesize(
    features: ArrayLike,
    labels: ArrayLike,
    *,
    classes: int,
    options: ScatteringDPSGDOptions,
    privacy: Privacy,
    image_shape: tuple[int, int, int] | None = None,
    computation: Computation = ON_PROCESSOR,
) -> Release:
    """Train a linear classifier on scattering features by DP-SGD, and release its weights.

    Arguments: see :class:`rdpkit.mechanisms.algorithms.specification.Mechanism`. Images are scaled
    to [0, 1] and have more than 2^scales pixels a side. The features of the last images are kept in
    memory: a gigabyte for MNIST. Returns a classifier, not synthetic records: features of shape
    (classes, d + 1) are its weights, one row a class with the constant last, and labels name the
    class of each row.

    Guarantee
    ---------
    That of :class:`rdpkit.DPSGD` with Poisson sampling: each step sees the data through one noisy
    sum over a Poisson sample alone, whose terms have norms of at most ``clip_norm``. Features of a
    record depend on that record and on public constants. Steps, momentum and the reader are
    post-processing.

    Assumes
    -------
    The number of records from which the sampling probability is computed is a public number, or a
    noisy one that the guarantee pays for; it need not be right. Rounding moves no sum by more than
    1e-6 of ``clip_norm``, the margin that is kept free for it.

    Source
    ------
    Tramer and Boneh 2021, Differentially private learning needs better features (arXiv
    2011.11660v3), with group normalisation.
    """
    data = labelled_images(features, labels, classes=classes, image_shape=image_shape)
    known = privacy.known_counts(data.class_sizes(), NUMBER_OF_ALL)
    counts = known.for_samples_of(options.batch_size)
    event = options.event(sum(counts.sizes))
    rows = kept_rows(data.images, options)
    gradients = Gradients(rows, data.labels, clip_norm=options.clip_norm)

    def step(weights: torch.Tensor) -> torch.Tensor:
        return noisy_gradient(
            gradients,
            weights,
            event=event,
            records=len(rows),
            clip_norm=options.clip_norm,
            noise=privacy.noise,
        )

    weights = torch.zeros(classes, rows.shape[1] + 1, dtype=torch.float64)
    return release(
        _descended(weights, step, options, computation).astype(computation.dtype),
        np.arange(classes),
        event=event,
        privacy=privacy,
        mechanism=SPEC.name,
        tested_as=SPEC.name,
        parameters={"classes": classes, "image_shape": list(data.shape), **as_parameters(options)},
        notes=(
            "a classifier, not synthetic records: each row of features is the weights of the class "
            "that labels name, with its constant last",
        ),
        checks=(_PUBLIC,),
        counts=counts,
    )


def _descended(
    weights: torch.Tensor,
    step: Callable[[torch.Tensor], torch.Tensor],
    options: ScatteringDPSGDOptions,
    computation: Computation,
) -> NDArray[np.float64]:
    """The classifier after all steps of gradient descent with momentum."""
    moved = torch.zeros_like(weights)
    for done in range(1, options.steps + 1):
        moved = options.momentum * moved + step(weights) / options.batch_size
        weights = weights - options.rate() * moved
        computation.report(done, options.steps)
    if not bool(torch.isfinite(weights).all()):
        raise ArithmeticError("Weights grew without bound; choose a smaller learning_rate.")
    found: NDArray[np.float64] = weights.numpy()
    return found


def without_privacy(
    # Records in [0, 1] to train on, at least one; shape (n, channels, height, width)
    images: Floats,
    labels: NDArray[np.int64],  # Their classes; shape (n,)
    tested: Floats,  # Records to classify; shape (m, channels, height, width)
    *,
    classes: int,  # Number of classes
) -> NDArray[np.int64]:
    """What the same classifier says of records if it is trained without noise: a ceiling."""
    # Steps with samples of 4096 records or of all.
    options = ScatteringDPSGDOptions(
        steps=300, batch_size=min(4096, len(images)), noise_multiplier=1e-9
    )
    rows = kept_rows(images, options)
    gradients = Gradients(rows, labels, clip_norm=options.clip_norm)
    rng = np.random.default_rng(0)

    def step(weights: torch.Tensor) -> torch.Tensor:
        chosen = rng.choice(len(rows), options.batch_size, replace=False)
        return gradients.clipped_sum(chosen, weights)

    start = torch.zeros(classes, rows.shape[1] + 1, dtype=torch.float64)
    return _best(_descended(start, step, options, ON_PROCESSOR), kept_rows(tested, options))


def _best(weights: NDArray[Any], rows: Floats) -> NDArray[np.int64]:
    """The class with the largest score for each record."""
    small = weights.astype(np.float32)
    found: NDArray[np.int64] = (rows @ small[:, :-1].T + small[:, -1]).argmax(axis=1)
    return found


_PUBLIC = PrivacyCheck(
    name="public_parameters",
    status="holds",
    sentence="features of a record are computed from that record and from public constants",
)


def read(
    made: Release,  # As :func:`synthesize` makes it
    rows: Floats,  # Records in [0, 1], as those that it was trained on; shape (n, d)
) -> NDArray[np.int64]:  # Shape (n,)
    """Labels that a released classifier gives to records."""
    parameters = dict(made.manifest.parameters)
    shape = tuple(parameters["image_shape"])
    names = ScatteringDPSGDOptions.__dataclass_fields__
    options = ScatteringDPSGDOptions(**{name: parameters[name] for name in names})
    found = kept_rows(np.asarray(rows, np.float32).reshape(len(rows), *shape), options)
    labels: NDArray[np.int64] = np.asarray(made.labels)[_best(np.asarray(made.features), found)]
    return labels


_SMALL = ScatteringDPSGDOptions(
    steps=1,
    batch_size=3,
    noise_multiplier=1.0,
    clip_norm=1.0,
    scales=1,
    angles=1,
    group_channels=1,
)
_SMALL_EVENT = _SMALL.event(4)


def _prepare(dataset: LabelledRecords) -> tuple[Gradients, int, int]:
    data = labelled_images(dataset.features, dataset.labels, classes=2, image_shape=(1, 4, 4))
    rows = scattering_rows(data.images, _SMALL)
    return Gradients(rows, data.labels, clip_norm=_SMALL.clip_norm), len(rows), rows.shape[1]


def _one_step(prepared: tuple[Gradients, int, int], noise: NoiseSource) -> list[Batch]:
    """The first step: a noisy sum of clipped gradients."""
    gradients, records, dimension = prepared
    found = noisy_gradient(
        gradients,
        torch.zeros(2, dimension + 1, dtype=torch.float64),
        event=_SMALL_EVENT,
        records=records,
        clip_norm=_SMALL.clip_norm,
        noise=noise,
    )
    return [(found.numpy(), np.arange(2))]


def _one_record_more() -> DataPair:
    """Images of sixteen pixels. Only the first data set has a record at all."""
    rows = np.random.default_rng(0).uniform(0.0, 1.0, (1, 16))
    labels = np.zeros(1, dtype=np.int64)
    return (rows, labels), (rows[:0], labels[:0])


verify_target = VerifyTarget(
    event=_SMALL_EVENT,
    adjacency=Adjacency.ADD_OR_REMOVE_ONE,
    prepare=_prepare,
    run=on_one_thread(_one_step),
    dimension=16,
    pair=_one_record_more,
)

SPEC = Mechanism(
    name="scattering-dpsgd",
    synthesize=synthesize,
    options=ScatteringDPSGDOptions,
    event=lambda options, class_sizes, dimension: options.event(sum(class_sizes)),
    calibrated=("noise_multiplier",),
    counts=NUMBER_OF_ALL,
    sample_size="batch_size",
    verify=verify_target,
    kind="classifier",
    reader=read,
)
