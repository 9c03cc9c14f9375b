"""Entries of the zoo: a mistake, the claim that it breaks, and the code with and without it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rdpkit import Event, PoissonSampledGaussian, worst_pair
from rdpkit.adjacency import Adjacency
from rdpkit.verification.blackbox.candidate_pairs import LEAST_DELTA, of_pair
from rdpkit.verification.blackbox.mistakes import MistakeKind
from rdpkit.verification.blackbox.neighbours import LabelledData, Neighbours
from rdpkit.verification.estimators.base import Array, OutputScore

# The largest number of values of an intermediate array.
_ROOM = 4_000_000


class ZooMechanism(ABC):
    """A mechanism that can be run many times at once."""

    __slots__ = ()

    def __call__(self, dataset: LabelledData, rng: np.random.Generator) -> Array:
        """One release."""
        return np.asarray(self.many(dataset, rng, 1)[0])

    @abstractmethod
    def many(self, dataset: LabelledData, rng: np.random.Generator, count: int) -> Array:
        """Independent releases, shape (count, ...)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ZooEntry:
    """A mistake, in code that makes it and in code that does not.

    Parameters
    ----------
    name : str
        The name of the broken mechanism; the one without the mistake is called ``NAME-fixed``.
    mistake : str
        The mistake in words.
    correction : str
        What the fixed mechanism does instead.
    seen_in : str
        The code or the papers in which the mistake was found.
    event : Event
        What both mechanisms claim to release. Only the fixed one keeps the claim.
    adjacency : Adjacency
        The neighbouring relation of the claim.
    broken, fixed : ZooMechanism
        The code with and without the mistake.
    neighbours : callable
        Makes the pair of data sets that shows the mistake.
    statistic : str
        The score in words.
    score : callable or None
        Makes the score; None if scores that are learnt show the mistake.
    mistakes : tuple of MistakeKind
        How checks of the outputs name the mistake, apart from the test.
    """

    name: str
    mistake: str
    correction: str
    seen_in: str
    event: Event
    adjacency: Adjacency
    broken: ZooMechanism
    fixed: ZooMechanism
    neighbours: Callable[[], Neighbours]
    statistic: str
    score: Callable[[], OutputScore] | None = None
    mistakes: tuple[MistakeKind, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisySum(ZooMechanism):
    """The sum of the clipped records plus noise."""

    clip_norm: float
    """The largest L2 norm of a clipped record."""
    noise: Callable[[np.random.Generator, tuple[int, int]], Array]
    """Draws noise of a shape (count, d) from a random generator."""

    def many(self, dataset: LabelledData, rng: np.random.Generator, count: int) -> Array:
        """Releases, shape (count, d)."""
        total = clipped(dataset.features, self.clip_norm).sum(axis=0)
        return np.asarray(total + self.noise(rng, (count, dataset.dimension)))


def normal_noise(std: float) -> Callable[[np.random.Generator, tuple[int, int]], Array]:
    """Draws independent normal noise with this standard deviation, for :class:`NoisySum`."""
    return lambda rng, shape: rng.normal(0.0, std, shape)


def poisson_samples(
    shape: tuple[int, int, int], probability: float, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Whether each record joins each sum, independently with this probability."""
    return rng.random(shape) < probability


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledSums(ZooMechanism):
    """Noisy sums over samples of the clipped records."""

    step: PoissonSampledGaussian
    """What each sum is claimed to be."""
    steps: int
    """The number of sums."""
    samples: Callable[[tuple[int, int, int], float, np.random.Generator], NDArray[np.bool_]]
    """Draws which records join which sum: booleans of a shape (count, steps, records), given that
    shape, the sampling probability and a random generator.
    """

    def many(self, dataset: LabelledData, rng: np.random.Generator, count: int) -> Array:
        """Releases, shape (count, steps, d)."""
        records = clipped(dataset.features, self.step.record_norm)

        def sums(size: int) -> Array:
            shape = (size, self.steps, len(records))
            joined = self.samples(shape, self.step.sampling_probability, rng)
            return np.asarray(joined @ records)

        total = in_pieces(count, self.steps * len(records), sums)
        return np.asarray(total + rng.normal(0.0, self.step.noise_std, total.shape))


@dataclass(frozen=True, slots=True, kw_only=True)
class SummedLogRatio:
    """The log-likelihood ratio of all releases under the claim.

    Each release is projected on the direction of the changed record and measured from where it
    would be without that record, in units of ``distance``. It then has the distribution
    (1-q) N(0, z^2) + q N(1, z^2) on one data set and N(0, z^2) on the other. Releases are
    independent, so their log-likelihood ratios are added.
    """

    shape: tuple[int, int]
    """(releases, d) of the flattened output."""
    direction: tuple[float, ...]
    """Unit vector of d coordinates."""
    centre: float
    """The projection of a release without the changed record."""
    distance: float
    """How far the changed record moves the projection."""
    noise_multiplier: float
    """z."""
    sampling_probability: float
    """q."""
    touched: tuple[int, int] | None = None
    """(start, stop): the releases that the changed record can affect; by default all."""

    def __call__(self, outputs: Array, /) -> Array:
        """The summed log-likelihood ratio of each row."""
        start, stop = self.touched or (0, self.shape[0])
        releases = outputs.reshape(len(outputs), *self.shape)[:, start:stop, :]
        seen = (releases @ np.array(self.direction) - self.centre) / self.distance
        exponent = (seen - 0.5) / self.noise_multiplier**2
        q = self.sampling_probability
        if q == 1.0:
            return np.asarray(exponent.sum(axis=1))
        ratios = np.logaddexp(np.log1p(-q), np.log(q) + exponent)
        return np.asarray(ratios.sum(axis=1))


def worst_pair_of(
    event: Event, adjacency: Adjacency, *, dimension: int, records: int = 0
) -> Neighbours:
    """The data sets of the event's worst-case pair, filled up to this number of records."""
    pair = worst_pair(event, adjacency=adjacency, delta=LEAST_DELTA)
    return of_pair(pair, dimension=dimension, records=records)


def clipped(features: Array, norm: float) -> Array:
    """The rows, each scaled down to an L2 norm of at most ``norm``."""
    lengths = np.linalg.norm(features, axis=1, keepdims=True)
    return np.asarray(features / np.maximum(1.0, lengths / norm))


def subset_indicators(
    shape: tuple[int, ...], size: int, population: int, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Uniform subsets of ``size`` of ``population`` records, as booleans of shape (*shape, n)."""
    if size > population:
        raise ValueError(
            f"Expected a data set of at least {size} records to draw from, got {population}."
        )
    keys = rng.random((*shape, population))
    chosen = np.argpartition(keys, size - 1, axis=-1)[..., :size]
    found = np.zeros(keys.shape, dtype=np.bool_)
    np.put_along_axis(found, chosen, True, axis=-1)
    return found


def subset_sums(
    records: Array, size: int, *, draws: int, count: int, rng: np.random.Generator
) -> Array:
    """Sums over uniform subsets of ``size`` records, shape (count, draws, d)."""

    def sums(part: int) -> Array:
        return np.asarray(subset_indicators((part, draws), size, len(records), rng) @ records)

    return in_pieces(count, draws * len(records), sums)


def in_pieces(count: int, entries_each: int, one_piece: Callable[[int], Array]) -> Array:
    """Call ``one_piece`` on parts of ``count``, so that no intermediate array is too large."""
    step = max(1, _ROOM // max(1, entries_each))
    parts = [one_piece(min(step, count - start)) for start in range(0, count, step)]
    return np.concatenate(parts)


__all__ = [
    "Array",
    "NoisySum",
    "SampledSums",
    "SummedLogRatio",
    "ZooEntry",
    "ZooMechanism",
    "clipped",
    "in_pieces",
    "normal_noise",
    "poisson_samples",
    "subset_indicators",
    "subset_sums",
    "worst_pair_of",
]
