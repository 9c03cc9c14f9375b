"""Entries of the zoo: a mistake, the claim that it breaks, and the code with and without it."""

from __future__ import annotations

import tomllib
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdpkit import Event, worst_pair
from rdpkit.adjacency import Adjacency
from rdpkit.verification.blackbox.candidate_pairs import LEAST_DELTA, of_pair
from rdpkit.verification.blackbox.mistakes import MistakeKind
from rdpkit.verification.blackbox.neighbours import LabelledData, Neighbours
from rdpkit.verification.estimators.base import Array, OutputScore

# The largest number of values of an intermediate array.
_ROOM = 4_000_000
Draw = Callable[[np.random.Generator, tuple[int, int]], Array]
"""Draws noise of a shape (count, d) from a random generator."""
Indicators = Callable[[tuple[int, int, int], np.random.Generator], NDArray[np.bool_]]
"""Draws which records join which sum: booleans of a shape (count, sums, records)."""


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
    """A mistake, in code that makes it and in code that does not."""

    name: str  # Of the broken mechanism; the one without the mistake is called ``NAME-fixed``
    mistake: str  # What is wrong, in words
    correction: str  # What the fixed mechanism does instead
    seen_in: str  # The code or the papers in which the mistake was found
    event: Event  # What both mechanisms claim to release. Only the fixed one keeps the claim
    adjacency: Adjacency  # The neighbouring relation of the claim
    broken: ZooMechanism  # The code with the mistake
    fixed: ZooMechanism  # The code without
    neighbours: Callable[[], Neighbours]  # Makes the pair of data sets that shows the mistake
    statistic: str  # The score in words
    score: Callable[[], OutputScore] | None = None  # Makes it; None if learnt scores do
    mistakes: tuple[MistakeKind, ...] = ()  # How checks of the outputs name the mistake


_WORDS = tomllib.loads(resources.files(__package__).joinpath("mistakes.toml").read_text("utf-8"))
ORDER = tuple(_WORDS)
"""The names of the entries, as they are listed."""


def entry(
    name: str,
    *,
    event: Event,
    adjacency: Adjacency,
    # Of the data sets of the event's worst-case pair, which are its own where none are given.
    dimension: int = 2,
    records: int = 0,
    **code: Any,
) -> ZooEntry:
    """An entry: its row in the table of words, and its code."""
    words = dict(_WORDS[name])
    kinds = tuple(map(MistakeKind, words.pop("mistakes", ())))
    worst = partial(worst_pair_of, event, adjacency, dimension=dimension, records=records)
    more = {"neighbours": worst, **words, **code}
    return ZooEntry(name=name, mistakes=kinds, event=event, adjacency=adjacency, **more)


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisySum(ZooMechanism):
    """The sum of the records, clipped to an L2 norm of 1, plus noise."""

    noise: Draw

    def many(self, dataset: LabelledData, rng: np.random.Generator, count: int) -> Array:
        """Releases, shape (count, d)."""
        total = clipped(dataset.features, 1.0).sum(axis=0)
        return np.asarray(total + self.noise(rng, (count, dataset.dimension)))


@dataclass(frozen=True, slots=True, kw_only=True)
class SummedLogRatio:
    """The log-likelihood ratio of all releases under the claim.

    Each release is projected on the direction of the changed record and measured from where it
    would be without that record, in units of ``distance``. It then has the distribution
    (1-q) N(0, z^2) + q N(1, z^2) on one data set and N(0, z^2) on the other. Releases are
    independent, so their log-likelihood ratios are added.
    """

    shape: tuple[int, int]  # (releases, d) of the flattened output
    centre: float  # The projection of a release without the changed record
    distance: float  # How far the changed record moves the projection
    noise_multiplier: float  # z
    sampling_probability: float  # q
    direction: tuple[float, ...] = (1.0, 0.0)  # Unit vector of d coordinates
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


@lru_cache(maxsize=64)
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
