"""What the heavier mechanisms release of the records, as callables that ``rdpkit verify`` can run.

Their synthetic records are post-processing of noisy sums or gradients. Those are tested, since they
say most, made by the functions that ``synthesize`` calls, on images of a few pixels. A test of each
mechanism shows that ``synthesize`` sees nothing else.

    rdpkit verify rdpkit.mechanisms.algorithms.verify_baselines:ndpdc
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
import torch
from rdpkit.mechanisms.algorithms import dp_hp as hermite_module
from rdpkit.mechanisms.algorithms import dp_merf as fourier_module
from rdpkit.mechanisms.algorithms import dp_sinkhorn as sinkhorn_module
from rdpkit.mechanisms.algorithms import ndpdc as ndpdc_module
from rdpkit.mechanisms.algorithms.verify_targets import DataPair, DataSet, Runner, VerifyTarget
from rdpkit.mechanisms.parts import linear_matching as linear_module
from rdpkit.mechanisms.parts.labelled_images import LabelledImages, labelled_images
from rdpkit.mechanisms.parts.mean_embedding import FeatureMap, noisy_sums
from rdpkit.mechanisms.parts.noise import NoiseSource
from rdpkit.mechanisms.parts.random_extractor import random_convnet
from rdpkit.mechanisms.parts.sampling import poisson_sample
from rdpkit.mechanisms.releases.streaming import Batch

from rdpkit import NDPDC, Adjacency, Event, Gaussian, PoissonSampledGaussian

_CLASSES = 2
_PIXELS = 4
_SHAPE = (1, 2, 2)
_BOTH = np.arange(_CLASSES)


def _images(dataset: DataSet, shape: tuple[int, int, int] = _SHAPE) -> LabelledImages:
    return labelled_images(dataset.features, dataset.labels, classes=_CLASSES, image_shape=shape)


def _ndpdc(event: NDPDC) -> Callable[[DataSet], Runner]:
    """One iteration: a noisy sum of clipped representations for each class."""
    extractor = random_convnet(1, shape=_SHAPE, width=2, depth=1)

    def prepare(dataset: DataSet) -> Runner:
        data = _images(dataset)
        by_class = [data.of_class(label) for label in range(_CLASSES)]

        def run(noise: NoiseSource) -> list[Batch]:
            sums = []
            for images, size in zip(by_class, event.class_sizes, strict=True):
                chosen = poisson_sample(len(images), event.group_size / size, noise=noise)
                sums.append(
                    ndpdc_module.noisy_sum(
                        images[chosen],
                        extractor=extractor,
                        augmentation=None,
                        clip_norm=event.clip_norm,
                        noise_std=event.noise_std,
                        noise=noise,
                    )
                )
            return [(np.stack(sums), _BOTH)]

        return run

    return prepare


def _embedding(event: Gaussian, feature_map: FeatureMap) -> Callable[[DataSet], Runner]:
    """Noisy class-wise sums of features."""

    def prepare(dataset: DataSet) -> Runner:
        data = _images(dataset)
        return lambda noise: [
            (
                noisy_sums(data, feature_map, noise_std=event.noise_std, noise=noise, device="cpu"),
                _BOTH,
            )
        ]

    return prepare


def _sinkhorn(event: PoissonSampledGaussian) -> Callable[[DataSet], Runner]:
    """One noisy gradient on one image at the origin; its norm is at most half the record norm."""
    image, label = torch.zeros(1, 1, 1, 1), torch.tensor([0])
    cost = {"regularisation": 0.1, "steps": 5, "l1_weight": 0.0, "label_weight": 0.0}

    def prepare(dataset: DataSet) -> Runner:
        data = _images(dataset, (1, 1, 1))

        def run(noise: NoiseSource) -> list[Batch]:
            chosen = poisson_sample(len(data.images), event.sampling_probability, noise=noise)
            gradient = sinkhorn_module.noisy_gradient(
                image,
                label,
                data.images[chosen],
                data.labels[chosen],
                clip_norm=event.record_norm / 2.0,
                noise_std=event.noise_std,
                noise=noise,
                cost=cost,
            )
            return [(gradient.reshape(1, -1), np.zeros(1, dtype=np.int64))]

        return run

    return prepare


def _linear(samples_per_class: int) -> Callable[[DataSet], Runner]:
    """The synthetic records themselves."""

    def prepare(dataset: DataSet) -> Runner:
        def run(noise: NoiseSource) -> list[Batch]:
            made = linear_module.synthesize(
                dataset.features,
                dataset.labels,
                classes=_CLASSES,
                delta=1e-3,
                adjacency=Adjacency.ADD_OR_REMOVE_ONE,
                noise=noise,
                samples_per_class=samples_per_class,
                image_shape=(1, 1, 2),
            )
            return [(made.features.astype(np.float64), made.labels)]

        return run

    return prepare


_GENERATOR = torch.Generator().manual_seed(0)
_FOURIER = fourier_module.RandomFourierFeatures(
    size=6, dimension=_PIXELS, squared_length_scale=0.5, generator=_GENERATOR
)
_HERMITE = hermite_module.HermiteFeatures(
    dimension=_PIXELS,
    order=3,
    rho=0.6,
    product_order=0,
    product_rho=0.5,
    product_pixels=1,
    products=0,
    product_weight=0.0,
    generator=_GENERATOR,
)
_NDPDC = NDPDC(class_sizes=(4, 4), group_size=3.0, iterations=1, noise_std=1.0, clip_norm=1.0)
_SUMS = Gaussian(noise_std=1.0, record_norm=1.0)
_GRADIENT = PoissonSampledGaussian(
    noise_std=1.0, record_norm=1.0, record_diameter=1.0, sampling_probability=0.9
)
_LINEAR_SAMPLES = 2
_LINEAR_DIMENSION = 2
_LINEAR: Event = linear_module.mean_event(
    (4, 4), samples_per_class=_LINEAR_SAMPLES, dimension=_LINEAR_DIMENSION
)


def _one_more() -> DataPair:
    """A last record, alone in its class, that only the first data set has."""
    rows = np.random.default_rng(0).uniform(-1.0, 1.0, (3, _PIXELS))
    labels = np.array([1, 1, 0])
    return (rows, labels), (rows[:-1], labels[:-1])


def _turning() -> DataPair:
    """A second record turns DP-Sinkhorn's gradient around."""
    rows, labels = np.array([[-0.2], [1.0]]), np.zeros(2, dtype=np.int64)
    return (rows, labels), (rows[:-1], labels[:-1])


