"""Broken mechanisms, each with a mistake that somebody made, and the same code without it.

The mistakes are in sums of clipped records, in their noise, and in samples. The names are those
that ``rdpkit verify`` takes: ``subset-once`` is broken, and ``subset-once-fixed`` is not. To add a
mistake, write a row in ``mistakes.toml``, and its code here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from rdpkit import DPCDA, FixedSizeSampledGaussian, Gaussian, PoissonSampledGaussian, Repeated
from rdpkit.adjacency import Adjacency
from rdpkit.events import ClassWiseDPMix
from rdpkit.verification.blackbox.adversarial_pairs import OFF_GRID
from rdpkit.verification.blackbox.neighbours import LabelledData, Neighbours
from rdpkit.verification.blackbox.zoo.base import (
    ORDER,
    Draw,
    Indicators,
    NoisySum,
    SummedLogRatio,
    ZooEntry,
    ZooMechanism,
    clipped,
    entry,
    in_pieces,
    subset_indicators,
    subset_sums,
    worst_pair_of,
)
from rdpkit.verification.estimators.base import Array

FIXED = "-fixed"
_RECORDS, _STEPS, _DIMENSION = 12, 4, 2
_BATCH = 3
_FAR = 1e6
_MIXING = ClassWiseDPMix(
    class_sizes=(12, 12),
    samples_per_class=8,
    order_of_mixture=3,
    feature_dimension=2,
    label_dimension=2,
    feature_noise=0.7,
    label_noise=0.0,
)
_MEAN = FixedSizeSampledGaussian(
    noise_std=0.5, record_norm=1.0, sample_size=4, population_size=_RECORDS, release="mean"
)
_CENTRIC = DPCDA(
    class_sizes=(10, 10),
    samples_per_class=4,
    order_of_mixture=5,
    clip_norm=1.0,
    feature_noise=0.4,
    label_noise=0.0,
)
_FIXED = PoissonSampledGaussian(
    noise_std=1.0, record_norm=1.0, sampling_probability=_BATCH / _RECORDS
)
_DEALT = PoissonSampledGaussian(noise_std=0.4, record_norm=1.0, sampling_probability=1.0 / _STEPS)
_DEALT_SUMS = Repeated(event=_DEALT, count=_STEPS)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassWiseMixing(ZooMechanism):
    """Means of subsets of a class, plus noise: class-wise DPMix, and DP-CDA without labels."""

    event: ClassWiseDPMix | DPCDA
    fresh: bool = True  # Whether every release of a class draws its own subset
    private: bool = False  # Whether features are standardised with the data's own constants

    def many(self, dataset: LabelledData, rng: np.random.Generator, count: int) -> Array:
        """Releases, shape (count, classes, releases of a class, d)."""
        event, features = self.event, self._standardised(dataset.features)
        parts = []
        for label, releases in enumerate(event.samples):
            draws = releases if self.fresh else 1
            sums = subset_sums(
                features[dataset.labels == label],
                event.order_of_mixture,
                draws=draws,
                count=count,
                rng=rng,
            )
            noise = rng.normal(0.0, event.feature_noise, (count, releases, dataset.dimension))
            parts.append(sums / event.order_of_mixture + noise)
        return np.stack(parts, axis=1)

    def _standardised(self, features: Array) -> Array:
        if isinstance(self.event, ClassWiseDPMix):
            return features
        mean, std = (features.mean(axis=0), features.std(axis=0)) if self.private else (0.0, 1.0)
        return clipped((features - mean) / std, self.event.clip_norm)


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyMean(ZooMechanism):
    """The mean of the clipped records of a subset of fixed size, with noise for the mean."""

    before_dividing: bool  # Whether the noise is added to the sum, and divided with it

    def many(self, dataset: LabelledData, rng: np.random.Generator, count: int) -> Array:
        """Releases, shape (count, d)."""
        records = clipped(dataset.features, _MEAN.record_norm)
        total = subset_sums(records, _MEAN.sample_size, draws=1, count=count, rng=rng)[:, 0]
        noise = rng.normal(0.0, _MEAN.noise_std, total.shape)
        if self.before_dividing:
            return np.asarray((total + noise) / _MEAN.sample_size)
        return np.asarray(total / _MEAN.sample_size + noise)


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledSums(ZooMechanism):
    """Noisy sums over samples of the clipped records."""

    step: PoissonSampledGaussian  # What each of four sums is claimed to be
    samples: Indicators | None = None  # Draws who joins which sum; by default Poisson samples

    def many(self, dataset: LabelledData, rng: np.random.Generator, count: int) -> Array:
        """Releases, shape (count, steps, d)."""
        records = clipped(dataset.features, self.step.record_norm)

        def sums(size: int) -> Array:
            shape = (size, _STEPS, len(records))
            if self.samples is None:
                return np.asarray((rng.random(shape) < self.step.sampling_probability) @ records)
            return np.asarray(self.samples(shape, rng) @ records)

        total = in_pieces(count, _STEPS * len(records), sums)
        return np.asarray(total + rng.normal(0.0, self.step.noise_std, total.shape))


def _fixed_batches(shape: tuple[int, int, int], rng: np.random.Generator) -> NDArray[np.bool_]:
    """Batches of a fixed size, drawn without replacement."""
    count, steps, records = shape
    return subset_indicators((count, steps), _BATCH, records, rng)


def _shuffled_batches(shape: tuple[int, int, int], rng: np.random.Generator) -> NDArray[np.bool_]:
    """The batches of an epoch: the records are shuffled and dealt out."""
    count, batches, records = shape
    places = np.argsort(rng.random((count, records)), axis=1)
    # Batches have equal sizes, except that the last one may be smaller.
    batch_of = places // -(-records // batches)
    return np.asarray(batch_of[:, None, :] == np.arange(batches)[None, :, None])


def _others_opposite() -> Neighbours:
    others = np.tile([[-1.0, 0.0]], (_RECORDS - 1, 1))
    return Neighbours(
        first=LabelledData(features=np.vstack([others, [[1.0, 0.0]]])),
        second=LabelledData(features=others),
        adjacency=Adjacency.ADD_OR_REMOVE_ONE,
        description=(
            f"{_RECORDS - 1} records at -1 of the first axis, and one at +1 in D alone: in a batch "
            "of fixed size it replaces one of the others",
        ),
    )


def _one_far_record() -> Neighbours:
    near = np.array([[1.0, 1.0]])
    sizes = _CENTRIC.class_sizes
    rest = np.vstack([np.tile(near, (sizes[0], 1)), np.tile(-near, (sizes[1] - 1, 1))])
    labels = np.repeat([0, 1], sizes)
    return Neighbours(
        first=LabelledData(features=np.vstack([rest, -near]), labels=labels),
        second=LabelledData(features=np.vstack([rest, _FAR * near]), labels=labels),
        adjacency=Adjacency.REPLACE_ONE,
        description=(
            f"{sizes[0]} records of class 0 at (1, 1), {sizes[1]} of class 1 at (-1, -1); one of "
            f"these against one at ({_FAR:g}, {_FAR:g})",
        ),
    )


def _of_one_class() -> SummedLogRatio:
    distance = math.sqrt(_MIXING.feature_dimension) / _MIXING.order_of_mixture
    releases = _MIXING.samples[0]
    half = 1.0 / math.sqrt(2.0)
    return SummedLogRatio(
        shape=(2 * releases, 2),
        touched=(0, releases),
        direction=(half, half),
        centre=0.0,
        distance=distance,
        noise_multiplier=_MIXING.feature_noise / distance,
        sampling_probability=_MIXING.order_of_mixture / _MIXING.class_sizes[0],
    )


_OF_SAMPLES = (
    entry(
        "subset-once",
        event=_MIXING,
        adjacency=Adjacency.REPLACE_ONE,
        broken=ClassWiseMixing(event=_MIXING, fresh=False),
        fixed=ClassWiseMixing(event=_MIXING),
        score=_of_one_class,
    ),
    entry(
        "noise-divided-by-l",
        event=_MEAN,
        adjacency=Adjacency.REPLACE_ONE,
        broken=NoisyMean(before_dividing=True),
        fixed=NoisyMean(before_dividing=False),
        score=lambda: SummedLogRatio(
            shape=(1, _DIMENSION),
            centre=-_MEAN.record_norm,
            distance=_MEAN.swap_distance,
            noise_multiplier=_MEAN.noise_multiplier,
            sampling_probability=_MEAN.sample_size / _MEAN.population_size,
        ),
    ),
    entry(
        "private-z-score",
        event=_CENTRIC,
        adjacency=Adjacency.REPLACE_ONE,
        broken=ClassWiseMixing(event=_CENTRIC, private=True),
        fixed=ClassWiseMixing(event=_CENTRIC),
        neighbours=_one_far_record,
    ),
    entry(
        "fixed-batches-as-poisson",
        event=Repeated(event=_FIXED, count=_STEPS),
        adjacency=Adjacency.ADD_OR_REMOVE_ONE,
        broken=SampledSums(step=_FIXED, samples=_fixed_batches),
        fixed=SampledSums(step=_FIXED),
        neighbours=_others_opposite,
        score=lambda: SummedLogRatio(
            shape=(_STEPS, _DIMENSION),
            centre=-float(_BATCH),
            distance=2.0,
            noise_multiplier=_FIXED.noise_std / 2.0,
            sampling_probability=_FIXED.sampling_probability,
        ),
    ),
    entry(
        "shuffle-as-poisson",
        event=_DEALT_SUMS,
        adjacency=Adjacency.ADD_OR_REMOVE_ONE,
        broken=SampledSums(step=_DEALT, samples=_shuffled_batches),
        fixed=SampledSums(step=_DEALT),
        records=_RECORDS,
        score=lambda: SummedLogRatio(
            shape=(_STEPS, _DIMENSION),
            centre=0.0,
            distance=_DEALT.record_norm,
            noise_multiplier=_DEALT.noise_std,
            sampling_probability=_DEALT.sampling_probability,
        ),
    ),
)


_FEW = 8
_LAYERS = 2
_REPLACED = Gaussian(noise_std=2.0, record_norm=1.0)
_ADDED = Gaussian(noise_std=1.5, record_norm=1.0)
# One record moves the mean by a vector whose norm is at most C/n.
_OF_THE_MEAN = Gaussian(noise_std=0.25, record_norm=1.0 / _FEW)
_LARGE = 1000.0


def _normal(std: float) -> Draw:
    return lambda rng, shape: rng.normal(0.0, std, shape)


def _seeded(_: np.random.Generator, shape: tuple[int, int]) -> Array:
    """The noise of runs that each make a generator with the same seed."""
    rows, columns = shape
    noise = [np.random.default_rng(0).normal(0.0, _ADDED.noise_std, columns) for _ in range(rows)]
    return np.array(noise)


def _single_precision(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    """The normal quantile of a uniform number, both in single precision: 2^24 levels."""
    # The normal quantile of 0 is not finite.
    uniform = np.maximum(rng.random(shape, dtype=np.float32), np.float32(2.0**-25))
    noise = (_ADDED.noise_std * ndtri(uniform)).astype(np.float32)
    return np.asarray(noise, dtype=np.float64)


def _double_precision(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    """The normal quantile of a uniform number, both in double precision."""
    return np.asarray(_ADDED.noise_std * ndtri(np.maximum(rng.random(shape), 2.0**-54)))


@dataclass(frozen=True, slots=True, kw_only=True)
class ClippedMean(ZooMechanism):
    """The clipped mean of all records, with noise; the number n of records is public."""

    after_averaging: bool  # Whether the mean is clipped, and not the records

    def many(self, dataset: LabelledData, rng: np.random.Generator, count: int) -> Array:
        """Releases, shape (count, d)."""
        if self.after_averaging:
            mean = clipped(dataset.features.mean(axis=0, keepdims=True), 1.0)[0]
        else:
            mean = clipped(dataset.features, 1.0).mean(axis=0)
        shape = (count, dataset.dimension)
        return np.asarray(mean + rng.normal(0.0, _OF_THE_MEAN.noise_std, shape))


@dataclass(frozen=True, slots=True, kw_only=True)
class LayeredSum(ZooMechanism):
    """A noisy sum of clipped records, released in layers of equal width."""

    reuse: bool  # Whether all layers get the same noise

    def many(self, dataset: LabelledData, rng: np.random.Generator, count: int) -> Array:
        """Releases, shape (count, layers, width)."""
        total = clipped(dataset.features, _ADDED.record_norm).sum(axis=0)
        parts = total.reshape(_LAYERS, -1)
        shape = (count, 1 if self.reuse else _LAYERS, parts.shape[1])
        return np.asarray(parts + rng.normal(0.0, _ADDED.noise_std, shape))


def _one_long_record() -> Neighbours:
    rest = np.zeros((_FEW - 1, _DIMENSION))
    far = np.array([[_LARGE, 0.0]])
    return Neighbours(
        first=LabelledData(features=np.vstack([rest, far])),
        second=LabelledData(features=np.vstack([rest, -far])),
        adjacency=Adjacency.REPLACE_ONE,
        description=(
            f"{_FEW - 1} records at the origin; one at {_LARGE:g} against one at "
            f"{-_LARGE:g} of the first axis",
        ),
    )


_CODE = (
    *_OF_SAMPLES,
    entry(
        "half-sensitivity",
        event=_REPLACED,
        adjacency=Adjacency.REPLACE_ONE,
        broken=NoisySum(noise=_normal(1.0)),
        fixed=NoisySum(noise=_normal(2.0)),
        records=_FEW,
        score=lambda: SummedLogRatio(
            shape=(1, _DIMENSION),
            centre=-1.0,
            distance=2.0,
            noise_multiplier=1.0,
            sampling_probability=1.0,
        ),
    ),
    entry(
        "clip-after-averaging",
        event=_OF_THE_MEAN,
        adjacency=Adjacency.REPLACE_ONE,
        broken=ClippedMean(after_averaging=True),
        fixed=ClippedMean(after_averaging=False),
        neighbours=_one_long_record,
    ),
    entry(
        "noise-reused",
        event=_ADDED,
        adjacency=Adjacency.ADD_OR_REMOVE_ONE,
        broken=LayeredSum(reuse=True),
        fixed=LayeredSum(reuse=False),
        dimension=2 * _LAYERS,
        records=_FEW,
    ),
    entry(
        "seeded-generator",
        event=_ADDED,
        adjacency=Adjacency.ADD_OR_REMOVE_ONE,
        broken=NoisySum(noise=_seeded),
        fixed=NoisySum(noise=_normal(_ADDED.noise_std)),
        records=_FEW,
    ),
    entry(
        "float32-noise",
        event=_ADDED,
        adjacency=Adjacency.ADD_OR_REMOVE_ONE,
        broken=NoisySum(noise=_single_precision),
        fixed=NoisySum(noise=_double_precision),
        neighbours=lambda: worst_pair_of(
            _ADDED, Adjacency.ADD_OR_REMOVE_ONE, dimension=_DIMENSION, records=_FEW
        ).scaled(OFF_GRID),
    ),
)

ENTRIES: Mapping[str, ZooEntry] = MappingProxyType(
    {one.name: one for one in sorted(_CODE, key=lambda one: ORDER.index(one.name))}
)
"""All entries by their names."""
NAMES = tuple(name + suffix for name in ENTRIES for suffix in ("", FIXED))
"""Names of all mechanisms; each broken one comes before the fixed one."""