def _against_the_rest() -> DataPair:
    """A record at the other end of the box than the rest of its class."""
    rows = np.full((8, _LINEAR_DIMENSION), -1.0)
    rows[3] = 1.0
    labels = np.repeat(_BOTH, 4)
    return (rows, labels), (np.delete(rows, 3, axis=0), np.delete(labels, 3))


def _on_one_thread(prepare: Callable[[DataSet], Runner]) -> Callable[[DataSet], Runner]:
    """For arrays of a few numbers a second thread is all waiting, on a busy machine much of it."""

    def prepared(dataset: DataSet) -> Runner:
        run = prepare(dataset)

        def run_once(noise: NoiseSource) -> list[Batch]:
            before = torch.get_num_threads()
            torch.set_num_threads(1)
            try:
                return run(noise)
            finally:
                torch.set_num_threads(before)

        return run_once

    return prepared


def _target(
    event: Event,
    prepare: Callable[[DataSet], Runner],
    pair: Callable[[], DataPair] = _one_more,
    dimension: int = _PIXELS,
) -> VerifyTarget:
    return VerifyTarget(
        event=event,
        adjacency=Adjacency.ADD_OR_REMOVE_ONE,
        prepare=_on_one_thread(prepare),
        dimension=dimension,
        pair=pair,
    )


TARGETS: Mapping[str, VerifyTarget] = MappingProxyType(
    {
        "ndpdc": _target(_NDPDC, _ndpdc(_NDPDC)),
        "dp_merf": _target(_SUMS, _embedding(_SUMS, _FOURIER)),
        "dp_hp": _target(_SUMS, _embedding(_SUMS, _HERMITE)),
        "dp_sinkhorn": _target(_GRADIENT, _sinkhorn(_GRADIENT), _turning, 1),
        "linear_matching": _target(
            _LINEAR, _linear(_LINEAR_SAMPLES), _against_the_rest, _LINEAR_DIMENSION
        ),
    }
)
"""Mechanisms that must not be rejected."""

ndpdc = TARGETS["ndpdc"]
dp_merf = TARGETS["dp_merf"]
dp_hp = TARGETS["dp_hp"]
dp_sinkhorn = TARGETS["dp_sinkhorn"]
linear_matching = TARGETS["linear_matching"]

__all__ = ["TARGETS"]
